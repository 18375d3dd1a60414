// Adaptive maximum pooling with windows of several sizes: first the maxima of the columns of each row of windows, then
// those of as many neighbours as the windows have columns, by doubling. A maximum may count an element twice.
#pragma once
#include <cstdint>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/pool/window.hpp>
#include <tenon/core/simd/simd_half.hpp>
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/ir/window_attributes.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AdaptiveMaxPool;
struct AdaptiveMaxPoolGrad;
}  // namespace ops

namespace kernel {
namespace detail {
/// What the maxima of T are compared as.
template <class T>
using AdaptiveValue = std::conditional_t<(std::is_integral_v<T> && sizeof(T) < 4), std::int32_t, Compute<T>>;

/// Of numbers or of vectors: another element takes the place of the largest one if it is larger, or equal and before
/// it. NaN is the largest, the last one of several. Both may be the same.
template <class V, class P>
[[gnu::always_inline]] inline void meet(V& value, P& place, V other, P at) {
  const auto takes =
      (other > value) | ((other == value) & (at < place)) | ((other != other) & ((value == value) | (at > place)));
  value = takes ? other : value, place = takes ? at : place;
}

template <int B, class A, class T>
[[gnu::always_inline]] inline Simd<A, B> load_values(const T* from) {
  if constexpr (is_half<T>) return load_float<B>(from);
  else if constexpr (std::is_same_v<A, T>) return Simd<A, B>::load(from);
  else {
    Simd<A, B> values;
    for (int l = 0; l < B; ++l) values.lanes[l] = static_cast<A>(from[l]);
    return values;
  }
}

/// The maxima of rows top .. bottom - 1 of a plane of `w` columns, and their places in it. The last block of columns
/// ends at the last one, so that it repeats some.
template <int B, class T, class A, class I>
[[gnu::noinline]] void column_maxima(const T* plane, long w, long top, long bottom, A* values, I* places) {
  if constexpr (B > 2)
    if (w < B) return column_maxima<B / 2>(plane, w, top, bottom, values, places);
  if (w < B) {
    values[0] = static_cast<A>(plane[top]), places[0] = I(top);
    for (long row = top + 1; row < bottom; ++row)
      if (const A other = static_cast<A>(plane[row]); takes_over(other, values[0]))
        values[0] = other, places[0] = I(row);
    return;
  }
  Simd<I, B> step;
  for (int l = 0; l < B; ++l) step.lanes[l] = I(l);
  for (long column = 0; column < w; column += B) {
    if (column > w - B) column = w - B;
    const T* from = plane + top * w + column;
    Simd<A, B> best = load_values<B, A>(from);
    Simd<I, B> at = step + Simd<I, B>(I(top * w + column)), place = at;
    for (long row = top + 1; row < bottom; ++row) {
      from += w;
      at = at + Simd<I, B>(I(w));
      const Simd<A, B> other = load_values<B, A>(from);
      const auto takes = takes_over(other, best);
      best.lanes = takes ? other.lanes : best.lanes, place.lanes = takes ? at.lanes : place.lanes;
    }
    best.store(values + column), place.store(places + column);
  }
}
/// Each of `count` maxima meets the one `distance` after it; what follows them is read as well.
template <class A, class I>
[[gnu::noinline]] void meet_neighbours(long count, long distance, A* values, I* places) {
  constexpr int width = simd_width<A>;
  for (long i = 0; i < count; i += width) {
    auto best = Simd<A>::load(values + i);
    auto place = Simd<I, width>::load(places + i);
    meet(best.lanes, place.lanes, Simd<A>::load(values + i + distance).lanes,
         Simd<I, width>::load(places + i + distance).lanes);
    best.store(values + i), place.store(places + i);
  }
}
}  // namespace detail

/// Maxima of columns for rows of windows, as many as fit into the first-level cache, and where windows begin and end.
template <class T>
struct AdaptiveScratch {
  using A = detail::AdaptiveValue<T>;
  using I = detail::PoolPlace<A>;
  static constexpr long block = 1024;

  static constexpr long rows(const ops::AdaptivePoolAttributes& c) {
    return c.w * 2 > block ? 1 : c.oh * long(c.w) < block ? c.oh : block / c.w;
  }
  // a vector after the last column and after its last neighbour
  static constexpr long cells(const ops::AdaptivePoolAttributes& c) {
    return rows(c) * c.w + c.columns().size() + 2 * simd_width<A>;
  }
  static constexpr long bytes(const ops::AdaptivePoolAttributes& c) {
    return cells(c) * long(sizeof(A) + sizeof(I)) + 2 * (c.oh + long(c.ow)) * long(sizeof(std::int32_t));
  }

