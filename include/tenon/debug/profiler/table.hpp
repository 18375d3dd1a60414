// The table of a profile: where the time of a step goes.
#pragma once
#include <map>

#include <tenon/debug/profiler/names.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

/// Of the operations of one group, or of one type in it.
struct TypeProfile {
  std::string_view type;
  long kinds = 0, calls = 0, runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
  bool is_double = false, counts_flops = false;

  void add(const OperatorProfile& o) {
    ++kinds;
    calls += o.calls, runs += o.runs;
    seconds += o.seconds, flops += o.flops, bytes += o.bytes;
    counts_flops |= o.operation.op->flops != nullptr;
    is_double |= o.operation.result.dtype == Dtype::float64;
  }
};

/// Writes one group.
class GroupTable {
 public:
  GroupTable(const Profile& profile, int group, const PeakRates& peak)
      : profile_(profile), group_(profile.groups[std::size_t(group)]), peak_(peak) {
    for (const OperatorProfile& o : profile.operators)
      if (o.group == group) operators_.push_back(&o);
    steps_ = std::max(double(group_.steps), 1.);
    all_ = group_.steps > 0 ? group_.all() : 0;
    if (group_.steps == 0)
      for (const OperatorProfile* o : operators_) all_ += o->seconds;
    all_ = std::max(all_, 1e-12);
  }
  bool is_empty() const { return group_.steps == 0 && operators_.empty(); }
  std::string text() {
    write_title();
    if (group_.steps > 0) write_parts();
    if (!operators_.empty()) {
      write_types();
      write_operators();
    }
    return std::move(out_);
  }

 private:
  void line(const std::string& content) { out_ += content.substr(0, content.find_last_not_of(' ') + 1) + "\n"; }
  std::string per_step(double seconds) const { return fixed(seconds / steps_ * 1e6, 1); }
  std::string share(double seconds) const { return fixed(100 * seconds / all_, 1) + " %"; }

  void write_title() {
    std::string title = group_name(group_);
    if (group_.steps > 0)
      title +=
          tenon::text(" in ", group_.mode == Mode::graph ? "graph" : "PyNative", " mode, batch size ", group_.n, ", ",
                      group_.threads, group_.threads == 1 ? " thread: " : " threads: ", grouped(double(group_.steps)),
                      group_.steps == 1 ? " step" : " steps");
    line(title);
    line(std::string(title.size(), '='));
  }
  void write_part(std::string_view what, double seconds) {
    constexpr double widest = 40;
    line("  " + left(what, 26) + right(per_step(seconds), 12) + right(share(seconds), 10) + "  " +
         std::string(std::size_t(std::clamp(widest * seconds / all_ + 0.5, 0., widest)), '#'));
  }
  void write_parts() {
    line("  " + left("where a step's time goes", 26) + right("us", 12) + right("share", 10));
    constexpr StepPart parts[]{StepPart::forward, StepPart::gradient, StepPart::optimizer};
    for (const StepPart part : parts)
      if (group_.part[int(part)] > 0) write_part(name(part), group_.part[int(part)]);
    write_part("between operators", group_.inside - group_.operators());
    if (group_.kind == StepKind::train || group_.kind == StepKind::eval) {
      write_part("waiting for data", group_.waited);
      write_part("callbacks and the rest", std::max(group_.between - group_.waited, 0.));
    } else {
      write_part("between steps", group_.between);
    }
    line("  " + left("all", 26) + right(per_step(all_), 12) + right(share(all_), 10) + "  " +
         three_digits(steps_ / all_) + " steps/s, " + grouped(double(group_.samples) / all_) + " samples/s");
    if (group_.median > 0) write_spread();
    write_rates();
    out_ += "\n";
  }
  void write_spread() {
    constexpr double far = 1.2;
    const double mean = group_.inside / steps_;
    line("  steps alone take " + fixed(mean * 1e6, 1) + " us in the mean, " + fixed(group_.median * 1e6, 1) +
         " in the median, the fastest " + fixed(group_.fastest * 1e6, 1));
    if (mean > far * group_.median && group_.steps >= 10)
      line("  the mean is far above the median: other programs have had the processor, or some steps do more");
  }
  void write_rates() {
    double flops = 0;
    for (const OperatorProfile* o : operators_) flops += o->flops;
    if (flops > 0 && group_.operators() > 0)
      line("  its operators make " + three_digits(flops / steps_ * 1e-6) + " million floating-point operations, " +
           three_digits(flops / group_.operators() * 1e-9) + " GFLOP/s: " +
           fixed(100 * flops / group_.operators() / (peak_.flops * group_.threads), 1) + " % of the peak");
    if (group_.peak_bytes > 0)
      line("  most memory in use: " + tenon::detail::memory_text(double(group_.peak_bytes)) + ", behind " +
           std::string(group_.peak_operation));
  }

