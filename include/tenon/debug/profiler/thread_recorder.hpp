// ThreadRecorder: what the steps and operations of one thread have cost.
#pragma once
#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/memory/memory_limit.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/debug/profiler/clock.hpp>
#include <tenon/graph/observe/observer.hpp>
#include <tenon/graph/observe/watcher.hpp>

namespace tenon::inline TENON_ABI::debug::detail {

/// What is kept of an operation for good. Times are in ticks, over all runs: `total` of their shares in the time of
/// steps, the others as long as runs were in their thread.
struct OperatorRecord {
  Operation operation;
  int group = 0;             // of whose steps it is a part
  long calls = 0, runs = 0;  // a call may be several runs, one per tile of samples
  long alone = 0;            // of these, each by a thread alone while others had their tiles
  Ticks total = 0, least = 0, most = 0;
  double flops = 0, bytes = 0;

  // of a run with this many samples
  long n = -1;
  double flops_of_run = 0, bytes_of_run = 0;
  long last_step = -1;
  int next = -1;  // the record of the operation that came after it the last time
  bool fp_point = false, bp_point = false;
};

/// The steps of one kind of networks of one class. Group 0 is what runs outside of all steps.
struct GroupRecord {
  NetworkStep step{};  // the last one, with the largest n
  int threads = 1;
  long steps = 0, samples = 0;
  Ticks inside = 0, between = 0;  // in steps; from the end of the step before, whatever that was, to the begin
  double waited = 0;              // seconds of `between`, for batches
  Ticks processor = 0;            // nanoseconds of `inside` in which the thread had a processor
  Ticks in_part[3]{};             // in operations of each StepPart
  long peak_bytes = 0;            // most memory that was in use when an operation ended, and which that was
  int peak_record = -1;
  std::unordered_map<const char*, int> record_of{};  // by the name's address
};

/// A run of an operation, by the recorder's thread or by a worker of the pool, counted from 1.
struct OperatorEvent {
  Ticks begin, end;
  int record, n, worker = 0;
};
/// A step.
struct StepEvent {
  static constexpr Ticks none = -1;
  Ticks before = 0, begin = 0, end = 0;  // `before`: the end of the step before it, or its own begin
  Ticks fp = none, bp = none;            // the begin of the forward part, the end of the backward part
  double waited = 0;
  long number = 0;
  int group = 0;
};

/// How much is kept beside sums.
struct EventLimit {
  std::size_t operators = 1 << 16, steps = 1 << 16;
  std::string fp_point{}, bp_point{};
};

/// Records one thread, with times that the caller passes. What it keeps does not grow with the length of a run: sums,
/// and events up to a limit. `mutex` is held in a step; a reader takes it first.
class ThreadRecorder {
 public:
  explicit ThreadRecorder(const EventLimit& limit) : limit_(limit), groups_(1) {
    // the usual limit as a whole; what is asked for beyond it grows when it is used
    operator_events_.reserve(std::min<std::size_t>(limit.operators, 1 << 16));
    step_events_.reserve(std::min<std::size_t>(limit.steps, 1 << 12));
    open_.reserve(16);
  }

  /// `processor`: nanoseconds for which the thread has had one.
  void begin_step(const NetworkStep& step, Ticks now, Ticks processor = 0) {
    if (depth_++ > 0) return;  // what runs in a step of another one is a part of that
    group_ = group_of(step);
    processor_ = processor;
    last_record_ = -1;
    ++step_count_;
    step_ = StepEvent{};
    step_.before = last_end_ == StepEvent::none ? now : last_end_;
    step_.begin = now;
    step_.waited = step.waited;
    step_.number = step.number;
    step_.group = group_;
  }
  void end_step(const NetworkStep& step, Ticks now, Ticks processor = 0) {
    if (--depth_ > 0) return;
    GroupRecord& group = groups_[std::size_t(group_)];
    ++group.steps;
    group.samples += step.n;
    group.inside += now - step_.begin;
    group.between += step_.begin - step_.before;
    group.waited += step.waited;
    group.processor += processor - processor_;
    step_.end = last_end_ = now;
    if (step_events_.size() < limit_.steps) step_events_.push_back(step_);
    group_ = 0;
    last_record_ = -1;
    open_.clear();
  }
  /// An observer that was named twice is notified of each operation twice: the second time counts nothing.
  void before(const Operation& operation, Ticks now) {
    if (is_open(operation)) open_.back().begin = now;  // also where an error was its end the last time
    else open_.push_back({operation.name.data(), now, 0});
  }
  /// The time of an operation with bodies is what remains without that of their operations.
  void after(const Operation& operation, Ticks now) {
    if (!is_open(operation)) return;
    const Open closed = open_.back();
    open_.pop_back();
    if (!open_.empty()) open_.back().inside += now - closed.begin;
    OperationRun run;
    run.begin = closed.begin;
    run.end = now;
    run.share = now - closed.begin - closed.inside;
    run.n = operation.n;
    run.alone = false;
    add(operation, {&run, 1});
  }
  /// An operation whose runs are over.
  void ran(const Operation& operation, std::span<const OperationRun> runs) {
    const bool again = runs.front().begin == last_run_ && operation.name.data() == last_name_;
    last_run_ = runs.front().begin;
    last_name_ = operation.name.data();
    if (!again) add(operation, runs);
  }
  /// The time until the next step is not counted.
  void pause() { last_end_ = StepEvent::none; }

