// line_chart: curves as an SVG picture.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/debug/report/html.hpp>
#include <tenon/debug/report/series.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

inline constexpr const char* chart_colours[]{"#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"};
inline constexpr const char* other_colour = "#94a3b8";

/// A range of numbers with round steps: 1, 2, or 5 times a power of ten.
struct Axis {
  double low = 0, high = 1, step = 0.2;

  Axis(double least, double largest, int steps) {
    if (!(largest >= least)) return;
    double range = largest - least;
    if (!(range > 0)) range = std::fabs(largest) > 0 ? std::fabs(largest) : 1;
    const double rough = range / steps, power = std::pow(10, std::floor(std::log10(rough)));
    const double round = power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
    if (!std::isfinite(round) || !(round > 0)) return;
    step = round;
    low = std::floor(least / step) * step;
    high = std::ceil(largest / step) * step;
    if (!(high > low)) high = low + step;
  }
};

/// Whether a number has a place in a chart. Differences of larger numbers may overflow.
inline bool is_drawn(double y) { return std::fabs(y) < 1e300; }

/// Where a chart's curves are, in the units of its picture.
struct ChartFrame {
  static constexpr double width = 520, height = 230, left = 56, right = 508, top = 30, bottom = 196;
  Axis x, y;
  double at_x(double value) const { return left + (value - x.low) / (x.high - x.low) * (right - left); }
  double at_y(double value) const { return bottom - (value - y.low) / (y.high - y.low) * (bottom - top); }
};

/// A place or a length in a picture.
[[gnu::cold]] inline std::string svg_number(double x) { return tenon::detail::in_fixed_digits(x, 1); }

/// A text of a picture; `anchor` is "start", "middle", or "end".
[[gnu::cold]] inline std::string svg_text(double x, double y, const char* anchor, std::string_view content,
                                          std::string_view style = {}) {
  const std::string look = style.empty() ? "" : text(" style=\"", style, "\"");
  return text("<text x=\"", svg_number(x), "\" y=\"", svg_number(y), "\" text-anchor=\"", anchor, "\"", look, ">",
              html_escaped(content), "</text>");
}

[[gnu::cold]] inline std::string chart_grid(const ChartFrame& f) {
  std::string svg;
  for (int i = 0; f.y.low + i * f.y.step <= f.y.high + f.y.step / 2; ++i) {
    const double value = f.y.low + i * f.y.step, y = f.at_y(value);
    svg += text("<line x1=\"", svg_number(f.left), "\" x2=\"", svg_number(f.right), "\" y1=\"", svg_number(y),
                "\" y2=\"", svg_number(y), "\" stroke=\"#e5eaf0\"/>");
    svg += svg_text(f.left - 6, y + 4, "end", short_number(std::fabs(value) < f.y.step / 1e6 ? 0 : value));
  }
  for (int i = 0; f.x.low + i * f.x.step <= f.x.high + f.x.step / 2; ++i) {
    const double value = f.x.low + i * f.x.step;
    svg += svg_text(f.at_x(value), f.bottom + 16, "middle", short_number(value));
  }
  return svg;
}
/// A curve, broken where a number has no place.
[[gnu::cold]] inline std::string chart_curve(const ChartFrame& f, const Series& series, const char* colour) {
  std::string path;
  bool open = false;
  for (const Series::Point& p : series.points()) {
    const bool drawn = is_drawn(p.y);
    if (drawn) path += text(open ? "L" : "M", svg_number(f.at_x(p.x)), " ", svg_number(f.at_y(p.y)));
    open = drawn;
  }
  std::string svg = text("<path fill=\"none\" stroke=\"", colour,
                         "\" stroke-width=\"1.7\" stroke-linejoin=\"round\" d=\"", path, "\"/>");
  if (series.points().size() <= 40)
    for (const Series::Point& p : series.points())
      if (is_drawn(p.y))
        svg += text("<circle cx=\"", svg_number(f.at_x(p.x)), "\" cy=\"", svg_number(f.at_y(p.y)),
                    "\" r=\"2.6\" fill=\"", colour, "\"><title>", tenon::detail::in_digits(p.x, 6), ": ",
                    tenon::detail::in_digits(p.y, 6), "</title></circle>");
  return svg;
}

}  // namespace detail

/// Curves over steps or epochs in one frame, with a legend if there are several. `x_name` is the text below the axis.
[[gnu::cold]] inline std::string line_chart(std::string_view title, std::string_view x_name,
                                            std::span<const Series* const> series) {
  double least_x = std::numeric_limits<double>::infinity(), largest_x = -least_x, least = least_x, largest = -least_x;
  for (const Series* s : series) {
    for (const Series::Point& p : s->points()) {
      least_x = std::min(least_x, p.x), largest_x = std::max(largest_x, p.x);
      if (detail::is_drawn(p.y)) least = std::min(least, p.y), largest = std::max(largest, p.y);
    }
  }
  const detail::ChartFrame frame{detail::Axis(least_x, largest_x, 6), detail::Axis(least, largest, 5)};
  std::string svg = text("<svg viewBox=\"0 0 ", detail::svg_number(frame.width), " ", detail::svg_number(frame.height),
                         "\" role=\"img\"><title>", html_escaped(title), "</title>");
  svg += detail::svg_text(4, 16, "start", title, "font-weight:600;fill:#1c2733");
  svg += detail::chart_grid(frame);
  svg += detail::svg_text(frame.right, frame.bottom + 31, "end", x_name);
  double legend = frame.right;
  for (std::size_t i = series.size(); i-- > 0;) {
    const char* const colour = detail::chart_colours[i % std::size(detail::chart_colours)];
    svg += detail::chart_curve(frame, *series[i], colour);
    if (series.size() < 2) continue;
    svg += detail::svg_text(legend, 16, "end", series[i]->name(), text("fill:", colour));
    legend -= 7.0 * double(series[i]->name().size()) + 12;
  }
  return svg + "</svg>\n";
}

}  // namespace tenon::debug
