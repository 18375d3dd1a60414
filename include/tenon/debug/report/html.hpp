// Pieces of HTML: escaped texts, tables, and the page around them, without scripts, and with nothing from outside.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/float/real_text.hpp>

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

/// A path or a qualified name. A browser may break it after its slashes, and nowhere else.
[[gnu::cold]] inline std::string path_code(std::string_view path) {
  std::string all = "<code>";
  for (std::size_t slash; (slash = path.find('/')) != path.npos; path.remove_prefix(slash + 1))
    all += html_escaped(path.substr(0, slash + 1)) + "<wbr>";
  return all + html_escaped(path) + "</code>";
}

/// A number for people: four digits, and a unit of thousands where it is large.
[[gnu::cold]] inline std::string short_number(double x) {
  static constexpr const char* units[]{"", " k", " M", " G", " T"};
  int unit = 0;
  for (; (x >= 99999.5 || x <= -99999.5) && unit < 4; ++unit) x /= 1000;
  return tenon::detail::in_digits(x, 4) + units[unit];
}
/// 1.23 s, 45.6 ms, 7.89 us.
[[gnu::cold]] inline std::string short_time(double seconds) {
  const auto two_digits = [](int x) { return (x < 10 ? "0" : "") + std::to_string(x); };
  if (seconds >= 3600) return text(int(seconds / 3600), " h ", two_digits(int(seconds / 60) % 60), " min");
  if (seconds >= 60) return text(int(seconds / 60), " min ", two_digits(int(seconds) % 60), " s");
  if (seconds >= 1) return tenon::detail::in_digits(seconds, 3) + " s";
  if (seconds >= 1e-3) return tenon::detail::in_digits(seconds * 1e3, 3) + " ms";
  return tenon::detail::in_digits(seconds * 1e6, 3) + " us";
}

/// A table. Cells are HTML. A column whose cells, except the title, are all numbers is aligned to the right by its
/// class.
struct HtmlTable {
  std::vector<std::string> titles{};
  std::vector<std::vector<std::string>> rows{};
  std::vector<bool> right{};  // columns of numbers
  std::string_view style{};   // a class of the page

  [[gnu::cold]] std::string html() const {
    const auto cell = [&](const char* tag, std::size_t column, const std::string& content) {
      const bool is_right = column < right.size() && right[column];
      return "<" + std::string(tag) + (is_right ? " class=n>" : ">") + content + "</" + tag + ">";
    };
    std::string all = style.empty() ? "<table>" : text("<table class=", style, ">");
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
  const double percent = share < 0 ? 0 : share > 1 ? 100 : 100 * share;
  return text("<span class=share><span class=bar><i style=\"width:", tenon::detail::in_fixed_digits(percent, 1),
              "%\"></i></span> ", tenon::detail::in_fixed_digits(100 * share, 1), " %</span>");
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
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr));gap:14px}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--line);padding:5px 10px 5px 0}
td{border-bottom:1px solid #eef1f5;padding:5px 10px 5px 0;vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.facts code{overflow-wrap:anywhere}.line{white-space:nowrap}
.bar{display:inline-block;width:90px;height:9px;background:#e8edf3;border-radius:5px;vertical-align:middle}
.share{white-space:nowrap}
.bar i{display:block;height:9px;background:var(--one);border-radius:5px}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#5d6b7a}
img{image-rendering:pixelated;max-width:100%;border:1px solid var(--line);border-radius:6px}
.legend{list-style:none;margin:8px 0 0;padding:0;font-size:13px;color:var(--soft)}
.legend li{display:flex;gap:8px}.legend i{flex:none;width:12px;height:12px;margin-top:4px;border-radius:3px;opacity:.75}
)";
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n<title>" +
         html_escaped(title) + "</title>\n<style>" + std::string(style) + "</style></head>\n<body><main>\n" +
         std::string(body) + "</main></body></html>\n";
}

}  // namespace tenon::debug
