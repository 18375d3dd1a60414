// The table of a profile: where the time of a step goes.
#pragma once
#include <algorithm>
#include <map>

#include <tenon/debug/profiler/names.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {

/// Of the operations of one group, or of one type in it.
struct TypeProfile {
  std::string_view type;
  long calls = 0, runs = 0, alone = 0;
  double seconds = 0, flops = 0, bytes = 0;
  bool is_double = false, has_flops = false;

  void add(const OperatorProfile& o) {
    calls += o.calls, runs += o.runs, alone += o.alone;
    seconds += o.seconds, flops += o.flops, bytes += o.bytes;
    has_flops |= counts_flops(o.operation);
    is_double |= o.operation.result.dtype == Dtype::float64;
  }
};

/// Writes one group.
class GroupTable {
 public:
  GroupTable(const Profile& profile, int group, const PeakRates& peak)
      : group_(profile.groups[std::size_t(group)]), peak_(peak) {
    for (const OperatorProfile& o : profile.operators)
      if (o.group == group) operators_.push_back(&o);
    steps_ = std::max(double(group_.steps), 1.);
    all_ = group_.steps > 0 ? group_.all() : 0;
    if (group_.steps == 0)
      for (const OperatorProfile* o : operators_) all_ += o->seconds;
    all_ = std::max(all_, 1e-12);
    constexpr double long_step = 0.1;
    if (all_ / steps_ >= long_step) unit_ = "ms", units_ = 1e3;
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
  std::string in_units(double seconds) const { return fixed(seconds * units_, 1); }
  std::string per_step(double seconds) const { return in_units(seconds / steps_); }
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
    line("  " + left("where a step's time goes", 26) + right(unit_, 12) + right("share", 10));
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
    line("  steps alone take " + in_units(group_.inside / steps_) + " " + unit_ + " in the mean, " +
         in_units(group_.median) + " in the median, the fastest " + in_units(group_.fastest));
    // with more threads a step also waits for those
    constexpr double most_of_it = 0.9;
    const double had = group_.processor / group_.inside;
    if (group_.threads == 1 && had > 0 && had < most_of_it)
      line("  the thread had a processor for " + fixed(100 * had, 0) +
           " % of this time: others had it for the rest, so all times are too long by as much");
  }
  void write_rates() {
    double flops = 0;
    for (const OperatorProfile* o : operators_) flops += o->flops;
    if (flops > 0 && group_.operators() > 0)
      line("  a step has " + operations_text(flops / steps_) + ": its operators make " +
           three_digits(flops / group_.operators() * 1e-9) + " GFLOP/s, " +
           fixed(100 * flops / group_.operators() / (peak_.flops * group_.threads), 1) + " % of the peak");
    if (group_.peak_bytes > 0)
      line("  most memory that the program had in use: " + tenon::detail::memory_text(double(group_.peak_bytes)));
  }

  /// "44.2 MFLOP".
  static std::string operations_text(double flops) {
    const bool many = flops >= 1e9;
    return three_digits(flops * (many ? 1e-9 : 1e-6)) + (many ? " GFLOP" : " MFLOP");
  }

  std::string rates(const TypeProfile& sum) const {
    if (sum.seconds <= 0) return {};
    const double flops = sum.has_flops ? sum.flops / sum.seconds : 0, bytes = sum.bytes / sum.seconds;
    const PeakShare near =
        peak_share(peak_, group_.threads, sum.is_double, flops, bytes, bytes_of_thread(sum, group_.threads));
    return right(sum.has_flops ? three_digits(flops * 1e-9) : "-", 9) + right(three_digits(bytes * 1e-9), 7) +
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
    std::sort(types.begin(), types.end(), [](const TypeProfile& a, const TypeProfile& b) {
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.type < b.type;
    });
    write_heads("by type of operator", "", "calls/step", "");
    for (std::size_t i = 0; i < types.size() && i < most_types; ++i)
      line("  " + left(types[i].type, names_width) + right(calls_per_step(types[i].calls), calls_width) +
           times(types[i].seconds) + rates(types[i]));
    double rest = 0;
    for (std::size_t i = most_types; i < types.size(); ++i) rest += types[i].seconds;
    write_rest(types.size(), most_types, "types", rest);
  }
  void write_operators() {
    write_heads("the slowest operators", "part", "calls", "where");
    constexpr std::string_view parts[]{"fwd", "grad", "opt"};
    double rest = 0;
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      const OperatorProfile& o = *operators_[i];
      if (i >= most_operators) {
        rest += o.seconds;
        continue;
      }
      TypeProfile one;
      one.add(o);
      line("  " + left(end_of(cell_within_network(o.operation.name), cell_width - 1), cell_width) +
           left(begin_of(own_name(o.operation.name), own_width - 1), own_width) +
           left(parts[int(o.operation.part)], part_width) + right(grouped(double(o.calls)), calls_width) +
           times(o.seconds) + rates(one) + place_text(o.operation.location, false));
    }
    write_rest(operators_.size(), most_operators, "operators", rest);
  }
  void write_heads(std::string_view what, std::string_view part, const char* calls, const char* where) {
    line("  " + left(what, cell_width + own_width) + left(part, part_width) + right(calls, calls_width) +
         right(unit_, 9) + right("share", 8) + right("GFLOP/s", 9) + right("GB/s", 7) + right("of peak", 9) + "     " +
         where);
  }
  std::string times(double seconds) const { return right(per_step(seconds), 9) + right(share(seconds), 8); }
  /// What is not shown, and an empty line.
  void write_rest(std::size_t count, std::size_t shown, std::string_view of, double seconds) {
    if (count > shown)
      line("  " + left(tenon::text("and ", count - shown, " other ", of), names_width + calls_width) + times(seconds));
    out_ += "\n";
  }
  static std::string end_of(std::string_view text, std::size_t room) {
    return text.size() <= room ? std::string(text) : ".." + std::string(text.substr(text.size() - room + 2));
  }
  static std::string begin_of(std::string_view text, std::size_t room) {
    return text.size() <= room ? std::string(text) : std::string(text.substr(0, room - 2)) + "..";
  }

  static constexpr std::size_t most_types = 12, most_operators = 16, cell_width = 18, own_width = 24, part_width = 5,
                               names_width = cell_width + own_width + part_width, calls_width = 11;
  const StepProfile& group_;
  const PeakRates& peak_;
  std::vector<const OperatorProfile*> operators_;
  double steps_ = 1, all_ = 0, units_ = 1e6;
  const char* unit_ = "us";  // of times of a step
  std::string out_;
};

}  // namespace detail

/// The time of operators, one table for each kind of step: times in a step, their share, floating-point operations and
/// bytes per second, and the share of this machine's peak. The last line states the peak.
inline std::string profile_text(const Profile& profile, const PeakRates& peak) {
  std::string all;
  for (std::size_t i = 1; i <= profile.groups.size(); ++i) {
    detail::GroupTable table(profile, int(i % profile.groups.size()), peak);
    if (!table.is_empty()) all += table.text();
  }
  if (all.empty()) return "The profiler has seen no step.\n";
  all += text("Peak of one core, measured here: ", detail::three_digits(peak.flops * 1e-9),
              " GFLOP/s of float32 multiply-adds (FMA, ", peak.instruction_set, ");\nit reads, or reads and writes,");
  for (const MemoryLevel& level : peak.level)
    all += text(" ", detail::three_digits(level.rate * 1e-9), " GB/s of ", level.name,
                &level == peak.level + 3 ? ".\n" : ",");
  return all;
}

}  // namespace tenon::debug
