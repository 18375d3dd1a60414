// line_chart: curves as an SVG picture.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/debug/report/html.hpp>
#include <tenon/debug/report/series.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

inline constexpr const char* chart_colours[]{"#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"};

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

/// Whether a number has a place in a chart. Differences of larger ones may be beyond all numbers.
inline bool is_drawn(double y) { return std::fabs(y) < 1e300; }

/// Where a chart's curves are, in the units of its picture.
struct ChartFrame {
  static constexpr double width = 520, height = 230, left = 56, right = 508, top = 30, bottom = 196;
  Axis x, y;
  double at_x(double value) const { return left + (value - x.low) / (x.high - x.low) * (right - left); }
  double at_y(double value) const { return bottom - (value - y.low) / (y.high - y.low) * (bottom - top); }
};

template <class... Numbers>
[[gnu::cold]] std::string formatted(const char* format, Numbers... numbers) {
  char text[320];
  std::snprintf(text, sizeof text, format, numbers...);
  return with_points(text);
}

[[gnu::cold]] inline std::string chart_grid(const ChartFrame& f) {
  std::string svg;
  for (int i = 0; f.y.low + i * f.y.step <= f.y.high + f.y.step / 2; ++i) {
    const double value = f.y.low + i * f.y.step, at = f.at_y(value);
    svg += formatted("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e5eaf0\"/>", f.left, f.right, at,
                     at);
    svg += formatted("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", f.left - 6, at + 4) +
           short_number(std::fabs(value) < f.y.step / 1e6 ? 0 : value) + "</text>";
  }
  for (int i = 0; f.x.low + i * f.x.step <= f.x.high + f.x.step / 2; ++i) {
    const double value = f.x.low + i * f.x.step;
    svg += formatted("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">", f.at_x(value), f.bottom + 16) +
           short_number(value) + "</text>";
  }
  return svg;
}
/// A curve, broken where a number has no place.
[[gnu::cold]] inline std::string chart_curve(const ChartFrame& f, const Series& series, const char* colour) {
  std::string path;
  bool open = false;
  for (const Series::Point& p : series.points()) {
    const bool drawn = is_drawn(p.y);
    if (drawn) path += formatted("%c%.1f %.1f", open ? 'L' : 'M', f.at_x(p.x), f.at_y(p.y));
    open = drawn;
  }
  std::string svg =
      formatted("<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.7\" stroke-linejoin=\"round\" d=\"", colour) +
      path + "\"/>";
  if (series.points().size() <= 40)
    for (const Series::Point& p : series.points())
      if (is_drawn(p.y))
        svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"><title>%.6g: %.6g</title></circle>",
                         f.at_x(p.x), f.at_y(p.y), colour, p.x, p.y);
  return svg;
}

}  // namespace detail

/// Curves over steps or epochs in one frame, with a legend if there are several. `x_name` stands below the axis.
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
  std::string svg =
      detail::formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>", frame.width, frame.height) +
      html_escaped(title) + "</title>";
  svg += detail::formatted("<text x=\"%.0f\" y=\"16\" style=\"font-weight:600;fill:#1c2733\">", 4.0) +
         html_escaped(title) + "</text>";
  svg += detail::chart_grid(frame);
  svg += detail::formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">", frame.right, frame.bottom + 31) +
         html_escaped(x_name) + "</text>";
  double legend = frame.right;
  for (std::size_t i = series.size(); i-- > 0;) {
    const char* const colour = detail::chart_colours[i % std::size(detail::chart_colours)];
    svg += detail::chart_curve(frame, *series[i], colour);
    if (series.size() < 2) continue;
    svg += detail::formatted("<text x=\"%.0f\" y=\"16\" text-anchor=\"end\" style=\"fill:%s\">", legend, colour) +
           html_escaped(series[i]->name()) + "</text>";
    legend -= 7.0 * double(series[i]->name().size()) + 12;
  }
  return svg + "</svg>\n";
}

}  // namespace tenon::debug
