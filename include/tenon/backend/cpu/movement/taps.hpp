// Elements that are made of few others along an axis: which ones, their weights, and the loops over rows and over
// elements.
#pragma once
#include <cstring>
#include <utility>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// The type in which resampled elements are added up.
template <class T>
using ResampleSum = std::conditional_t<is_floating(dtype_of<T>), Accumulator<T>, T>;

/// a b + c; of integers, whose weights are 1, their sum.
template <class A>
TENON_DEVICE constexpr A add_weighted(A weight, A value, A sum) {
  if constexpr (std::is_floating_point_v<A>) return fmadd(weight, value, sum);
  else return math::wrapping_add(sum, value);
}

/// A list for each element of the result: the elements that it is made of, in the order in which they are added, and
/// their weights.
template <class A>
struct TapLists {
  long lists;
  std::int32_t *start, *from;  // list j: from[start[j]] .. from[start[j + 1] - 1]
  A* weight;

  static constexpr long bytes(long lists, long entries) {
    return aligned((lists + 1) * long(sizeof(std::int32_t))) + aligned(entries * long(sizeof(std::int32_t))) +
           aligned(entries * long(sizeof(A)));
  }
  TapLists(std::byte* room, long lists, long entries)
      : lists(lists),
        start(reinterpret_cast<std::int32_t*>(room)),
        from(reinterpret_cast<std::int32_t*>(room + aligned((lists + 1) * long(sizeof(std::int32_t))))),
        weight(
            reinterpret_cast<A*>(reinterpret_cast<std::byte*>(from) + aligned(entries * long(sizeof(std::int32_t))))) {}

  long count(long j) const { return start[j + 1] - start[j]; }
  /// The one element of a list that has no more.
  long place(long j) const { return from[start[j]]; }
};
/// The elements of x that each element of the result is made of.
template <class A, class Config>
[[gnu::noinline]] TapLists<A> taps_of(std::byte* room, const Config& c, long in, long out) {
  const TapLists<A> list(room, out, out * c.most_taps(in, out));
  std::int32_t used = 0;
  for (long j = 0; j < out; ++j) {
    const auto own = c.taps(in, out, j);
    list.start[j] = used;
    for (long k = 0; k < own.count; ++k, ++used) {
      list.from[used] = std::int32_t(c.inside(own.first + k, in));
      list.weight[used] = c.weighted() ? c.template weight<A>(in, out, j, own, k) : A(1);
    }
  }
  list.start[out] = used;
  return list;
}
/// The transposed map: for each of `in` elements of x those that are made of it, in ascending order.
template <class A>
[[gnu::noinline]] TapLists<A> transposed_taps(std::byte* room, const TapLists<A>& of, long in) {
  const std::int32_t entries = of.start[of.lists];
  const TapLists<A> list(room, in, entries);
  for (long i = 0; i <= in; ++i) list.start[i] = 0;
  for (std::int32_t e = 0; e < entries; ++e) ++list.start[of.from[e]];
  for (long i = 0, used = 0; i <= in; ++i) used += std::exchange(list.start[i], std::int32_t(used));
  for (std::int32_t j = 0; j < of.lists; ++j)
    for (std::int32_t e = of.start[j]; e < of.start[j + 1]; ++e) {
      const std::int32_t at = list.start[of.from[e]]++;
      list.from[at] = j, list.weight[at] = of.weight[e];
    }
  for (long i = in; i > 0; --i) list.start[i] = list.start[i - 1];
  list.start[0] = 0;
  return list;
}

/// Copies a row; short ones without a call.
template <class T>
inline void copy_run(const T* from, T* to, long count) {
  constexpr long block = 32 / sizeof(T);
  const auto copy = [=](long i) { std::memcpy(static_cast<void*>(to + i), from + i, block * sizeof(T)); };
  if (count > 8 * block) std::memcpy(static_cast<void*>(to), from, std::size_t(count) * sizeof(T));
  else if (count < block)
    for (long i = 0; i < count; ++i) to[i] = from[i];
  else {
    for (long i = 0; i < count - block; i += block) copy(i);
    copy(count - block);
  }
}

