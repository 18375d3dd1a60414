// Sums and other reductions over axes.
#pragma once
#include <bit>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/reduce/runs.hpp>
#include <tenon/backend/cpu/reduce/walk.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
#if defined(TENON_EMBEDDED)
inline constexpr long reduce_block = 16;  // else the sums of chains would take 35 KB of the stack
#else
inline constexpr long reduce_block = 512;
#endif

// Results [begin, end) one after the other, or with the last axis kept a block of them at once.
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] void reduce_range(const ReduceWalk& w, const T* x, R* y, long begin, long end, A initial, const F& f,
                                    const Finish& finish) {
  const long width = w.length();
  if (!w.vertical()) {
    for (long kept = begin; kept < end; ++kept)
      y[kept] = finish(reduce_runs<A>(
          x + w.offset(kept, false), w.runs, width, [&](long r) { return w.offset(r, true); }, initial, f,
          x + w.elements));
    return;
  }
  for (long kept = begin; kept < end;) {
    const long column = kept % width, left = width - column < end - kept ? width - column : end - kept,
               count = left < reduce_block ? left : reduce_block;
    const long start = w.offset(kept / width, false) + column,
               whole = (count + block_length - 1) / block_length * block_length;
    A total[reduce_block];
    SumTree<A, is_long_sum<F> ? reduce_block : 1> tree;
    for_each_unrolled(whole, [&](long i) { total[i] = initial; });
    long r = 0;
    // Blocks are filled up with neighbours, which are there but in the last rows.
    for (; r + 4 <= w.runs; r += 4) {
      const long offset[4]{start + w.offset(r, true), start + w.offset(r + 1, true), start + w.offset(r + 2, true),
                           start + w.offset(r + 3, true)};
      const T *const a = x + offset[0], *const b = x + offset[1], *const c = x + offset[2], *const d = x + offset[3];
      for_each_unrolled(offset[3] + whole <= w.elements ? whole : count, [&](long i) {
        total[i] = f(f(f(f(total[i], static_cast<A>(a[i])), static_cast<A>(b[i])), static_cast<A>(c[i])),
                     static_cast<A>(d[i]));
      });
      if constexpr (is_long_sum<F>)
        if ((r + 4) % sum_chain == 0) {
          tree.add_here(total, whole);
          for_each_unrolled(whole, [&](long i) { total[i] = initial; });
        }
    }
    for (; r < w.runs; ++r) {
      const long offset = start + w.offset(r, true);
      for_each_unrolled(offset + whole <= w.elements ? whole : count,
                        [&, row = x + offset](long i) { total[i] = f(total[i], static_cast<A>(row[i])); });
    }
    if constexpr (is_long_sum<F>)
      if (!tree.empty()) tree.finish_here(total, whole);
    store_unrolled(y + kept, count, [&](long i) { return finish(total[i]); });
    kept += count;
  }
}

// Four elements of every fourth of Width rows.
template <class A, int Width, class T>
[[gnu::always_inline]] inline Simd<A, Width> load_spread(const T* x, long row) {
  if constexpr (Width == 4) return load_elements<4, A>(x);
  else return joined(load_spread<A, Width / 2>(x, row), load_spread<A, Width / 2>(x + Width / 2 * row, row));
}
// The same for `blocks` blocks of neighbouring groups that a vector has a lane for each: groups of at most 16 elements
// with one result, or of any number with up to 16 kept ones last.
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] void reduce_rows(const ReduceWalk& w, const T* x, R* y, long blocks, A initial, const F& f,
                                   const Finish& finish) {
  using V = ReduceVector<A>;
  const long length = w.stride[0], period = w.vertical() ? w.length() : reduce_lanes,
             results = w.vertical() ? period : 1;
  const long reached = w.vertical() ? period : long(std::bit_ceil(std::size_t(length)));
  for (; blocks > 0; --blocks, x += V::width * length, y += V::width * results) {
    V lane[reduce_lanes];
    for (long l = 0; l < reached; ++l) lane[l] = V(initial);
    // only groups with kept elements last are long
    [[maybe_unused]] A chain[is_long_sum<F> ? reduce_lanes : 1][V::width];
    SumTree<A, is_long_sum<F> ? reduce_lanes * V::width : 1> tree;
    for (long first = 0, at = 0, row = 0; first < length; first += 4) {
      const long from = first + 4 <= length || length < 4 ? first : length - 4;
      V four[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) four[r] = load_spread<A, V::width>(x + from + r * length, length);
      tenon::detail::exchange<1>(four[0], four[1]);
      tenon::detail::exchange<1>(four[2], four[3]);
      tenon::detail::exchange<2>(four[0], four[2]);
      tenon::detail::exchange<2>(four[1], four[3]);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        if (from + k < first || from + k >= length) continue;
        lane[at] = f(lane[at], four[k]);
        if (++at < period) continue;
        at = 0;
        if constexpr (is_long_sum<F>)
          if (++row % sum_chain == 0) {
            for (long l = 0; l < period; ++l) lane[l].store(chain[l]), lane[l] = V(initial);
            tree.add(chain[0], period * V::width);
          }
      }
    }
    if constexpr (is_long_sum<F>)
      if (!tree.empty()) {
        for (long l = 0; l < period; ++l) lane[l].store(chain[l]);
        tree.finish(chain[0], period * V::width);
        for (long l = 0; l < period; ++l) lane[l] = V::load(chain[l]);
      }
    if (results == 1)
      for (long half = reached / 2; half > 0; half /= 2)
        for (long l = 0; l < half; ++l) lane[l] = f(lane[l], lane[l + half]);
    for (long c = 0; c < results; ++c) {
      A total[V::width];
      lane[c].store(total);
      for (int v = 0; v < V::width; ++v) y[v * results + c] = finish(total[v]);
    }
  }
}