  A* values;
  I* places;
  std::int32_t *top, *bottom, *left, *right;
  AdaptiveScratch(const ops::AdaptivePoolAttributes& c, void* workspace)
      : values(static_cast<A*>(workspace)), places(reinterpret_cast<I*>(values + cells(c))) {
    top = reinterpret_cast<std::int32_t*>(places + cells(c)), bottom = top + c.oh, left = bottom + c.oh;
    right = left + c.ow;
    for (long i = 0; i < cells(c); ++i) values[i] = A(0), places[i] = I(0);
    for (int i = 0; i < c.oh; ++i) top[i] = int(c.rows().begin(i)), bottom[i] = int(c.rows().end(i));
    for (int j = 0; j < c.ow; ++j) left[j] = int(c.columns().begin(j)), right[j] = int(c.columns().end(j));
  }
};

/// `places` may be null.
template <class T>
[[gnu::noinline]] void adaptive_maxima(const ops::AdaptivePoolAttributes& c, const T* x, T* y, std::int32_t* places,
                                       long begin, long end, void* workspace) {
  using Scratch = AdaptiveScratch<T>;
  using A = typename Scratch::A;
  using I = typename Scratch::I;
  const Scratch s(c, workspace);
  const long rows = Scratch::rows(c), size = c.columns().size();
  for (long plane = begin; plane < end; ++plane)
    for (long first = 0; first < c.oh; first += rows) {
      const long count = c.oh - first < rows ? c.oh - first : rows;
      for (long i = 0; i < count; ++i)
        detail::column_maxima<simd_width<A>>(x + plane * c.h * c.w, c.w, s.top[first + i], s.bottom[first + i],
                                             s.values + i * c.w, s.places + i * c.w);
      long together = 1;
      for (; 2 * together <= size; together *= 2) detail::meet_neighbours(count * c.w, together, s.values, s.places);
      if (together < size) detail::meet_neighbours(count * c.w, size - together, s.values, s.places);
      for (long i = 0, k = (plane * c.oh + first) * c.ow; i < count; ++i)
        for (long j = 0; j < c.ow; ++j, ++k) {
          A best = s.values[i * c.w + s.left[j]];
          I place = s.places[i * c.w + s.left[j]];
          detail::meet(best, place, s.values[i * c.w + s.right[j] - size], s.places[i * c.w + s.right[j] - size]);
          y[k] = static_cast<T>(best);
          if (places) places[k] = static_cast<std::int32_t>(place);
        }
    }
}

/// What the gradients of a pixel add up in.
template <class Call>
using AdaptiveSum =
    std::conditional_t<is_floating(Call::result.dtype) && Call::config().has_long_sums(), double,
                       std::conditional_t<is_half<typename Call::Result>, float, typename Call::Result>>;
template <class T, class A>
[[gnu::noinline]] void adaptive_gradient(const ops::AdaptivePoolAttributes& c, const std::int32_t* places, const T* dy,
                                         T* dx, long begin, long end, A* sums) {
  const long windows = long(c.oh) * c.ow, pixels = long(c.h) * c.w;
  for (long plane = begin; plane < end; ++plane) {
    if constexpr (std::is_same_v<T, A>) sums = dx + plane * pixels;
    store_unrolled(sums, pixels, [](long) { return A(0); });
    for (long k = plane * windows; k < (plane + 1) * windows; ++k)
      sums[places[k]] = static_cast<A>(sums[places[k]] + static_cast<A>(static_cast<Compute<T>>(dy[k])));
    if constexpr (!std::is_same_v<T, A>)
      store_unrolled(dx + plane * pixels, pixels, [&](long i) { return static_cast<T>(sums[i]); });
  }
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::AdaptiveMaxPool> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::operand(0).span(2, 4);
  }
  template <class Call>
  static constexpr long workspace(long) {
    return kernel::AdaptiveScratch<typename Call::Result>::bytes(Call::config());
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    std::int32_t* places = nullptr;
    if constexpr (has_result<Call, 1>) places = result_of<Call, 1>(a);
    kernel::adaptive_maxima(Call::config(), a.operand<T>(0), a.result<T>(), places, begin, end, a.workspace);
  }
};

/// Operands places, dy.
template <>
struct Kernel<Cpu, ops::AdaptiveMaxPoolGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n) * Call::result[1];
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result.span(2, 4) / 4 + Call::operand(1).span(2, 4);
  }
  template <class Call>
  static constexpr long workspace(long) {
    using A = kernel::AdaptiveSum<Call>;
    return std::is_same_v<A, typename Call::Result> ? 0 : Call::result.span(2, 4) * long(sizeof(A));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    kernel::adaptive_gradient(Call::config(), a.operand<std::int32_t>(0), a.operand<T>(1), a.result<T>(), begin, end,
                              reinterpret_cast<kernel::AdaptiveSum<Call>*>(a.workspace));
  }
};

}  // namespace tenon
TENON_EXACT_END
