// time_section and memory_section: the contents of a profile, as parts of a report. Needs -DTENON_OBSERVE.
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
/// The slowest operations of one kind of steps. The last column says of what a share is: of the multiply-adds, or of a
/// level of the memory.
[[gnu::cold]] inline std::string time_table(const Profile& profile, std::size_t group, const PeakRates& peak,
                                            std::size_t most) {
  HtmlTable table{{"operation", "line", "part", "calls", "time", "share", "GFLOP/s", "of peak"},
                  {},
                  {false, false, false, true, true, false, true, true}};
  double seconds = 0;
  std::size_t count = 0;
  for (const OperatorProfile& o : profile.operators)
    if (std::size_t(o.group) == group) seconds += o.seconds, ++count;
  if (count == 0) return {};
  for (const OperatorProfile& o : profile.operators) {
    if (std::size_t(o.group) != group || table.rows.size() == most) continue;
    const double rate = o.seconds > 0 ? o.flops / o.seconds : 0;
    const PeakShare share = share_of_peak(profile, peak, o);
    table.rows.push_back({path_code(o.operation.name),
                          "<code class=line>" + html_escaped(place_text(o.operation.location, false)) + "</code>",
                          std::string(name(o.operation.part)), std::to_string(o.calls), short_time(o.seconds),
                          share_bar(seconds > 0 ? o.seconds / seconds : 0), fixed(rate * 1e-9, 1),
                          *share.of ? text(fixed(100 * share.share, 0), " % ", share.of) : ""});
  }
  const StepProfile& steps = profile.groups[group];
  const std::string heading = text(group_name(steps), steps.steps > 0 ? text(", ", steps.steps, " steps: ") : ": ",
                                   short_time(seconds), " in operations");
  std::string html = "<h3>" + html_escaped(heading) + "</h3>\n" + table.html();
  if (count > table.rows.size())
    html += "<p class=sub>" + text("the slowest ", table.rows.size(), " of ", count) + "</p>\n";
  return html;
}
/// A table for each kind of steps: an operation of the training and of the evaluation have one name.
[[gnu::cold]] inline std::string time_section(const Profile& profile, const PeakRates& peak, std::size_t most = 25) {
  std::string all;
  for (std::size_t i = 1; i <= profile.groups.size(); ++i)  // those outside of steps last, as in profile_text
    all += time_table(profile, i % profile.groups.size(), peak, most);
  return all;
}
[[gnu::cold]] inline std::string memory_section(const Profile& profile) {
  std::string all;
  for (const StepProfile& group : profile.groups) {
    if (group.mode != Mode::graph || !group.program || group.program->instructions == 0) continue;
    const MemoryMap map = memory_map(*group.program, group.n, group.threads);
    all += "<h3>" + html_escaped(text(group_name(group), ", batch of ", group.n, ": ")) +
           tenon::detail::memory_text(double(map.arena)) + " of scratch memory, at most " +
           tenon::detail::memory_text(double(map.peak())) + " of values at once</h3>\n" + memory_picture(map);
  }
  return all;
}
}  // namespace tenon::debug::detail