// The same for `blocks` times 8 results of `width` kept elements each, which are not more than a vector has: the chains
// of all run together.
inline constexpr int reduce_chains = 8;
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] void reduce_columns(const ReduceWalk& w, const T* x, R* y, long blocks, A initial, const F& f,
                                      const Finish& finish) {
  using V = ReduceVector<A>;
  const long width = w.length(), step = w.stride[0];
  for (; blocks > 0; --blocks, x += reduce_chains * step) {
    V total[reduce_chains];
#pragma GCC unroll 8
    for (int k = 0; k < reduce_chains; ++k) total[k] = V(initial);
    A results[reduce_chains][V::width];
    SumTree<A, is_long_sum<F> ? reduce_chains * V::width : 1> tree;
    for (const T *row = x, *last = x + step; row < last;) {
      const T* const end = is_long_sum<F> && last - row > sum_chain * width ? row + sum_chain * width : last;
      for (; row < end; row += width)
#pragma GCC unroll 8
        for (int k = 0; k < reduce_chains; ++k) total[k] = f(total[k], load_elements<V::width, A>(row + k * step));
#pragma GCC unroll 8
      for (int k = 0; k < reduce_chains; ++k) total[k].store(results[k]);
      if (end == last) break;
      if constexpr (is_long_sum<F>) tree.add(results[0]);
#pragma GCC unroll 8
      for (int k = 0; k < reduce_chains; ++k) total[k] = V(initial);
    }
    if constexpr (is_long_sum<F>)
      if (!tree.empty()) tree.finish(results[0]);
    for (const auto& own : results)
      for (long c = 0; c < width; ++c) *y++ = finish(own[c]);
  }
}

// Neighbouring results of few elements, for as many of begin .. end - 1 as vectors serve without a look at what is
// left: returns where those end.
template <class A, class T, class R, class F, class Finish>
[[gnu::noinline]] long reduce_short(const ReduceWalk& w, const T* x, R* y, long begin, long end, A initial, const F& f,
                                    const Finish& finish) {
  constexpr long lanes = ReduceVector<A>::width;
  const bool vertical = w.vertical();
  const long width = w.length(), results = vertical ? width : 1,
             together = vertical && width > 3 ? reduce_chains : lanes;
  if (lanes < 4 || w.elements == 0 || width > lanes || !w.is_short()) return begin;  // two lanes serve nothing
  // the last ones read further
  const long step = w.stride[0], first = ceil_div(begin, results), safe = (w.elements - lanes) / step;
  const long blocks = ((end / results < safe ? end / results : safe) - first) / together, from = first * results;
  if (blocks <= 0) return begin;
  if (begin < from) reduce_range(w, x, y, begin, from, initial, f, finish);
  if (vertical && width > 3) reduce_columns(w, x + first * step, y + from, blocks, initial, f, finish);
  else if constexpr (lanes >= 4) reduce_rows(w, x + first * step, y + from, blocks, initial, f, finish);
  return from + blocks * together * results;
}
}  // namespace detail

/// y[kept] = finish(reduction of x over the reduced axes), for kept elements begin .. end - 1.
///
/// `f(a, b)` combines, starting from `initial`. With the last axis kept the elements of one result are taken in
/// row-major order, sums of floating-point numbers in chains of 32 rows (reduce/sum_tree.hpp); else as by reduce_runs.
/// `can_be_short`: w may be is_short().
template <bool can_be_short = true, class A, class T, class R, class F, class Finish>
void reduce(const ReduceWalk& w, const T* x, R* y, long begin, long end, A initial, const F& f, const Finish& finish) {
  if constexpr (can_be_short && detail::reduces_vectors<A, T, F> && simd_width<A> >= 4)
    begin = detail::reduce_short(w, x, y, begin, end, initial, f, finish);
  detail::reduce_range(w, x, y, begin, end, initial, f, finish);
}

