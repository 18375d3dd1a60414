// time_section and memory_section: what a profile says, as parts of a report. Needs -DTENON_OBSERVE.
#pragma once
#include <string>

#include <tenon/debug/profiler.hpp>
#include <tenon/debug/report/html.hpp>
#include <tenon/debug/report/memory_picture.hpp>

namespace tenon::inline TENON_ABI::debug::detail {

inline PeakShare share_of_peak(const Profile& profile, const PeakRates& peak, const OperatorProfile& o) {
  if (!(o.seconds > 0) || !(peak.flops > 0)) return {};
  const bool is_double = o.operation.result.dtype == Dtype::float64;
  const int threads = profile.groups[std::size_t(o.group)].threads;
  return peak_share(peak, threads, is_double, o.flops / o.seconds, o.bytes / o.seconds, bytes_of_thread(o, threads));
}
/// The slowest operations. The last column says of what a share is: of the multiply-adds, or of a level of the memory.
[[gnu::cold]] inline std::string time_section(const Profile& profile, const PeakRates& peak, std::size_t most = 25) {
  if (profile.operators.empty()) return {};
  HtmlTable table{{"operation", "line", "part", "calls", "time", "share", "GFLOP/s", "of peak"},
                  {},
                  {false, false, false, true, true, false, true, true}};
  const double all = profile.operator_seconds();
  for (const OperatorProfile& o : profile.operators) {
    if (table.rows.size() == most) break;
    const double rate = o.seconds > 0 ? o.flops / o.seconds : 0;
    const PeakShare share = share_of_peak(profile, peak, o);
    const std::string line = place_text(o.operation.location, false);
    table.rows.push_back({"<code>" + html_escaped(o.operation.name) + "</code>",
                          "<code>" + html_escaped(line) + "</code>", std::string(name(o.operation.part)),
                          std::to_string(o.calls), short_time(o.seconds), share_bar(all > 0 ? o.seconds / all : 0),
                          formatted("%.1f", rate * 1e-9),
                          *share.of ? formatted("%.0f %% ", 100 * share.share) + share.of : ""});
  }
  std::string html = table.html();
  if (profile.operators.size() > most)
    html += "<p class=sub>" + text("the slowest ", most, " of ", profile.operators.size()) + "</p>";
  return html;
}
[[gnu::cold]] inline std::string memory_section(const Profile& profile) {
  std::string all;
  for (const StepProfile& group : profile.groups) {
    if (group.mode != Mode::graph || !group.program || group.program->instructions == 0) continue;
    const MemoryMap map = memory_map(*group.program, group.n, group.threads);
    all += "<h3>" + html_escaped(text(group.network, ", ", name(group.kind), ", batch of ", group.n, ": ")) +
           tenon::detail::memory_text(double(map.arena)) + " of scratch memory, at most " +
           tenon::detail::memory_text(double(map.peak())) + " of values at once</h3>\n" + memory_picture(map);
  }
  return all;
}
}  // namespace tenon::debug::detail