  std::string rates(const TypeProfile& sum) const {
    if (sum.seconds <= 0) return {};
    const double flops = sum.counts_flops ? sum.flops / sum.seconds : 0, bytes = sum.bytes / sum.seconds;
    const PeakShare near =
        peak_share(peak_, group_.threads, sum.is_double, flops, bytes, sum.bytes / double(std::max(sum.runs, 1L)));
    return right(sum.counts_flops ? three_digits(flops * 1e-9) : "-", 9) + right(three_digits(bytes * 1e-9), 8) +
           (*near.of ? right(fixed(100 * near.share, 0), 6) + " % " : right("-", 6) + "   ") + left(near.of, 6);
  }
  std::string calls_per_step(long calls) const { return fixed(double(calls) / steps_, calls % long(steps_) ? 1 : 0); }

  void write_types() {
    std::map<std::string_view, TypeProfile> sums;
    for (const OperatorProfile* o : operators_) {
      TypeProfile& sum = sums[o->operation.type];
      sum.type = o->operation.type;
      sum.add(*o);
    }
    std::vector<TypeProfile> types;
    for (const auto& [type, sum] : sums) types.push_back(sum);
    std::stable_sort(types.begin(), types.end(),
                     [](const TypeProfile& a, const TypeProfile& b) { return a.seconds > b.seconds; });
    line("  " + left("by type of operator", 38) + right("calls", 8) + right("us", 11) + right("share", 9) +
         right("GFLOP/s", 9) + right("GB/s", 8) + right("of peak", 9));
    double rest = 0;
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i >= most_types) {
        rest += types[i].seconds, ++left_out;
        continue;
      }
      line("  " + left(types[i].type, 38) + right(calls_per_step(types[i].calls), 8) +
           right(per_step(types[i].seconds), 11) + right(share(types[i].seconds), 9) + rates(types[i]));
    }
    write_rest(left_out, "types", rest);
    out_ += "\n";
  }
  void write_operators() {
    line("  " + left("the slowest operators", 46) + right("us", 11) + right("share", 9) + right("GFLOP/s", 9) +
         right("GB/s", 8) + right("of peak", 9) + "     where");
    double rest = 0;
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      const OperatorProfile& o = *operators_[i];
      if (i >= most_operators) {
        rest += o.seconds, ++left_out;
        continue;
      }
      TypeProfile one;
      one.add(o);
      constexpr std::string_view shorter[]{"forward", "gradient", "optimizer"};
      line("  " + left(operator_text(o), 36) + left(shorter[int(o.operation.part)], 10) +
           right(per_step(o.seconds), 11) + right(share(o.seconds), 9) + rates(one) +
           place_text(o.operation.location, false));
    }
    write_rest(left_out, "operators", rest);
    out_ += "\n";
  }
  void write_rest(std::size_t count, std::string_view of, double seconds) {
    if (count == 0) return;
    line("  " + left(tenon::text("and ", count, " other ", of), 46) + right(per_step(seconds), 11) +
         right(share(seconds), 9));
  }
  /// "conv1 Conv2D", cut in its middle if it is long.
  static std::string operator_text(const OperatorProfile& o) {
    constexpr std::size_t room = 35;
    const std::string cell = cell_path(o.operation.name);
    const std::string_view own = own_name(o.operation.name);
    std::string shown = cell.empty() ? std::string(own) : tenon::text(cell, " ", own);
    if (shown.size() > room) shown = shown.substr(0, room / 2 - 1) + ".." + shown.substr(shown.size() - room / 2);
    return shown;
  }

  static constexpr std::size_t most_types = 12, most_operators = 16;
  const Profile& profile_;
  const StepProfile& group_;
  const PeakRates& peak_;
  std::vector<const OperatorProfile*> operators_;
  double steps_ = 1, all_ = 0;
  std::string out_;
};

}  // namespace detail

/// Where the time goes, one table for each kind of steps: microseconds of a step, their share, floating-point operations
/// and bytes per second, and how near that is to what this machine can do. The last line says what that is.
inline std::string profile_text(const Profile& profile, const PeakRates& peak) {
  std::string all;
  for (std::size_t i = 1; i <= profile.groups.size(); ++i) {
    detail::GroupTable table(profile, int(i % profile.groups.size()), peak);
    if (!table.is_empty()) all += table.text();
  }
  if (all.empty()) return "The profiler has seen no step.\n";
  all += text("Peak of one core, measured here: ", detail::three_digits(peak.flops * 1e-9),
              " GFLOP/s of float32 multiply-adds (FMA, ", peak.instruction_set, ");");
  for (const MemoryLevel& level : peak.level)
    all += text(" ", level.name, " ", detail::three_digits(level.rate * 1e-9), &level == peak.level + 3 ? "" : ",");
  return all + " GB/s.\n";
}

}  // namespace tenon::debug