  bool in_step() const { return depth_ > 0; }
  const std::vector<OperatorRecord>& records() const { return records_; }
  const std::vector<GroupRecord>& groups() const { return groups_; }
  const std::vector<OperatorEvent>& operator_events() const { return operator_events_; }
  const std::vector<StepEvent>& step_events() const { return step_events_; }
  long left_out() const { return left_out_; }

  std::mutex mutex;

 private:
  struct Open {
    const char* name;
    Ticks begin, inside;
  };
  bool is_open(const Operation& operation) const {
    return !open_.empty() && open_.back().name == operation.name.data();
  }
  int group_of(const NetworkStep& step) {
    std::size_t i = 1;
    while (i < groups_.size() &&
           (groups_[i].step.kind != step.kind || groups_[i].step.network.data() != step.network.data()))
      ++i;
    if (i == groups_.size()) groups_.emplace_back();
    GroupRecord& group = groups_[i];
    if (group.steps == 0 || step.n >= group.step.n) group.step = step;
    group.threads = ThreadPool::instance().threads();
    return int(i);
  }
  int record_of(const Operation& operation) {
    const char* const name = operation.name.data();
    int* const expected = last_record_ >= 0 ? &records_[std::size_t(last_record_)].next : nullptr;
    if (expected && *expected >= 0) {
      const OperatorRecord& record = records_[std::size_t(*expected)];
      if (record.operation.name.data() == name && record.group == group_) return *expected;
    }
    const auto [at, is_new] = groups_[std::size_t(group_)].record_of.try_emplace(name, int(records_.size()));
    if (expected) *expected = at->second;
    if (is_new) {
      OperatorRecord& record = records_.emplace_back();
      record.operation = operation;
      record.group = group_;
      record.fp_point = limit_.fp_point == operation.name;
      record.bp_point = limit_.bp_point == operation.name;
    }
    return at->second;
  }
  void add(const Operation& operation, std::span<const OperationRun> runs) {
    const int id = last_record_ = record_of(operation);
    OperatorRecord& record = records_[std::size_t(id)];
    record.calls += record.last_step != step_count_ || depth_ == 0;
    record.last_step = step_count_;
    GroupRecord& group = groups_[std::size_t(group_)];
    for (const OperationRun& run : runs) {
      add_run(record, operation, run);
      group.in_part[int(operation.part)] += run.share;
      if (operator_events_.size() < limit_.operators)
        operator_events_.push_back({run.begin, run.end, id, int(run.n), run.worker});
      else ++left_out_;
    }
    if (const long used = tenon::detail::memory_in_use().load(tenon::detail::MemoryOrder::relaxed);
        used > group.peak_bytes) {
      group.peak_bytes = used;
      group.peak_record = id;
    }
  }
  void add_run(OperatorRecord& record, const Operation& operation, const OperationRun& run) {
    if (record.n != run.n) {
      Operation of_run = operation;
      of_run.n = record.n = run.n;
      record.flops_of_run = of_run.flops();
      record.bytes_of_run = of_run.bytes();
    }
    const Ticks took = run.end - run.begin;
    record.least = record.runs++ == 0 || took < record.least ? took : record.least;
    record.most = std::max(record.most, took);
    record.total += run.share;
    record.alone += run.alone;
    record.flops += record.flops_of_run;
    record.bytes += record.bytes_of_run;
    if (record.fp_point || (limit_.fp_point.empty() && operation.part == StepPart::forward))
      step_.fp = step_.fp == StepEvent::none ? run.begin : std::min(step_.fp, run.begin);
    if (record.bp_point || (limit_.bp_point.empty() && operation.part == StepPart::gradient))
      step_.bp = std::max(step_.bp, run.end);
  }

  EventLimit limit_;
  std::vector<OperatorRecord> records_;
  std::vector<GroupRecord> groups_;
  std::vector<OperatorEvent> operator_events_;
  std::vector<StepEvent> step_events_;
  StepEvent step_{};
  Ticks processor_ = 0, last_end_ = StepEvent::none;
  int group_ = 0, last_record_ = -1, depth_ = 0;
  long step_count_ = 0, left_out_ = 0;
  std::vector<Open> open_;  // operations that have begun, the innermost at the end
  Ticks last_run_ = 0;
  const char* last_name_ = nullptr;
};

}  // namespace tenon::debug::detail