/// Elements of an operand of constant extents whose reduction is unrolled code.
inline constexpr long small_reduction = 16;
/// Is a call a reduction so small that its walk is made of constants?
template <class Call>
constexpr bool is_small_reduction() {
  constexpr TensorType x = Call::operand(0);
  return (is_unrolled<Call> || !x.batched()) && x.count(1) > 0 &&
         x.count(1) <= (is_unrolled<Call> ? 4 : 1) * small_reduction;
}
/// Rows of such a walk that one result takes one after the other, and how many of them are a chain.
constexpr bool is_one_chain(const ReduceWalk& w) {
  return w.vertical() ? w.runs <= sum_chain : w.runs * ceil_div(w.length(), reduce_lanes) <= lane_chain;
}
/// The same as reduce, for such a call. An element that is combined with `initial` stays as it is: lanes that no
/// element goes to are left out.
template <class Call, unsigned mask, class A, class T, class R, class F, class Finish>
[[gnu::always_inline]] inline void reduce_small(const T* x, R* y, long begin, long end, A initial, const F& f,
                                                const Finish& finish) {
  constexpr ReduceWalk w = reduce_walk(Call::operand(0), mask, 1);
  constexpr long count = w.vertical() || w.length() == 1 ? 1 : w.length(),
                 lanes = count < reduce_lanes ? std::bit_ceil(std::size_t(count)) : reduce_lanes;
#pragma GCC unroll 64
  for (long kept = begin; kept < end; ++kept) {
    const T* const own =
        x + (w.vertical() ? w.offset(kept / w.length(), false) + kept % w.length() : w.offset(kept, false));
    A lane[lanes];
#pragma GCC unroll 16
    for (A& l : lane) l = initial;
#pragma GCC unroll 64
    for (long e = 0; e < w.runs * count; ++e)
      lane[e % count % lanes] = f(lane[e % count % lanes], static_cast<A>(own[w.offset(e / count, true) + e % count]));
#pragma GCC unroll 4
    for (long half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 8
      for (long i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
    y[kept] = finish(lane[0]);
  }
}

/// The reduction of operand 0 of a call, elements X, over the axes of `mask`, in the way that its size asks for.
template <class Call, unsigned mask, class X, class A, class F, class Finish>
inline void reduce_call(const Arguments& a, long begin, long end, A initial, const F& f, const Finish& finish) {
  const X* const x = a.operand<X>(0);
  auto* const y = a.result<typename Call::Result>();
  constexpr ReduceWalk w = reduce_walk(Call::operand(0), mask, 1);
  if constexpr (std::is_same_v<F, Plus> && std::is_floating_point_v<A> &&
                !(is_one_chain(w) && !(mask & 1 && Call::operand(0).batched())))
    return reduce_call<Call, mask, X>(a, begin, end, initial, LongPlus(), finish);
  else if constexpr (is_small_reduction<Call>() && !is_long_sum<F>)
    reduce_small<Call, mask>(x, y, begin, end, initial, f, finish);
  else reduce<w.is_short()>(reduce_walk(Call::operand(0), mask, a.n), x, y, begin, end, initial, f, finish);
}

#if !TENON_DEFINES && !defined(TENON_EMBEDDED)
// Sums and means are the same in every program.
namespace detail {
extern template void reduce_range(const ReduceWalk&, const float*, float*, long, long, float, const Plus&,
                                  const DivideBy<float>&);
extern template long reduce_short(const ReduceWalk&, const float*, float*, long, long, float, const Plus&,
                                  const DivideBy<float>&);
extern template void reduce_range(const ReduceWalk&, const float*, float*, long, long, float, const LongPlus&,
                                  const DivideBy<float>&);
extern template long reduce_short(const ReduceWalk&, const float*, float*, long, long, float, const LongPlus&,
                                  const DivideBy<float>&);
extern template void reduce_range(const ReduceWalk&, const double*, double*, long, long, double, const Plus&,
                                  const DivideBy<double>&);
extern template long reduce_short(const ReduceWalk&, const double*, double*, long, long, double, const Plus&,
                                  const DivideBy<double>&);
extern template void reduce_range(const ReduceWalk&, const double*, double*, long, long, double, const LongPlus&,
                                  const DivideBy<double>&);
extern template long reduce_short(const ReduceWalk&, const double*, double*, long, long, double, const LongPlus&,
                                  const DivideBy<double>&);
extern template void reduce_range(const ReduceWalk&, const float16*, float16*, long, long, float, const Plus&,
                                  const DivideBy<float16>&);
extern template long reduce_short(const ReduceWalk&, const float16*, float16*, long, long, float, const Plus&,
                                  const DivideBy<float16>&);
extern template void reduce_range(const ReduceWalk&, const float16*, float16*, long, long, float, const LongPlus&,
                                  const DivideBy<float16>&);
extern template long reduce_short(const ReduceWalk&, const float16*, float16*, long, long, float, const LongPlus&,
                                  const DivideBy<float16>&);
extern template void reduce_range(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const Plus&,
                                  const DivideBy<bfloat16>&);
extern template long reduce_short(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const Plus&,
                                  const DivideBy<bfloat16>&);
extern template void reduce_range(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const LongPlus&,
                                  const DivideBy<bfloat16>&);
extern template long reduce_short(const ReduceWalk&, const bfloat16*, bfloat16*, long, long, float, const LongPlus&,
                                  const DivideBy<bfloat16>&);
}  // namespace detail
#endif

}  // namespace tenon::kernel
TENON_EXACT_END
