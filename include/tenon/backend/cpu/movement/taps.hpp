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
  /// The one element of a list that has no more; -1: none.
  long place(long j) const { return count(j) ? from[start[j]] : -1; }
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
      list.weight[used] = c.weighted() ? c.template weight<A>(in, out, j, k) : A(1);
    }
  }
  list.start[out] = used;
  return list;
}
/// The transposed map: for each of `in` elements of x those that are made of it, in ascending order.
template <class A>
[[gnu::noinline]] TapLists<A> transposed(std::byte* room, const TapLists<A>& of, long in) {
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
inline void copy_row(const T* from, T* to, long count) {
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
/// y[i] = the sum of a list of rows, whose first elements are x[i]; i = 0 .. count - 1, in vectors of Width elements.
template <int Width, class A>
inline void add_rows(const A* x, long inner, const TapLists<A>& list, long j, A* y, long count) {
  const auto add = [&](long i) __attribute__((always_inline)) {
    Simd<A, Width> sum(A(0));
    for (std::int32_t e = list.start[j]; e < list.start[j + 1]; ++e)
      sum = fmadd(Simd<A, Width>(list.weight[e]), Simd<A, Width>::load(x + list.from[e] * inner + i), sum);
    sum.store(y + i);
  };
  for (long i = 0; i < count - Width; i += Width) add(i);
  add(count - Width);
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
      if (inner >= width) detail::add_rows<width>(from, inner, list, j, to, inner);
      else if (inner >= 4) detail::add_rows<4>(from, inner, list, j, to, inner);
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
    while (count < rows && list.place(first + count) == (place < 0 ? -1 : place + count)) ++count;
    T* const to = y + row * inner;
    if (place < 0) std::memset(static_cast<void*>(to), 0, std::size_t(count * inner) * sizeof(T));
    else copy_row(x + (outer * in + place) * inner, to, count * inner);
    row += count;
  }
}

/// Whether lanes can be picked out of vectors by numbers: those of float32.
#if defined(__AVX2__)
template <class T>
inline constexpr bool has_picks = std::is_same_v<T, float>;
#else
template <class T>
inline constexpr bool has_picks = false;
#endif

/// The lists of elements that are neighbours, for vectors of them: each is picked out of up to four vectors of x.
struct Picks {
  static constexpr int width = simd_width<float>;
  static constexpr long most = 8;  // elements of a list; with more, lists are walked one by one
  struct Block {
    std::int32_t base, vectors, count, partial;  // x from `base` on, of which this many vectors are read
  };
  Block* block;
  std::int32_t* index;  // [blocks, most, width]; -1: no more of this list
  float* weight;

  static constexpr long blocks(long lists) { return (lists + width - 1) / width; }
  static constexpr long bytes(long lists) {
    return aligned(blocks(lists) * long(sizeof(Block))) + 2 * blocks(lists) * most * width * 4;
  }
  Picks(std::byte* room, long lists)
      : block(reinterpret_cast<Block*>(room)),
        index(reinterpret_cast<std::int32_t*>(room + aligned(blocks(lists) * long(sizeof(Block))))),
        weight(reinterpret_cast<float*>(index + blocks(lists) * most * width)) {}

  /// False if some list is too long, or its elements too far from each other.
  [[gnu::noinline]] bool fill(const TapLists<float>& list, long in) {
    for (long b = 0; b < blocks(list.lists); ++b) {
      const long first = b * width, last = first + width < list.lists ? first + width : list.lists;
      std::int32_t low = 0x7fffffff, high = -1, count = 0, least = most;
      for (long j = first; j < last; ++j) {
        const std::int32_t own = std::int32_t(list.count(j));
        if (own > most) return false;
        count = own > count ? own : count, least = own < least ? own : least;
      }
      for (std::int32_t e = list.start[first]; e < list.start[last]; ++e) {
        low = list.from[e] < low ? list.from[e] : low;
        high = list.from[e] > high ? list.from[e] : high;
      }
      if (high < 0) low = high = 0;
      if (high - low >= 4 * width) return false;
      const std::int32_t vectors = high - low < width ? 1 : high - low < 2 * width ? 2 : 4, reach = vectors * width;
      if (low > in - reach) low = std::int32_t(in > reach ? in - reach : 0);
      block[b] = {low, vectors, count, least < count};
      for (long k = 0; k < count; ++k)
        for (long l = 0; l < width; ++l) {
          const long at = (b * most + k) * width + l, j = first + l;
          const bool is = j < last && k < list.count(j);
          index[at] = is ? list.from[list.start[j] + k] - low : j < last ? -1 : 0;
          weight[at] = is ? list.weight[list.start[j] + k] : 0;
        }
    }
    return true;
  }
};

namespace detail {
using Lanes = Simd<float, Picks::width>;
using Indices = Simd<std::int32_t, Picks::width>;

/// Lane l is lane index[l] of the vectors, one after the other; of an index only these bits count.
template <int vectors>
[[gnu::always_inline]] inline Lanes picked(const Lanes* x, Indices index) {
  Lanes result;
  if constexpr (vectors == 1) {
#if defined(__AVX2__)
    asm("vpermps {%1, %2, %0|%0, %2, %1}" : "=v"(result.lanes) : "v"(x[0].lanes), "v"(index.lanes));
#else
    for (int l = 0; l < Picks::width; ++l) result.lanes[l] = x[0][index[l] & (Picks::width - 1)];
#endif
#if defined(__AVX512F__)
  } else if constexpr (vectors == 2) {
    result = x[0];
    asm("vpermt2ps {%2, %1, %0|%0, %1, %2}" : "+v"(result.lanes) : "v"(index.lanes), "v"(x[1].lanes));
#endif
  } else {
    const Lanes low = picked<vectors / 2>(x, index), high = picked<vectors / 2>(x + vectors / 2, index);
    result.lanes = (index.lanes & (vectors / 2 * Picks::width)) != 0 ? high.lanes : low.lanes;
  }
  return result;
}
/// Lines begin .. end - 1 of a block: of each the sum, or the one element, of its lists.
template <bool weighted, int vectors, class Store>
[[gnu::always_inline]] inline void lines_of_block(const Picks& picks, long b, const float* x, long in, long begin,
                                                  long end, Store store) {
  const Picks::Block own = picks.block[b];
  const std::int32_t* const index = picks.index + b * Picks::most * Picks::width;
  const float* const weight = picks.weight + b * Picks::most * Picks::width;
  const auto next = [&](long k, const Lanes(&value)[vectors], Lanes sum) __attribute__((always_inline)) {
    const Indices at = Indices::load(index + k * Picks::width);
    const Lanes one = picked<vectors>(value, at);
    return weighted ? fmadd(Lanes::load(weight + k * Picks::width), one, sum) : one;
  };
  for (long o = begin; o < end; ++o) {
    Lanes value[vectors], sum(0.0f);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) value[v] = Lanes::load(x + o * in + v * Picks::width);
    if (!own.partial)
      for (long k = 0; k < own.count; ++k) sum = next(k, value, sum);
    else
      for (long k = 0; k < own.count; ++k)
        sum.lanes = Indices::load(index + k * Picks::width).lanes < 0 ? sum.lanes : next(k, value, sum).lanes;
    store(o, sum);
  }
}
template <bool weighted, int vectors>
[[gnu::noinline]] void block_by_picks(const Picks& picks, long b, const float* x, float* y, long lines, long in,
                                      long out, long begin, long end, long whole_end) {
  constexpr long width = Picks::width;
  const long base = picks.block[b].base, first = b * width;
  // Lines after which x has what is read, and after which y has room for a vector.
  const long readable = lines * in - base - vectors * width, room = end * out - first - width;
  long fast = readable < 0 || room < 0 ? 0 : (readable / in < room / out ? readable / in : room / out) + 1;
  if (fast > whole_end) fast = whole_end;
  if (fast < begin) fast = begin;
  lines_of_block<weighted, vectors>(picks, b, x + base, in, begin, fast,
                                    [=](long o, Lanes sum) { sum.store(y + o * out + first); });
  for (long o = fast; o < whole_end; ++o) {
    float line[vectors * width]{}, result[width];
    const long left = out - first < width ? out - first : width, given = in - base;
    std::memcpy(line, x + o * in + base, std::size_t(given < vectors * width ? given : vectors * width) * 4);
    lines_of_block<weighted, vectors>(picks, b, line, 0, 0, 1, [&](long, Lanes sum) { sum.store(result); });
    std::memcpy(y + o * out + first, result, std::size_t(left) * 4);
  }
}
}  // namespace detail

