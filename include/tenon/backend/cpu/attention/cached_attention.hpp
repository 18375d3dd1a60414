// Attention to a cache of keys and values, a query at a time, in the order of attention of whole sequences.
#pragma once
#include <tenon/backend/cpu/attention/row.hpp>
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct UpdateCache;
struct CachedAttention;
}  // namespace ops

TENON_EXACT_BEGIN
namespace kernel {

/// Sizes of a call of CachedAttention, for all targets.
template <class Call>
struct CacheLayout {
  static constexpr TensorType q = Call::operand(0), cached = Call::operand(2);
  static constexpr int heads = Call::config().heads;
  static constexpr long batch = q[0], tokens = q[1], pitch = q[2], features = cached[2], length = cached[1],
                        width = features / heads;
  template <class A>
  TENON_DEVICE static A scale() {
    constexpr A given = A(Call::config().scale), size = A(width);
    return given != 0 ? given : A(1) / math::sqrt(size);
  }
};
/// Sizes of a call of UpdateCache.
template <class Call>
struct CacheRows {
  static constexpr TensorType cache = Call::operand(0), x = Call::operand(1);
  static constexpr bool transposed = Call::config().transposed != 0;
  static constexpr long batch = x[0], tokens = x[1], pitch = x[2], features = cache[transposed ? 1 : 2],
                        length = cache[transposed ? 2 : 1], first = Call::config().part * features;
  /// Where feature f of the token at a position is.
  TENON_DEVICE static constexpr long place(long sample, long position, long f) {
    return transposed ? (sample * features + f) * length + position : (sample * length + position) * features + f;
  }
};

namespace detail {
/// sum[v] = the sum over i of factor(i) * row(i)[v], for vectors side by side: segments of chains, in order.
template <int vectors, int width, class A, class Factor, class Row>
[[gnu::always_inline]] inline void sum_rows(long count, A* to, Factor factor, Row row) {
  using V = Simd<A, width>;
  V total[vectors];
  for (long first = 0; first < count || first == 0; first += segment_units<A>) {
    const long last = count < first + segment_units<A> ? count : first + segment_units<A>;
    V chain[vectors];
    for (V& c : chain) c = V(A(0));
    for (long i = first; i < last; ++i) {
      const V own(factor(i));
      const auto* const from = row(i);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) chain[v] = fmadd(own, load_lanes<width, A>(from + v * width), chain[v]);
    }
    for (int v = 0; v < vectors; ++v) total[v] = first == 0 ? chain[v] : total[v] + chain[v];
  }
  for (int v = 0; v < vectors; ++v) total[v].store(to + v * width);
}
/// The same for `columns` columns, of which the last ones are added up one by one.
template <class A, class T, class Factor>
[[gnu::always_inline]] inline void sum_all_rows(long count, long columns, const T* from, long pitch, A* to,
                                                Factor factor) {
  constexpr int width = simd_width<A>;
  long j = 0;
  const auto row = [&](long i) { return from + i * pitch + j; };
  for (; j + 4 * width <= columns; j += 4 * width) sum_rows<4, width>(count, to + j, factor, row);
  for (; j + width <= columns; j += width) sum_rows<1, width>(count, to + j, factor, row);
  if constexpr (width > 8)
    if (j + 8 <= columns) sum_rows<1, 8>(count, to + j, factor, row), j += 8;
  if constexpr (width > 4)
    if (j + 4 <= columns) sum_rows<1, 4>(count, to + j, factor, row), j += 4;
  for (; j < columns; ++j) {
    A total = 0;
    for (long first = 0; first < count || first == 0; first += segment_units<A>) {
      const long last = count < first + segment_units<A> ? count : first + segment_units<A>;
      A chain = 0;
      for (long i = first; i < last; ++i) chain = fmadd(factor(i), static_cast<A>(*row(i)), chain);
      total = first == 0 ? chain : total + chain;
    }
    to[j] = total;
  }
}

/// One query of one head: keys are [width, pitch_of_keys], values rows of pitch_of_values. `weights` has room for
/// `seen` numbers rounded up to whole lanes, `sums` for `width`.
template <class T, class A>
struct CachedQuery {
  const T *keys, *values;
  long pitch_of_keys, pitch_of_values, width;
  A *weights, *sums;

  [[gnu::noinline]] void attend(const T* q, long seen, A scale, T* to) const {
    const long padded = (seen + reduce_lanes - 1) / reduce_lanes * reduce_lanes;
    sum_all_rows(width, seen, keys, pitch_of_keys, weights, [=](long f) { return static_cast<A>(q[f]); });
    for (long i = seen; i < padded; ++i) weights[i] = 0;
    attention_weights(weights, seen, padded, scale);
    sum_all_rows(seen, width, values, pitch_of_values, sums, [this](long i) { return weights[i]; });
    for (long f = 0; f < width; ++f) to[f] = static_cast<T>(sums[f]);
  }
};
}  // namespace detail
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::UpdateCache> {
  template <class Call>
  static constexpr long items(long) {
    return Call::operand(1)[0];
  }
  template <class Call>
  static constexpr long cost(long) {
    return kernel::CacheRows<Call>::tokens * kernel::CacheRows<Call>::features;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Rows = kernel::CacheRows<Call>;
    using T = typename Call::Result;
    for (long sample = begin; sample < end; ++sample) {
      const long at = long(a.operand<typename Call::template Operand<2>>(2)[sample]);
      for (long t = 0; t < Rows::tokens; ++t) {
        const T* const from = a.operand<T>(1) + (sample * Rows::tokens + t) * Rows::pitch + Rows::first;
        for (long f = 0; f < Rows::features; ++f) a.changed<T>(0)[Rows::place(sample, at + t, f)] = from[f];
      }
    }
  }
};

template <>
struct Kernel<Cpu, ops::CachedAttention> {
  // An item is a head of a sequence.
  template <class Call>
  static constexpr long items(long) {
    return kernel::CacheLayout<Call>::batch * kernel::CacheLayout<Call>::heads;
  }
  template <class Call>
  static constexpr long cost(long) {
    using Layout = kernel::CacheLayout<Call>;
    return Layout::tokens * Layout::length * (Layout::width / 8 + 4) / 2;
  }
  template <class Call>
  static constexpr long workspace(long) {
    using Layout = kernel::CacheLayout<Call>;
    return (Layout::length + Layout::width + kernel::reduce_lanes) * long(sizeof(Compute<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Layout = kernel::CacheLayout<Call>;
    using T = typename Call::Result;
    using A = Compute<T>;
    A* const scratch = reinterpret_cast<A*>(a.workspace);
    for (long item = begin; item < end; ++item) {
      const long sample = item / Layout::heads, first = item % Layout::heads * Layout::width;
      const kernel::detail::CachedQuery<T, A> query{
          a.operand<T>(1) + (sample * Layout::features + first) * Layout::length,
          a.operand<T>(2) + sample * Layout::length * Layout::features + first,
          Layout::length,
          Layout::features,
          Layout::width,
          scratch,
          scratch + Layout::length + kernel::reduce_lanes};
      const long at = long(a.operand<typename Call::template Operand<3>>(3)[sample]);
      for (long t = 0; t < Layout::tokens; ++t) {
        const long row = sample * Layout::tokens + t;
        query.attend(a.operand<T>(0) + row * Layout::pitch + first, at + t + 1, Layout::template scale<A>(),
                     a.result<T>() + row * Layout::features + first);
      }
    }
  }
};
TENON_EXACT_END

}  // namespace tenon
