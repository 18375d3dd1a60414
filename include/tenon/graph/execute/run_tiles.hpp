// The groups of a compiled graph, for one tile of samples after the other: threads share the tiles, and whoever wants
// to know when instructions run is told so afterwards.
#pragma once
#include <tenon/graph/execute/executor.hpp>

#if TENON_DEFINES
namespace tenon::inline TENON_ABI {

[[gnu::noinline]] TENON_INLINE TileShares Executor::share(std::size_t begin, std::size_t end) {
  long cost = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Resolved& r = resolved_[i];
    r.runs = ready(r);
    if (r.runs) cost += r.whole.items * r.whole.cost;
  }
  const TileShares shares(n_, threads_);
  return cost * shares.tiles >= 2 * cost_per_thread ? shares : TileShares(n_, 1);
}
template <class Times>
[[gnu::always_inline]] inline void Executor::take_shares(std::size_t begin, std::size_t end, const TileShares& shares,
                                                         Times times) {
  struct Job {
    const Executor& executor;
    std::size_t begin, end;
    const TileShares& shares;
    [[no_unique_address]] Times times;
  } job{*this, begin, end, shares, times};
  if (shares.parts > 1) {
    times->fork();
    ThreadPool::instance().run(
        int(shares.parts),
        [](void* context, int part) {
          const Job& all = *static_cast<Job*>(context);
          all.times->enter(part);
          all.executor.take_tiles(all.begin, all.end, all.shares.begin(part), all.shares.begin(part + 1), part, false,
                                  all.times);
        },
        &job);
    for (std::size_t i = begin; i < end; ++i)
      if (const Resolved& r = resolved_[i]; r.runs && r.sum_bytes)
        for (long tile = shares.begin(1); tile < shares.shared; ++tile)
          add(r, sums_.part(r.partial, tile - shares.begin(1)), tile);
    times->join();
  } else {
    take_tiles(begin, end, 0, shares.shared, 0, false, times);
  }
  take_tiles(begin, end, shares.shared, shares.tiles, 0, true, times);
}
template <class Times>
[[gnu::noinline]] void Executor::take_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part,
                                            bool together, Times times) const {
  for (const long first = TileShares(n_, threads_).begin(1); tile < stop; ++tile)
    for (std::size_t i = begin; i < end; ++i) {
      const Resolved& r = resolved_[i];
      if (!r.runs) continue;
      Arguments own = arguments_of(r, tile, part);
      if (r.sum_bytes && tile) own.buffer[0] = part ? sums_.part(r.partial, tile - first) : own.workspace + r.sum_part;
      const Run& all = (tile + 1) * block_samples < n_ ? r.whole : r.last;
      const auto moment = times->now();
      if (together) run_items(all, own);
      else all.kernel(own, 0, all.items);
      if (r.sum_bytes && tile && !part) add(r, own.buffer[0], tile);
      times->ran(tile, i - begin, moment);
    }
}
[[gnu::noinline]] TENON_INLINE void Executor::run_shares(std::size_t begin, std::size_t end, const TileShares& shares) {
  take_shares(begin, end, shares, detail::NoTileTimes{});
}
TENON_INLINE void Executor::run_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part,
                                      bool together) const {
  take_tiles(begin, end, tile, stop, part, together, detail::NoTileTimes{});
}
#if defined(TENON_OBSERVE)
[[gnu::noinline]] TENON_INLINE void Executor::run_timed(std::size_t begin, std::size_t end, const TileShares& shares,
                                                        const detail::GraphObserver& observer) {
  detail::TileTimes times(observer.clock(), shares, end - begin);
  take_shares(begin, end, shares, &times);
  times.finish();
  for (std::size_t i = begin; i < end; ++i)
    if (const Resolved& r = resolved_[i]; r.runs)
      observer.ran(program_->node[r.instruction->node], times.of(i - begin, n_));
}
#endif
[[gnu::noinline]] TENON_INLINE Arguments Executor::arguments_of(const Resolved& r, long tile, int part) const {
  Arguments own = r.arguments;
  own.n = std::min<long>(block_samples, n_ - tile * block_samples);
  own.workspace += thread_bytes_ * part;
  for (int k = 0; k < r.instruction->buffers; ++k)
    own.buffer[k] = static_cast<std::byte*>(own.buffer[k]) + r.step[k] * tile + r.own[k] * part;
  return own;
}

}  // namespace tenon
#endif
