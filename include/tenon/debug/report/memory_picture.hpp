// memory_picture: the scratch memory of a step as an SVG picture: the place and the lifetime of each value.
#pragma once
#include <algorithm>
#include <string>

#include <tenon/debug/profiler/memory_map.hpp>
#include <tenon/debug/report/line_chart.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

/// The meaning of a colour of the picture, below it.
[[gnu::cold]] inline std::string memory_legend(const std::vector<BufferLife>& largest, std::size_t coloured) {
  std::string all = "<ul class=legend>";
  const auto item = [&](std::string_view colour, const std::string& content) {
    all += text("<li><i style=\"background:", colour, "\"></i><span>", content, "</span></li>\n");
  };
  for (std::size_t i = 0; i < coloured; ++i)
    item(chart_colours[i], path_code(largest[i].name) + ", " + tenon::detail::memory_text(double(largest[i].bytes)));
  if (largest.size() > coloured) item(other_colour, text(largest.size() - coloured, " smaller values"));
  return all + "</ul>\n";
}

}  // namespace detail

/// Time goes to the right, an operation a column; addresses go up. The largest values have a colour each and a line in
/// the legend below. Of more than `most` values the largest are drawn.
[[gnu::cold]] inline std::string memory_picture(const MemoryMap& map, std::size_t most = 400) {
  using namespace detail;
  constexpr double width = 1000, height = 260, left = 8, right = 992, top = 22, bottom = 240;
  std::vector<BufferLife> largest = map.buffers;
  std::ranges::stable_sort(largest, [](const BufferLife& a, const BufferLife& b) { return a.bytes > b.bytes; });
  const std::size_t drawn = std::min(largest.size(), most), coloured = std::min(drawn, std::size(chart_colours));
  long end = 1;
  for (const BufferLife& life : largest) end = std::max(end, life.offset + life.bytes);
  const double column = (right - left) / double(std::max<std::size_t>(map.moments.size(), 1));
  std::string svg = text("<svg viewBox=\"0 0 ", svg_number(width), " ", svg_number(height),
                         "\" role=\"img\"><title>memory of a step: time to the right, addresses up</title>");
  for (std::size_t i = 0; i < drawn; ++i) {
    const BufferLife& life = largest[i];
    const double y = bottom - double(life.offset + life.bytes) / double(end) * (bottom - top);
    const double tall = double(life.bytes) / double(end) * (bottom - top);
    svg += text("<rect x=\"", svg_number(left + column * life.first), "\" y=\"", svg_number(y), "\" width=\"",
                svg_number(std::max(column * (life.last - life.first + 1), 1.0)), "\" height=\"",
                svg_number(std::max(tall, 0.6)), "\" fill=\"", i < coloured ? chart_colours[i] : other_colour,
                "\" fill-opacity=\".6\" stroke=\"#fff\" stroke-width=\".5\"><title>", html_escaped(life.name), ", ",
                tenon::detail::memory_text(double(life.bytes)), "</title></rect>");
  }
  svg += svg_text(left, 14, "start", "address, up to " + tenon::detail::memory_text(double(end)));
  svg += svg_text(left, bottom + 14, "start", "first operation");
  svg += svg_text(right, bottom + 14, "end", "last operation");
  if (largest.size() > drawn)
    svg += svg_text(right, 14, "end", text("the ", drawn, " largest of ", largest.size(), " values"));
  return svg + "</svg>\n" + memory_legend(largest, coloured);
}

}  // namespace tenon::debug
