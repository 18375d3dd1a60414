// The tables that a profiler writes as files, with MindSpore's columns.
#pragma once
#include <algorithm>
#include <map>

#include <tenon/debug/profiler/names.hpp>
#include <tenon/io/text/csv_field.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
inline double per(double value, double of) { return of > 0 ? value / of : 0; }

/// The steps in which an operation can be: those of its kind.
inline double steps_of(const Profile& profile, int group) {
  return std::max(double(profile.groups[std::size_t(group)].steps), 1.);
}
}  // namespace detail

/// cpu_op_type_info: times in milliseconds, percent as a part of 1.
inline std::string op_type_csv(const Profile& profile) {
  struct Sum {
    double calls = 0, per_step = 0, seconds = 0;
  };
  std::map<std::string_view, Sum> types;
  for (const OperatorProfile& o : profile.operators) {
    Sum& sum = types[o.operation.type];
    sum.calls += double(o.calls);
    sum.per_step += double(o.calls) / detail::steps_of(profile, o.group);
    sum.seconds += o.seconds;
  }
  using detail::fixed;
  std::string all = "op_type,type_occurrences,execution_frequency(per-step),total_compute_time,avg_time(ms),percent\n";
  for (const auto& [type, sum] : types)
    all += text(io::csv_field(type), ",", fixed(sum.calls, 0), ",", fixed(sum.per_step, 2), ",",
                fixed(sum.seconds * 1e3, 6), ",", fixed(detail::per(sum.seconds * 1e3, sum.calls), 6), ",",
                fixed(detail::per(sum.seconds, profile.operator_seconds()), 6), "\n");
  return all;
}

/// cpu_op_detail_info: a row for each full name, whatever the kind of step; the slowest first. Additional columns
/// follow MindSpore's.
inline std::string op_detail_csv(const Profile& profile, const PeakRates& peak, long process) {
  struct Sum {
    OperatorProfile of;
    int threads = 1;
  };
  std::vector<Sum> rows;
  std::map<std::string_view, std::size_t> row_of;
  for (const OperatorProfile& o : profile.operators) {
    const auto [at, is_new] = row_of.try_emplace(o.operation.name, rows.size());
    const int threads = profile.groups[std::size_t(o.group)].threads;
    if (is_new) {
      rows.push_back({o, threads});
      continue;
    }
    OperatorProfile& sum = rows[at->second].of;
    sum.calls += o.calls, sum.runs += o.runs, sum.alone += o.alone;
    sum.seconds += o.seconds, sum.flops += o.flops, sum.bytes += o.bytes;
  }
  using detail::fixed;
  const double all_seconds = profile.operator_seconds();
  std::string all =
      "op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms),total_proportion,subgraph,"
      "pid,part,place,runs,GFLOP/s,GB/s,share_of_peak,peak\n";
  for (const auto& [o, threads] : rows) {
    const double flops = detail::per(o.flops, o.seconds), bytes = detail::per(o.bytes, o.seconds);
    const detail::PeakShare near =
        detail::peak_share(peak, threads, o.operation.result.dtype == Dtype::float64,
                           detail::counts_flops(o.operation) ? flops : 0, bytes, detail::bytes_of_thread(o, threads));
    all += text(
        "Host,", io::csv_field(o.operation.type), ",", io::csv_field(detail::last_part(o.operation.name)), ",",
        io::csv_field(o.operation.name), ",", o.calls, ",", fixed(o.seconds * 1e3, 6), ",",
        fixed(detail::per(o.seconds * 1e3, double(o.calls)), 6), ",", fixed(detail::per(o.seconds, all_seconds), 6),
        ",", o.operation.name.starts_with("Gradients") ? "Gradients" : "Default", ",", process, ",",
        name(o.operation.part), ",", io::csv_field(detail::place_text(o.operation.location, true)), ",", o.runs, ",",
        fixed(flops * 1e-9, 3), ",", fixed(bytes * 1e-9, 3), ",", fixed(near.share, 4), ",", near.of, "\n");
  }
  return all;
}

/// op_execute_timestamp: "name;Ops;begin,duration begin,duration " in microseconds, of all runs that are kept.
inline std::string op_timestamp_text(const Profile& profile) {
  std::map<std::string_view, std::string> lines;
  for (const ThreadProfile& thread : profile.threads)
    for (const detail::OperatorEvent& event : thread.operators)
      lines[profile.operators[std::size_t(event.record)].operation.name] +=
          detail::fixed(profile.microseconds(profile.begin, event.begin), 3) + "," +
          detail::fixed(profile.microseconds(event.begin, event.end), 3) + " ";
  std::string all;
  for (const auto& [name, runs] : lines) all += text(name, ";Ops;", runs, "\n");
  return all;
}

/// step_trace_raw: steps of training, in units of 10 ns since the profiler's start. A step starts where the one before
/// it has ended. The last row is the mean without the first step, which is MindSpore's rule, too.
inline std::string step_trace_csv(const Profile& profile) {
  constexpr int columns = 8;
  std::string all = "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n";
  double sum[columns]{};
  long steps = 0;
  const auto row = [&](const std::string& number, const double* values) {
    all += number;
    for (int i = 0; i < columns; ++i) all += text(",", detail::fixed(values[i], 0));
    all += '\n';
  };
  for (const ThreadProfile& thread : profile.threads)
    for (const detail::StepEvent& step : thread.steps) {
      if (step.fp == detail::StepEvent::none || step.bp == detail::StepEvent::none) continue;
      const auto at = [&](Ticks moment) { return profile.microseconds(profile.begin, moment) * 100; };
      const double start = at(step.before), end = at(step.end), fp = at(step.fp), bp = at(step.bp);
      const double values[columns]{start, end, end - start, fp, bp, fp - start, bp - fp, end - bp};
      row(std::to_string(step.number + 1), values);
      if (++steps == 2) std::fill(sum, sum + columns, 0.);  // without the first one
      for (int i = 0; i < columns; ++i) sum[i] += values[i];
    }
  if (steps == 0) return all;
  for (double& value : sum) value /= double(std::max(steps - 1, 1L));
  row("-", sum);
  return all;
}

/// minddata_pipeline_raw: how long steps have waited for their batches. A pipeline is measured as a whole, at its end:
/// there are no queues, so MindSpore's columns about queues stay empty.
inline std::string pipeline_csv(const Profile& profile) {
  std::string all =
      "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
      "output_queue_usage_rate,sample_interval,parent_id,children_id,batches,wait_time(ms),avg_wait_time(ms),"
      "share_of_time\n";
  int id = 0;
  for (const StepProfile& group : profile.groups)
    if (group.steps > 0 && (group.kind == StepKind::train || group.kind == StepKind::eval))
      all += text(id++, ",", io::csv_field(text("Dataset of ", group.network, " ", name(group.kind))), ",,,,,,,,,",
                  group.steps, ",", detail::fixed(group.waited * 1e3, 6), ",",
                  detail::fixed(group.waited * 1e3 / double(group.steps), 6), ",",
                  detail::fixed(detail::per(group.waited, group.all()), 6), "\n");
  return all;
}

}  // namespace tenon::debug
