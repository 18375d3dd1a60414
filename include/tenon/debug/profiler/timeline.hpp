// The timeline of a profile: JSON that chrome://tracing and Perfetto show.
#pragma once
#include <algorithm>
#include <cmath>

#include <tenon/debug/profiler/names.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

inline std::string json_text(std::string_view text) {
  if (const std::size_t bad = io::find_bad_utf8(text); bad != text.npos) text = text.substr(0, bad);
  return '"' + io::json_escaped(text) + '"';
}

/// Workers of the pool that had operations of their own. Their rows are after those of the threads with steps; one
/// worker has one row, whichever thread it works for.
inline std::size_t workers_in(const Profile& profile) {
  int most = 0;
  for (const ThreadProfile& thread : profile.threads)
    for (const OperatorEvent& run : thread.operators) most = std::max(most, run.worker);
  return std::size_t(most);
}

/// Writes trace events until they are as many bytes as they may.
class Timeline {
 public:
  Timeline(const Profile& profile, long process, std::size_t most_bytes)
      : profile_(profile), process_(process), most_bytes_(most_bytes) {
    for (const OperatorProfile& o : profile.operators) described_.push_back(arguments(o));
  }
  std::string text() {
    out_ = "[\n";
    metadata("process_name", 0, tenon::text("\"name\":", json_text(process_name())));
    for (std::size_t i = 0; i < profile_.threads.size(); ++i) {
      metadata("thread_name", i, tenon::text("\"name\":\"steps and operators, thread ", i + 1, "\""));
      metadata("thread_sort_index", i, tenon::text("\"sort_index\":", i));
    }
    for (std::size_t worker = 1; worker <= workers_in(profile_); ++worker) {
      const std::size_t row = row_of(0, int(worker));
      metadata("thread_name", row, tenon::text("\"name\":\"operators, worker ", worker, "\""));
      metadata("thread_sort_index", row, tenon::text("\"sort_index\":", row));
    }
    for (std::size_t i = 0; i < profile_.threads.size() && !is_full_; ++i) write_thread(i);
    out_.erase(out_.size() - 2);  // the last comma
    return std::move(out_) + "\n]\n";
  }

 private:
  std::string process_name() const {
    std::string names;
    for (const StepProfile& group : profile_.groups)
      if (!group.network.empty() && names.find(group.network) == names.npos)
        names += (names.empty() ? "" : ", ") + std::string(group.network);
    return names.empty() ? "Tenon" : names;
  }
  std::size_t row_of(std::size_t thread, int worker) const {
    return worker == 0 ? thread : profile_.threads.size() + std::size_t(worker) - 1;
  }
  void metadata(std::string_view what, std::size_t thread, const std::string& arguments) {
    out_ += tenon::text("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process_, ",\"tid\":", thread, ",\"args\":{",
                        arguments, "}},\n");
  }
  void event(const std::string& name, std::string_view kind, std::size_t thread, Ticks begin, Ticks end,
             const std::string& arguments) {
    if (is_full_ || (is_full_ = out_.size() + arguments.size() + 256 > most_bytes_)) return;
    // both ends are rounded, not the time between: else an event may end after the begin of the next one, which
    // Perfetto then leaves out
    const double from = nanoseconds(begin), to = std::max(nanoseconds(end), from);
    out_ += tenon::text("{\"ph\":\"X\",\"name\":", name, ",\"cat\":\"", kind, "\",\"pid\":", process_,
                        ",\"tid\":", thread, ",\"ts\":", fixed(from * 1e-3, 3),
                        ",\"dur\":", fixed((to - from) * 1e-3, 3), ",\"args\":{", arguments, "}},\n");
  }
  /// Whole ones since the profile began.
  double nanoseconds(Ticks time) const { return std::round(profile_.microseconds(profile_.begin, time) * 1e3); }
  /// Steps and what is in them in the order of time, so that a full file ends at a moment.
  void write_thread(std::size_t thread) {
    const ThreadProfile& of = profile_.threads[thread];
    std::size_t step = 0;
    for (const OperatorEvent& run : of.operators) {
      while (step < of.steps.size() && of.steps[step].begin <= run.begin) write_step(thread, of.steps[step++]);
      const OperatorProfile& o = profile_.operators[std::size_t(run.record)];
      event(json_text(shown_name(o)), name(o.operation.part), row_of(thread, run.worker), run.begin, run.end,
            tenon::text(described_[std::size_t(run.record)], ",\"n\":", run.n));
    }
    while (step < of.steps.size() && !is_full_) write_step(thread, of.steps[step++]);
  }
  void write_step(std::size_t thread, const StepEvent& step) {
    const StepProfile& group = profile_.groups[std::size_t(step.group)];
    // the wait for data ends somewhere before the step: shown at the begin of what is between two steps' ends
    const Ticks waited = Ticks(step.waited / profile_.seconds_per_tick);
    const Ticks data_end = std::min(step.before + waited, step.begin);
    if (waited > 0 && data_end > step.before) event("\"waiting for data\"", "data", thread, step.before, data_end, "");
    event(json_text(tenon::text(what_runs(group.kind), " step ", step.number + 1)), "step", thread, step.begin,
          step.end, tenon::text("\"network\":", json_text(group.network)));
  }
  static std::string shown_name(const OperatorProfile& o) {
    const std::string cell = cell_within_network(o.operation.name);
    return cell.empty() ? std::string(own_name(o.operation.name))
                        : cell + " " + std::string(own_name(o.operation.name));
  }
  std::string arguments(const OperatorProfile& o) const {
    const Operation& operation = o.operation;
    std::string all =
        tenon::text("\"name\":", json_text(operation.name), ",\"part\":\"", name(operation.part), "\",\"operands\":[");
    for (int k = 0; k < operation.operands.count; ++k)
      all += tenon::text(k ? "," : "", "\"", type_text(operation.operands[k], operation.n), "\"");
    all += tenon::text("],\"result\":\"", type_text(operation.result, operation.n),
                       "\",\"flops\":", fixed(operation.flops(), 0), ",\"bytes\":", fixed(operation.bytes(), 0));
    if (o.seconds > 0) all += tenon::text(",\"mean GFLOP/s\":", fixed(o.flops / o.seconds * 1e-9, 2));
    if (operation.location.line > 0) all += ",\"at\":" + json_text(place_text(operation.location, true));
    return all;
  }

  const Profile& profile_;
  long process_;
  std::size_t most_bytes_;
  std::vector<std::string> described_;  // of each operator, what does not change from run to run
  bool is_full_ = false;
  std::string out_;
};

}  // namespace detail

/// cpu_timeline_display: an array of trace events, at most this many bytes.
inline std::string timeline_json(const Profile& profile, long process, std::size_t most_bytes) {
  return detail::Timeline(profile, process, most_bytes).text();
}
/// cpu_timeline_summary: of the whole run, in milliseconds.
inline std::string timeline_summary_json(const Profile& profile) {
  long runs = 0;
  for (const OperatorProfile& o : profile.operators) runs += o.runs;
  return text("{\"total_time\":", detail::fixed(profile.operator_seconds() * 1e3, 6),
              ",\"num_of_streams\":", profile.threads.size() + detail::workers_in(profile),
              ",\"num_of_ops\":", profile.operators.size(), ",\"op_exe_times\":", runs, "}\n");
}

}  // namespace tenon::debug
