// batch(n), batch<N>(): joins samples along a new leading axis.
#pragma once
#include <limits>

#include <tenon/core/math/min_max.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_batch(long batch_size, long samples) {
  if (samples == 0)
    throw_error<ValueError>("A batch of ", batch_size, " of 0 samples: the stages before batch leave none.");
  throw_error<ValueError>("A batch of ", batch_size, " of ", samples,
                          " samples: there is no full batch, and short ones are dropped. Use a batch size of 1 .. ",
                          samples, ", or batch(n), which keeps a short one.");
}
/// Reads samples into a batch until it has `most`, or there are no more; returns how many.
template <class D>
long read_samples(const D& data, Place first, long most, void* const* out, Scratch& scratch) {
  using samples = typename D::columns;
  constexpr long rows_ahead = 2;  // about the latency of memory
  if constexpr (D::counted) most = math::min(most, data.size() - first.position);
  void* sample[samples::count];
  long n = 0;
  for (; n < most; ++n) {
    for (int c = 0; c < samples::count; ++c)
      sample[c] = static_cast<std::byte*>(out[c]) + n * samples::types[c].bytes(1);
    const Scratch::Frame frame(scratch);
    if constexpr (Foresighted<D>) data.expect({first.epoch, first.position + n + rows_ahead});
    if (data.read({first.epoch, first.position + n}, sample, scratch) == 0) break;
  }
  return n;
}
}  // namespace detail

/// Extent is dyn where the last batch may be short, else the length of every batch.
template <class D, int Extent>
struct Batched : Behind<Batched<D, Extent>, D> {
  using columns = WithBatch<typename D::columns, Extent>;
  static constexpr bool batched = true, moves_samples = true;
  long batch_size;
  bool drop_remainder;

  Batched(const D& samples, long together, bool drop)
      : Behind<Batched<D, Extent>, D>(samples), batch_size(together), drop_remainder(drop) {
    if (D::counted && size() == 0) detail::refuse_batch(batch_size, samples.size());
  }

  long size() const { return batches(this->data.size()); }
  long count(std::uint64_t epoch) const requires(!D::counted)
  {
    return batches(this->data.count(epoch));
  }
  long max_rows() const { return D::counted ? math::min(batch_size, this->data.size()) : batch_size; }
  void describe(auto& d) const { d.add(batch_size, drop_remainder); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    if (place.position >= std::numeric_limits<long>::max() / batch_size) return 0;  // no row can be there
    const Place first{place.epoch, place.position * batch_size};
    const long n = detail::read_samples(this->data, first, batch_size, out, scratch);
    return n < batch_size && drop_remainder ? 0 : n;
  }

 private:
  long batches(long samples) const {
    if (samples == detail::endless) return samples;
    const long full = samples / batch_size;
    return !drop_remainder && full * batch_size < samples ? full + 1 : full;
  }
};

template <int Extent>
struct BatchMaker {
  using makes_stage = void;
  long batch_size;
  bool drop_remainder;
  template <class D>
  auto applied_to(const D& data) const {
    constexpr bool single = !D::batched, equal_samples = !D::columns::any_ragged;
    static_assert(single, "this data set is batched already: a second batch has no meaning; remove one of the two");
    static_assert(equal_samples, "batch needs samples of one shape, and a column is Ragged: bring it to one before, as "
                                 "vision::Resize<224, 224> does, or pad it, batch(n, pad<0>(...))");
    if constexpr (single && equal_samples) return Batched<D, Extent>(data, batch_size, drop_remainder);
  }
};

struct BatchConfig {
  /// Drops the last batch if it is short; its samples are then not used in this epoch.
  bool drop_remainder = false;
};

/// Batches of n samples; a short batch at the end is kept. Shape<...> becomes Shape<dyn, ...>. Throws ValueError if
/// batch_size < 1, or if drop_remainder leaves no batch at all.
inline BatchMaker<dyn> batch(long batch_size, BatchConfig config = {}) {
  detail::check_at_least("batch", batch_size, 1, "the batch size");
  return {batch_size, config.drop_remainder};
}

/// Batches of exactly N samples; a short batch at the end is dropped. Shape<...> becomes Shape<N, ...>. Throws
/// ValueError if there are fewer than N samples.
template <int N>
constexpr BatchMaker<N> batch() {
  static_assert(N >= 1, "batch<N>: the batch size must be 1 or more");
  return {N, true};
}

namespace detail {
template <class... A>
struct WrongBatch {
  static constexpr Sentence sentence =
      Sentence{} << "batch takes the number of samples, and its option by name: dataset::batch(32), "
                    "dataset::batch(32, {.drop_remainder = true})";
};
template <class... A>
inline constexpr bool is_batch_call = false;
template <std::convertible_to<long> N>
inline constexpr bool is_batch_call<N> = true;
template <std::convertible_to<long> N, std::convertible_to<BatchConfig> Config>
inline constexpr bool is_batch_call<N, Config> = true;
}  // namespace detail
template <class... A>
requires(!detail::is_batch_call<A...>)
auto batch(const A&...) {
  using Wrong = Mistake<detail::WrongBatch<A...>>;
  return Wrong::corrected;
}
template <Dataset D>
auto operator|(const D&, BatchMaker<dyn> (*)(long, BatchConfig)) {
  using Wrong = Mistake<detail::StageNotCalled<D>>;
  return Wrong::corrected;
}

}  // namespace tenon::dataset
