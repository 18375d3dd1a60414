// Pieces of HTML: escaped texts, tables, and the page around them, without scripts, and with nothing from outside.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A text that no browser takes for more than a text. Bytes that no page may have become question marks.
[[gnu::cold]] inline std::string html_escaped(std::string_view s) {
  std::string escaped;
  for (const char c : s) switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += (c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : c;
    }
  return escaped;
}

/// A text of numbers that printf wrote, with points also in a program whose language has commas (setlocale).
[[gnu::cold]] inline std::string with_points(std::string text) {
  for (char& c : text)
    if (c == ',') c = '.';
  return text;
}

/// A number for people: four digits, and a unit of thousands where it is large.
[[gnu::cold]] inline std::string short_number(double x) {
  static constexpr const char* units[]{"", " k", " M", " G", " T"};
  int unit = 0;
  for (; (x >= 99999.5 || x <= -99999.5) && unit < 4; ++unit) x /= 1000;
  char digits[48];
  std::snprintf(digits, sizeof digits, "%.4g%s", x, units[unit]);
  return with_points(digits);
}
/// 1.23 s, 45.6 ms, 7.89 us.
[[gnu::cold]] inline std::string short_time(double seconds) {
  char digits[48];
  if (seconds >= 3600)
    std::snprintf(digits, sizeof digits, "%d h %02d min", int(seconds / 3600), int(seconds / 60) % 60);
  else if (seconds >= 60) std::snprintf(digits, sizeof digits, "%d min %02d s", int(seconds / 60), int(seconds) % 60);
  else if (seconds >= 1) std::snprintf(digits, sizeof digits, "%.3g s", seconds);
  else if (seconds >= 1e-3) std::snprintf(digits, sizeof digits, "%.3g ms", seconds * 1e3);
  else std::snprintf(digits, sizeof digits, "%.3g us", seconds * 1e6);
  return with_points(digits);
}

/// A table. Cells are HTML; a column of which all cells but the title are numbers stands to the right by its class.
struct HtmlTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right{};  // columns of numbers

  [[gnu::cold]] std::string html() const {
    const auto cell = [&](const char* tag, std::size_t column, const std::string& content) {
      const bool is_right = column < right.size() && right[column];
      return "<" + std::string(tag) + (is_right ? " class=n>" : ">") + content + "</" + tag + ">";
    };
    std::string all = "<table>";
    if (!titles.empty()) {
      all += "<thead><tr>";
      for (std::size_t c = 0; c < titles.size(); ++c) all += cell("th", c, titles[c]);
      all += "</tr></thead>";
    }
    all += "<tbody>";
    for (const auto& row : rows) {
      all += "<tr>";
      for (std::size_t c = 0; c < row.size(); ++c) all += cell("td", c, row[c]);
      all += "</tr>\n";
    }
    return all + "</tbody></table>\n";
  }
};

/// A bar of a share from 0 to 1, for cells.
[[gnu::cold]] inline std::string share_bar(double share) {
  char html[128];
  const double percent = share < 0 ? 0 : share > 1 ? 100 : 100 * share;
  std::snprintf(html, sizeof html,
                "<span class=share><span class=bar><i style=\"width:%.1f%%\"></i></span> %.1f %%</span>", percent,
                100 * share);
  return with_points(html);
}

/// Bytes as text of the alphabet that addresses in pages take (RFC 4648).
[[gnu::cold]] inline std::string base64(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < here ? std::uint8_t(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) result += k <= here ? alphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return result;
}

/// A whole page.
[[gnu::cold]] inline std::string html_page(std::string_view title, std::string_view body) {
  static constexpr std::string_view style = R"(
:root{color-scheme:light;--ink:#1c2733;--soft:#5d6b7a;--line:#dde3ea;--fill:#f5f7fa;--one:#2563eb}
*{box-sizing:border-box}
body{margin:0;background:var(--fill);color:var(--ink);font:15px/1.5 system-ui,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;margin:0 0 2px}h2{font-size:18px;margin:0 0 12px}h3{font-size:14px;margin:18px 0 6px}
p.sub{margin:0 0 20px;color:var(--soft)}
section{background:#fff;border:1px solid var(--line);border-radius:10px;padding:18px 20px;margin:16px 0;overflow-x:auto}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px}
.card{background:#fff;border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.card b{display:block;font-size:21px;font-weight:600}.card span{color:var(--soft);font-size:13px}
.ok{color:#15803d}.bad{color:#b91c1c}.run{color:#b45309}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(430px,1fr));gap:14px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--line);padding:5px 10px 5px 0}
td{border-bottom:1px solid #eef1f5;padding:5px 10px 5px 0;vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.bar{display:inline-block;width:90px;height:9px;background:#e8edf3;border-radius:5px;vertical-align:middle}
.share{white-space:nowrap}
.bar i{display:block;height:9px;background:var(--one);border-radius:5px}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#5d6b7a}
img{image-rendering:pixelated;max-width:100%;border:1px solid var(--line);border-radius:6px}
details summary{cursor:pointer;color:var(--soft)}
)";
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n<title>" +
         html_escaped(title) + "</title>\n<style>" + std::string(style) + "</style></head>\n<body><main>\n" +
         std::string(body) + "</main></body></html>\n";
}

}  // namespace tenon::debug