/// Lines begin .. end - 1 of the result: `lines` of x have `in` elements each.
template <bool weighted>
[[gnu::noinline]] void resample_by_picks(const Picks& picks, const float* x, float* y, long lines, long in, long out,
                                         long begin, long end) {
  constexpr long together = 32;  // lines that stay in the cache while block after block is written
  for (long o = begin; o < end; o += together)
    for (long b = Picks::blocks(out), last = o + together < end ? o + together : end; b-- > 0;) {
      // From the last block on: what a vector writes after the end of its line is written again.
      const auto run = [&]<int vectors>(std::integral_constant<int, vectors>) {
        detail::block_by_picks<weighted, vectors>(picks, b, x, y, lines, in, out, o, end, last);
      };
      if (picks.block[b].vectors == 1) run(std::integral_constant<int, 1>());
      else if (picks.block[b].vectors == 2) run(std::integral_constant<int, 2>());
      else run(std::integral_constant<int, 4>());
    }
}

/// Lines begin .. end - 1 of the result, whose elements are neighbours: each element by its list.
template <bool weighted, class A, class T>
[[gnu::noinline]] void resample_elements(const TapLists<A>& list, const T* x, T* y, long in, long begin, long end) {
  for (long o = begin; o < end; ++o) {
    const T* const from = x + o * in;
    T* const to = y + o * list.lists;
    for (long j = 0; j < list.lists; ++j)
      if constexpr (weighted) {
        A sum(0);
        for (std::int32_t e = list.start[j]; e < list.start[j + 1]; ++e)
          sum = add_weighted(list.weight[e], static_cast<A>(from[list.from[e]]), sum);
        to[j] = static_cast<T>(sum);
      } else {
        const long place = list.place(j);
        to[j] = place < 0 ? T{} : from[place];
      }
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
