// memory_picture: the scratch memory of a step as an SVG picture: which value is where, and from when till when.
#pragma once
#include <algorithm>
#include <string>

#include <tenon/debug/profiler/memory_map.hpp>
#include <tenon/debug/report/line_chart.hpp>

namespace tenon::inline TENON_ABI::debug {

/// Time goes to the right, an operation a column; addresses go up. Of more than `most` values the largest are shown.
[[gnu::cold]] inline std::string memory_picture(const MemoryMap& map, std::size_t most = 400) {
  constexpr double width = 1000, height = 260, left = 8, right = 992, top = 22, bottom = 240;
  std::vector<BufferLife> shown = map.buffers;
  std::ranges::sort(shown, [](const BufferLife& a, const BufferLife& b) { return a.bytes > b.bytes; });
  const std::size_t all = shown.size();
  if (shown.size() > most) shown.resize(most);
  long end = 1;
  for (const BufferLife& life : map.buffers) end = std::max(end, life.offset + life.bytes);
  const double column = (right - left) / double(std::max<std::size_t>(map.moments.size(), 1));
  std::string svg =
      detail::formatted("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>memory of a step</title>", width, height);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const BufferLife& life = shown[i];
    const double y = bottom - double(life.offset + life.bytes) / double(end) * (bottom - top);
    const double tall = double(life.bytes) / double(end) * (bottom - top);
    const char* const colour = detail::chart_colours[i % std::size(detail::chart_colours)];
    svg +=
        detail::formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" fill-opacity=\".55\" "
                          "stroke=\"#fff\" stroke-width=\".5\"><title>",
                          left + column * life.first, y, std::max(column * (life.last - life.first + 1), 1.0),
                          std::max(tall, 0.6), colour);
    svg += html_escaped(life.name) + ", " + tenon::detail::memory_text(double(life.bytes)) + "</title></rect>";
  }
  svg += detail::formatted("<text x=\"%.0f\" y=\"14\">", left) + tenon::detail::memory_text(double(end)) +
         detail::formatted("</text><text x=\"%.0f\" y=\"%.0f\">first operation</text>", left, bottom + 14) +
         detail::formatted("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">last operation</text>", right, bottom + 14);
  if (all > shown.size())
    svg += detail::formatted("<text x=\"%.0f\" y=\"14\" text-anchor=\"end\">the %zu largest of %zu values</text>",
                             right, shown.size(), all);
  return svg + "</svg>\n";
}

}  // namespace tenon::debug
