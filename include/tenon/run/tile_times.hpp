// TileTimes: when each instruction of a group has run for each tile, written by the threads that share the tiles.
#pragma once
#include <tenon/core/math/min_max.hpp>
#include <tenon/lowering/program.hpp>
#if TENON_DEFINES && defined(TENON_OBSERVE)
#include <span>
#include <vector>

#include <tenon/graph/observe/observer.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// In the place of a TileTimes* without an observer: no code, no argument.
struct NoTileTimes {
  struct Moment {};
  const NoTileTimes* operator->() const { return this; }
  static void fork() {}
  static void join() {}
  static void enter(int) {}
  static Moment now() { return {}; }
  static void ran(long, std::size_t, Moment) {}
};

#if TENON_DEFINES && defined(TENON_OBSERVE)
/// Threads write without a lock, each the rows of its own tiles; they are read after the join.
class TileTimes {
 public:
  TileTimes(ObserverClock clock, const TileShares& shares, std::size_t instructions)
      : clock_(clock),
        shares_(shares),
        instructions_(instructions),
        span_(std::size_t(shares.tiles) * instructions),
        by_worker_(std::size_t(shares.parts)),
        runs_(std::size_t(shares.tiles)) {}
  TileTimes(const TileTimes&) = delete;
  TileTimes& operator=(const TileTimes&) = delete;

  void fork() { forked_ = clock_(); }
  /// Threads have come back, and the sums of their tiles are added up.
  void join() { joined_ = clock_(); }
  /// In the thread that takes the tiles of a part: the pool runs a part in the caller's if its workers are busy.
  void enter(int part) { by_worker_[std::size_t(part)] = &observation() != caller_; }
  std::int64_t now() const { return clock_(); }
  void ran(long tile, std::size_t instruction, std::int64_t begin) {
    span_[std::size_t(tile) * instructions_ + instruction] = {begin, clock_()};
  }

  /// After the last run: which part of the time from fork to join a unit of time of a run is.
  void finish() {
    std::int64_t busy = 0;
    for (long tile = 0; tile < shares_.shared + shares_.halved; ++tile)
      for (std::size_t i = 0; i < instructions_; ++i) {
        const Span& at = span_[std::size_t(tile) * instructions_ + i];
        busy += (at.end - at.begin) * halves(tile);
      }
    if (shares_.parts > 1 && busy > 0) share_ = double(joined_ - forked_) / double(busy);
  }
  /// All runs of an instruction for a batch of n, in the order of tiles; valid until the next call.
  std::span<const OperationRun> of(std::size_t instruction, long n) {
    for (int part = 0; part < int(shares_.parts); ++part)
      for (long tile = shares_.begin(part); tile < shares_.begin(part + 1); ++tile)
        set(tile, instruction, n, by_worker_[std::size_t(part)] ? part : 0, true);
    long tile = shares_.shared;
    for (; tile < shares_.shared + shares_.halved; ++tile) {
      const int part = int(shares_.part_of(2 * (tile - shares_.shared)));
      set(tile, instruction, n, by_worker_[std::size_t(part)] ? part : 0, true);
    }
    for (; tile < shares_.tiles; ++tile) set(tile, instruction, n, 0, false);
    return runs_;
  }

 private:
  struct Span {
    std::int64_t begin = 0, end = 0;
  };
  // Of a tile that is halved the first half is timed; the other one takes as long.
  int halves(long tile) const { return tile < shares_.shared ? 1 : 2; }
  void set(long tile, std::size_t instruction, long n, int worker, bool alone) {
    const Span& at = span_[std::size_t(tile) * instructions_ + instruction];
    const std::int64_t took = at.end - at.begin;
    OperationRun& run = runs_[std::size_t(tile)];
    run.begin = at.begin;
    run.end = at.end;
    run.share = alone ? std::int64_t(double(took * halves(tile)) * share_ + 0.5) : took;
    run.n = math::min<long>(block_samples, n - tile * block_samples);
    run.worker = worker;
    run.alone = alone;
  }

  ObserverClock clock_;
  TileShares shares_;
  std::size_t instructions_;
  std::vector<Span> span_;      // tile by tile
  std::vector<int> by_worker_;  // of each part
  std::vector<OperationRun> runs_;
  Observation* const* caller_ = &observation();  // an address that each thread has for itself
  std::int64_t forked_ = 0, joined_ = 0;
  double share_ = 1;
};
#endif

}  // namespace tenon::detail
