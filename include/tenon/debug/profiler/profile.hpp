// Profile: what a profiler has measured, of all threads together, in seconds.
#pragma once
#include <algorithm>
#include <cstdint>

#include <tenon/debug/profiler/recorders.hpp>

namespace tenon::inline TENON_ABI::debug {

/// An operation of all steps of one kind, or, in group 0, outside of steps.
struct OperatorProfile {
  Operation operation;
  int group = 0;
  long calls = 0, runs = 0;     // a call that takes one tile of samples after the other is one run for each
  long alone = 0;               // of the runs, those that one thread had for itself
  double seconds = 0;           // of the time of steps; runs at the same time share it
  double least = 0, most = 0;   // of one run, in its thread
  double flops = 0, bytes = 0;  // of all runs: Operation::flops() and bytes()
};

/// The steps of one kind of all networks of one class. The one in front is what runs outside of all steps: operators
/// that were shown to the profiler by Observing.
struct StepProfile {
  std::string_view network;
  StepKind kind = StepKind::call;
  Mode mode = Mode::graph;
  long n = 1;  // the largest batch
  int threads = 1;
  long steps = 0, samples = 0;
  double inside = 0;               // seconds in steps
  double between = 0;              // seconds before them, since the end of the step before
  double waited = 0;               // of these for batches
  double processor = 0;            // of `inside`: seconds in which the thread had a processor; 0: not known
  double part[3]{};                // seconds in operations of each StepPart
  double fastest = 0, median = 0;  // seconds of a step, of those in the step trace
  long peak_bytes = 0;             // most memory that was in use after an operation, and after which
  std::string_view peak_operation{};
  const Program* program = nullptr;  // of graph mode

  double operators() const { return part[0] + part[1] + part[2]; }
  double all() const { return inside + between; }
};

/// What the steps of one thread were, in the order of time, with what workers did for them. `record` of an operation is
/// its index among all operators.
struct ThreadProfile {
  std::vector<detail::OperatorEvent> operators;
  std::vector<detail::StepEvent> steps;
};

struct Profile {
  std::vector<StepProfile> groups;         // the slowest first, after the one of no steps
  std::vector<OperatorProfile> operators;  // the slowest first
  std::vector<ThreadProfile> threads;
  long left_out = 0;  // runs of operations that are in the sums alone
  Ticks begin = 0;
  double seconds_per_tick = 1e-9;

  double operator_seconds() const {
    double sum = 0;
    for (const OperatorProfile& o : operators) sum += o.seconds;
    return sum;
  }
  double microseconds(Ticks from, Ticks to) const { return double(to - from) * seconds_per_tick * 1e6; }
};

namespace detail {

/// Puts what threads have recorded together.
class ProfileSum {
 public:
  ProfileSum(Ticks begin, double seconds_per_tick) {
    profile_.begin = begin;
    profile_.seconds_per_tick = seconds_per_tick;
    profile_.groups.emplace_back();
  }
  void add(const ThreadRecorder& recorder) {
    std::vector<int> group_at, operator_at;
    for (const GroupRecord& group : recorder.groups()) group_at.push_back(add_group(group, recorder));
    for (const OperatorRecord& record : recorder.records())
      operator_at.push_back(add_operator(record, group_at[std::size_t(record.group)]));
    ThreadProfile& thread = profile_.threads.emplace_back();
    thread.operators = recorder.operator_events();
    for (OperatorEvent& event : thread.operators) event.record = operator_at[std::size_t(event.record)];
    std::sort(thread.operators.begin(), thread.operators.end(),
              [](const OperatorEvent& a, const OperatorEvent& b) { return a.begin < b.begin; });
    thread.steps = recorder.step_events();
    for (StepEvent& step : thread.steps) step.group = group_at[std::size_t(step.group)];
    profile_.left_out += recorder.left_out();
  }
  Profile finish() {
    find_typical_steps();
    sort();
    return std::move(profile_);
  }