namespace detail {
/// y[i] = the sum of the `count` rows, in vectors of Width elements, whose places and weights begin there; their first
/// elements are x[i]. i = 0 .. inner - 1.
template <int Width, class A, class Count>
[[gnu::always_inline]] inline void add_row_taps(const A* x, long inner, const std::int32_t* from, const A* weight,
                                                Count count, A* y) {
  const auto add = [&](long i) __attribute__((always_inline)) {
    Simd<A, Width> sum(A(0));
    for (std::int32_t e = 0; e < count; ++e)
      sum = fmadd(Simd<A, Width>(weight[e]), Simd<A, Width>::load(x + from[e] * inner + i), sum);
    sum.store(y + i);
  };
  for (long i = 0; i < inner - Width; i += Width) add(i);
  add(inner - Width);
}
/// The rows of a list, most often two.
template <int Width, class A>
inline void add_tap_rows(const A* x, long inner, const TapLists<A>& list, long j, A* y) {
  const std::int32_t first = list.start[j], count = list.start[j + 1] - first;
  if (count == 2)
    add_row_taps<Width>(x, inner, list.from + first, list.weight + first, std::integral_constant<int, 2>(), y);
  else add_row_taps<Width>(x, inner, list.from + first, list.weight + first, count, y);
}
}  // namespace detail

/// Rows begin .. end - 1 of the result, of `inner` elements each, as sums.
template <class A, class T>
[[gnu::noinline]] void resample_rows(const TapLists<A>& list, const T* x, T* y, long in, long inner, long begin,
                                     long end) {
  constexpr int width = simd_width<A>;
  for (long row = begin; row < end; ++row) {
    const long j = row % list.lists;
    const T* const from = x + row / list.lists * in * inner;
    T* const to = y + row * inner;
    if constexpr (std::is_same_v<A, T> && std::is_floating_point_v<T>) {
      if (inner >= width) detail::add_tap_rows<width>(from, inner, list, j, to);
      else if (inner >= 4) detail::add_tap_rows<4>(from, inner, list, j, to);
      if (inner >= 4) continue;
    }
    for (long i = 0; i < inner; ++i) {
      A sum(0);
      for (std::int32_t e = list.start[j]; e < list.start[j + 1]; ++e)
        sum = add_weighted(list.weight[e], static_cast<A>(from[list.from[e] * inner + i]), sum);
      to[i] = static_cast<T>(sum);
    }
  }
}
/// The same without weights: copies of rows; several where they are neighbours in x, too.
template <class A, class T>
[[gnu::noinline]] void copy_rows(const TapLists<A>& list, const T* x, T* y, long in, long inner, long begin, long end) {
  for (long row = begin; row < end;) {
    const long outer = row / list.lists, first = row - outer * list.lists, place = list.place(first),
               rows = end - row < list.lists - first ? end - row : list.lists - first;
    long count = 1;
    while (count < rows && list.place(first + count) == place + count) ++count;
    copy_run(x + (outer * in + place) * inner, y + row * inner, count * inner);
    row += count;
  }
}

/// Element j of a line of the result, by its list.
template <bool weighted, class A, class T>
inline T resampled(const TapLists<A>& list, const T* x, long j) {
  if constexpr (!weighted) return x[list.place(j)];
  else {
    A sum(0);
    for (std::int32_t e = list.start[j]; e < list.start[j + 1]; ++e)
      sum = add_weighted(list.weight[e], static_cast<A>(x[list.from[e]]), sum);
    return static_cast<T>(sum);
  }
}
/// Lines begin .. end - 1 of the result, whose elements are neighbours.
template <bool weighted, class A, class T>
[[gnu::noinline]] void resample_elements(const TapLists<A>& list, const T* x, T* y, long in, long begin, long end) {
  for (long o = begin; o < end; ++o)
    for (long j = 0; j < list.lists; ++j) y[o * list.lists + j] = resampled<weighted>(list, x + o * in, j);
}

}  // namespace tenon::kernel
TENON_EXACT_END
