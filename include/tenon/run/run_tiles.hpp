// The groups of a compiled graph, for one tile of samples after the other: threads share the tiles, and whoever wants
// to know when instructions run is told so afterwards.
#pragma once
#include <tenon/core/math/min_max.hpp>
#include <tenon/run/executor.hpp>

namespace tenon::inline TENON_ABI {

template <class Policy>
void Executor::run_tiles_of(std::size_t begin, std::size_t end, const Policy& policy) {
  const TileShares shares = share(begin, end);
  if constexpr (is_unseen<Policy>) {
    run_shares(begin, end, shares);
  } else {
    if constexpr (requires { policy.clock(); })
      if (policy.clock()) return run_timed(begin, end, shares, policy);
    for (long tile = 0; tile < shares.tiles; ++tile)
      for (std::size_t i = begin; i < end; ++i)
        if (const Resolved& r = resolved_[i]; r.runs) {
          const Arguments own = arguments_of(r, tile, 0);
          policy.before(program_->node[r.instruction->node], own);
          run_tiles(i, i + 1, tile, tile + 1, 0, true);
          policy.after(program_->node[r.instruction->node], own);
        }
  }
}

#if TENON_DEFINES

[[gnu::noinline]] TENON_INLINE void Executor::resolve_in_group(std::size_t i, long n) {
  Resolved& r = resolved_[i];
  const Instruction& instruction = *r.instruction;
  const auto in_group = [&](std::size_t other) {
    return other < resolved_.size() && program_->instruction[other].group == instruction.group;
  };
  if (!in_group(i + 1)) sums_of_group_ = 0;
  r.group_end = 0;
  if (!i || !in_group(i - 1))
    for (r.group_end = i; in_group(r.group_end);) ++r.group_end;
  r.last = n > block_samples && n % block_samples ? run_of(instruction, n % block_samples) : r.whole;
  if constexpr (blocks_have_halves) {
    const long rest = n % block_samples, first = TileShares::first_half(rest);
    r.half[0] = run_of(*instruction.kernel, instruction.nchw16n, block_samples / 2);
    r.half[1] = run_of(instruction, first), r.half[2] = run_of(instruction, rest - first);
  }
  for (int k = 0; k < instruction.buffers; ++k) {
    const TensorType& type = program_->type_of(instruction, k);
    const bool own = program_->place_of(instruction, k).region == Region::tile;
    r.step[k] = type.batched() && !own ? type.bytes(block_samples) : 0;
    r.own[k] = own ? thread_bytes_ : 0;
  }
  if (!instruction.sums) return;
  r.sum_bytes = program_->sum_bytes(instruction);
  r.sum_part = program_->workspace_of(instruction, n);
  r.partial = sums_of_group_;
  sums_of_group_ += r.sum_bytes;
  sums_.bytes = math::max(sums_.bytes, sums_of_group_);
}
[[gnu::noinline]] TENON_INLINE TileShares Executor::share(std::size_t begin, std::size_t end) {
  long cost = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Resolved& r = resolved_[i];
    r.runs = ready(r);
    if (r.runs) cost += r.whole.items * r.whole.cost;
  }
  return cost * shares_.tiles >= 2 * cost_per_thread ? shares_ : TileShares{shares_.tiles, shares_.tiles};
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
          all.executor.take_part(all.begin, all.end, all.shares, part, all.times);
        },
        &job);
    for (std::size_t i = begin; i < end; ++i)
      if (const Resolved& r = resolved_[i]; r.runs && r.sum_bytes) add_sums(r, shares);
    times->join();
  } else {
    take_tiles(begin, end, 0, shares.shared, 0, false, times);
  }
  take_tiles(begin, end, shares.shared + shares.halved, shares.tiles, 0, true, times);
}
template <class Times>
[[gnu::always_inline]] inline void Executor::take_part(std::size_t begin, std::size_t end, const TileShares& shares,
                                                       int part, Times times) const {
  take_tiles(begin, end, shares.begin(part), shares.begin(part + 1), part, false, times);
  if constexpr (blocks_have_halves)
    for (long half = 0; half < 2 * shares.halved; ++half)
      if (shares.part_of(half) == part) take_half(begin, end, shares, half, part, times);
}
template <class Times>
[[gnu::noinline]] void Executor::take_half(std::size_t begin, std::size_t end, const TileShares& shares, long half,
                                           int part, Times times) const {
  const long tile = shares.shared + half / 2, samples = math::min<long>(block_samples, n_ - tile * block_samples),
             first = TileShares::first_half(samples), place = shares.shared - shares.begin(1) + half;
  const bool second = half % 2;
  if (second && first == samples) return;
  for (std::size_t i = begin; i < end; ++i) {
    const Resolved& r = resolved_[i];
    if (!r.runs) continue;
    Arguments own = arguments_of(r, tile, part);
    own.n = second ? samples - first : first;
    for (int k = 0; second && k < r.instruction->buffers; ++k)
      own.buffer[k] = static_cast<std::byte*>(own.buffer[k]) + r.step[k] / block_samples * first;
    if (r.sum_bytes && (tile || second)) own.buffer[Arguments::result_at] = sums_.part(r.partial, place);
    const KernelRun& all = r.half[samples == block_samples ? 0 : 1 + second];
    const auto moment = times->now();
    detail::start_kernel(all, own);
    if (!second) times->ran(tile, i - begin, moment);
  }
}
[[gnu::noinline]] TENON_INLINE void Executor::add(const Resolved& r, const void* from, long tile) const {
  const Node& node = program_->node[r.instruction->node];
  sums_.add(r.arguments.buffer[Arguments::result_at], from, node.type.count(1), node.op->kernel.tile_chains, r.partial,
            tile, (tile + 1) * block_samples >= n_);
}
[[gnu::noinline]] TENON_INLINE void Executor::add_sums(const Resolved& r, const TileShares& shares) const {
  long place = 0, tile = shares.begin(1);
  for (; tile < shares.shared; ++tile) add(r, sums_.part(r.partial, place++), tile);
  if constexpr (blocks_have_halves)
    for (; tile < shares.shared + shares.halved; ++tile, place += 2) {
      void* const sum = tile ? sums_.part(r.partial, place) : r.arguments.buffer[Arguments::result_at];
      if (n_ - tile * block_samples > 1)
        TileSums::join(sums_.part(r.partial, place + 1), sum, program_->node[r.instruction->node].type.count(1));
      if (tile) add(r, sum, tile);
    }
}
template <class Times>
[[gnu::noinline]] void Executor::take_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part,
                                            bool together, Times times) const {
  for (const long first = shares_.begin(1); tile < stop; ++tile)
    for (std::size_t i = begin; i < end; ++i) {
      const Resolved& r = resolved_[i];
      if (!r.runs) continue;
      Arguments own = arguments_of(r, tile, part);
      if (r.sum_bytes && tile)
        own.buffer[Arguments::result_at] = part ? sums_.part(r.partial, tile - first) : own.workspace + r.sum_part;
      const KernelRun& all = (tile + 1) * block_samples < n_ ? r.whole : r.last;
      const auto moment = times->now();
      if (together) run_items(all, own);
      else detail::start_kernel(all, own);
      if (r.sum_bytes && tile && !part) add(r, own.buffer[Arguments::result_at], tile);
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
  own.n = math::min<long>(block_samples, n_ - tile * block_samples);
  own.workspace += thread_bytes_ * part;
  for (int k = 0; k < r.instruction->buffers; ++k)
    own.buffer[k] = static_cast<std::byte*>(own.buffer[k]) + r.step[k] * tile + r.own[k] * part;
  return own;
}

#endif  // TENON_DEFINES

}  // namespace tenon