 private:
  double seconds(Ticks ticks) const { return double(ticks) * profile_.seconds_per_tick; }
  int add_group(const GroupRecord& from, const ThreadRecorder& recorder) {
    std::size_t i = &from == recorder.groups().data() ? 0 : 1;
    while (i > 0 && i < profile_.groups.size() &&
           (profile_.groups[i].network != from.step.network || profile_.groups[i].kind != from.step.kind))
      ++i;
    if (i == profile_.groups.size()) profile_.groups.emplace_back();
    StepProfile& to = profile_.groups[i];
    to.network = from.step.network;
    to.kind = from.step.kind;
    to.mode = from.step.mode;
    to.threads = std::max(to.threads, from.threads);
    if (from.step.n >= to.n) to.n = from.step.n, to.program = from.step.program;
    to.steps += from.steps;
    to.samples += from.samples;
    to.inside += seconds(from.inside);
    to.between += seconds(from.between);
    to.waited += from.waited;
    to.processor += double(from.processor) * 1e-9;
    for (int part = 0; part < 3; ++part) to.part[part] += seconds(from.in_part[part]);
    if (from.peak_bytes > to.peak_bytes) {
      to.peak_bytes = from.peak_bytes;
      to.peak_operation = recorder.records()[std::size_t(from.peak_record)].operation.name;
    }
    return int(i);
  }
  int add_operator(const OperatorRecord& from, int group) {
    const auto [at, is_new] = operators_[group].try_emplace(from.operation.name, int(profile_.operators.size()));
    if (is_new) {
      OperatorProfile& made = profile_.operators.emplace_back();
      made.operation = from.operation;
      made.group = group;
      made.least = seconds(from.least);
    }
    OperatorProfile& to = profile_.operators[std::size_t(at->second)];
    to.calls += from.calls;
    to.runs += from.runs;
    to.alone += from.alone;
    to.seconds += seconds(from.total);
    to.least = std::min(to.least, seconds(from.least));
    to.most = std::max(to.most, seconds(from.most));
    to.flops += from.flops;
    to.bytes += from.bytes;
    return at->second;
  }
  void find_typical_steps() {
    std::vector<std::vector<Ticks>> took(profile_.groups.size());
    for (const ThreadProfile& thread : profile_.threads)
      for (const StepEvent& step : thread.steps) took[std::size_t(step.group)].push_back(step.end - step.begin);
    for (std::size_t i = 0; i < took.size(); ++i) {
      if (took[i].empty()) continue;
      const auto middle = took[i].begin() + std::ptrdiff_t(took[i].size() / 2);
      std::nth_element(took[i].begin(), middle, took[i].end());
      profile_.groups[i].median = seconds(*middle);
      profile_.groups[i].fastest = seconds(*std::min_element(took[i].begin(), took[i].end()));
    }
  }
  /// `of` in the order of `before`, the first `fixed` stay; the new place of each.
  template <class T, class Before>
  static std::vector<int> sorted(std::vector<T>& of, std::size_t fixed, Before before) {
    std::vector<int> order(of.size()), place(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) order[i] = int(i);
    // equal ones stay in their order, by std::sort: std::stable_sort of g++ 12 is one long warning of clang 19
    std::sort(order.begin() + std::ptrdiff_t(fixed), order.end(), [&](int a, int b) {
      const T &one = of[std::size_t(a)], &other = of[std::size_t(b)];
      return before(one, other) || (!before(other, one) && a < b);
    });
    std::vector<T> moved;
    for (std::size_t i = 0; i < of.size(); ++i) {
      place[std::size_t(order[i])] = int(i);
      moved.push_back(std::move(of[std::size_t(order[i])]));
    }
    of = std::move(moved);
    return place;
  }
  void sort() {
    const std::vector<int> group =
        sorted(profile_.groups, 1, [](const StepProfile& a, const StepProfile& b) { return a.all() > b.all(); });
    const std::vector<int> place =
        sorted(profile_.operators, 0,
               [](const OperatorProfile& a, const OperatorProfile& b) { return a.seconds > b.seconds; });
    for (OperatorProfile& o : profile_.operators) o.group = group[std::size_t(o.group)];
    for (ThreadProfile& thread : profile_.threads) {
      for (OperatorEvent& event : thread.operators) event.record = place[std::size_t(event.record)];
      for (StepEvent& step : thread.steps) step.group = group[std::size_t(step.group)];
    }
  }

  Profile profile_;
  std::unordered_map<int, std::unordered_map<std::string_view, int>> operators_;  // by group and name
};

}  // namespace detail
}  // namespace tenon::debug
