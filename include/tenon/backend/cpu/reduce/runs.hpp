// Sums and other reductions of runs of neighbouring elements.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/reduce/sum_tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// What sums and means share, so that they are compiled once: a + b of numbers or of vectors, and the division by a
/// number, 1 for a sum.
struct Plus {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return a + b;
  }
};
template <class R>
struct DivideBy {
  long count;
  template <class A>
  R operator()(A total) const {
    if constexpr (std::is_floating_point_v<A>) return static_cast<R>(total / static_cast<A>(count));
    else return static_cast<R>(total);
  }
};

/// Plus for floating-point numbers that may be more than a chain, in the order of SumTree. What else is combined is
/// exact, or a tree loses no less.
struct LongPlus : Plus {};
template <class F>
inline constexpr bool is_long_sum = std::is_same_v<F, LongPlus>;

/// Combines 16 partial results in a fixed tree: 8 and 8, 4 and 4, 2 and 2, 1 and 1.
template <class A, class F>
inline A combine_lanes(A* lane, F f) {
  for (int half = reduce_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = f(lane[i], lane[i + half]);
  return lane[0];
}

namespace detail {
template <class A>
using ReduceVector = Simd<A, (simd_width<A> < reduce_lanes ? simd_width<A> : reduce_lanes)>;
// What is in memory of an element T, which may be a function of that.
template <class T>
struct StoredElement {
  using type = T;
};
template <class T>
requires requires { typename T::Stored; }
struct StoredElement<T> {
  using type = typename T::Stored;
};
template <class T>
using Stored = typename StoredElement<T>::type;
/// Lanes of elements T, as numbers of A.
template <int Width, class A, class T>
[[gnu::always_inline]] inline Simd<A, Width> load_elements(const T* from) {
  if constexpr (std::is_same_v<T, Stored<T>>) return load_lanes<Width, A>(from);
  else {
    const auto value = T::of_lanes(load_lanes<Width, A>(reinterpret_cast<const Stored<T>*>(from)));
    if constexpr (!is_half<Stored<T>>) return value;
    else {
      Stored<T> rounded[Width];
      store_lanes(value, rounded);
      return load_lanes<Width, A>(rounded);
    }
  }
}
/// True if partial results of elements T are vectors of A, which F takes as it takes numbers.
template <class A, class T, class F>
inline constexpr bool reduces_vectors = [] {
  if constexpr (std::is_floating_point_v<A> && (std::is_same_v<A, Stored<T>> || is_half<Stored<T>>))
    return std::is_invocable_v<F, ReduceVector<A>, ReduceVector<A>>;
  else return false;
}();

/// Lanes from `count` on become `filling`.
template <class V>
[[gnu::always_inline]] inline V first_lanes(V x, long count, V filling) {
  using A = typename V::Element;
  A number[V::width];
  for (int lane = 0; lane < V::width; ++lane) number[lane] = A(lane);
  return choose_greater(V(A(count)), V::load(number), x, filling);
}
template <class A, int Width, class F>
[[gnu::always_inline]] inline A fold_vector(Simd<A, Width> v, F f) {
  if constexpr (Width == 2) return f(v[0], v[1]);
  else return fold_vector(f(lower_half(v), upper_half(v)), f);
}
// One row of lanes: part[v] = f(part[v], elements of vector v), of which `left` are there.
template <class A, int vectors, class T, class F>
[[gnu::always_inline]] inline void add_row(ReduceVector<A> (&part)[vectors], const T* run, long left, A initial, F f,
                                           const T* limit) {
  using V = ReduceVector<A>;
  A rest[reduce_lanes];
  const bool beyond = limit - run >= reduce_lanes;
  if (!beyond)
    for (int l = 0; l < reduce_lanes; ++l) rest[l] = l < left ? static_cast<A>(run[l]) : initial;
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v)
    part[v] =
        f(part[v], beyond ? first_lanes(load_elements<V::width, A>(run + v * V::width), left - v * V::width, V(initial))
                          : V::load(rest + v * V::width));
}
template <class A, int vectors, class T, class F>
[[gnu::always_inline]] inline void add_rows(ReduceVector<A> (&part)[vectors], const T* run, long rows, F f) {
  using V = ReduceVector<A>;
  for (const T* const end = run + rows * reduce_lanes; run != end; run += reduce_lanes)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) part[v] = f(part[v], load_elements<V::width, A>(run + v * V::width));
}
template <class A, int vectors, class F>
[[gnu::always_inline]] inline A fold_parts(ReduceVector<A> (&part)[vectors], F f) {
#pragma GCC unroll 4
  for (int half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 4
    for (int v = 0; v < half; ++v) part[v] = f(part[v], part[v + half]);
  return fold_vector(part[0], f);
}

// A sum of more than a chain of rows of lanes.
template <class A, class T, class Start>
[[gnu::noinline]] A sum_long_runs(const T* x, long runs, long length, Start start, const T* limit) {
  using V = ReduceVector<A>;
  constexpr int vectors = reduce_lanes / V::width, pairs = 2;  // of chains that are added up in registers
  constexpr long piece = 2 * pairs * lane_chain * reduce_lanes;
  SumTree<A, reduce_lanes> tree;
  V part[vectors];
  A chain[reduce_lanes];
  long room = lane_chain, chains = 0;
  const auto begin = [&] {
    for (V& p : part) p = V(A(0));
    room = lane_chain;
  };
  const auto filled = [&](long rows) {
    if ((room -= rows) > 0) return;
    for (int v = 0; v < vectors; ++v) part[v].store(chain + v * V::width);
    tree.add(chain);
    ++chains, begin();
  };
  begin();
  for (long r = 0; r < runs; ++r) {
    const T* run = x + start(r);
    long left = length;
    while (left >= reduce_lanes) {
      if (left >= piece && room == lane_chain && chains % (2 * pairs) == 0) {
        V sum[2 * pairs][vectors];
        for (int k = 0; k < 2 * pairs; ++k, run += lane_chain * reduce_lanes) {
          V own[vectors];
          for (V& p : own) p = V(A(0));
          add_rows<A>(own, run, lane_chain, Plus());
          for (int v = 0; v < vectors; ++v) sum[k][v] = own[v];
        }
        for (int v = 0; v < vectors; ++v)
          ((sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v])).store(chain + v * V::width);
        tree.add_here(chain, reduce_lanes, 2);
        chains += 2 * pairs, left -= piece;
        continue;
      }
      const long whole = left / reduce_lanes, rows = whole < room ? whole : room;
      add_rows<A>(part, run, rows, Plus());
      run += rows * reduce_lanes, left -= rows * reduce_lanes;
      filled(rows);
    }
    if (left == 0) continue;
    add_row(part, run, left, A(0), Plus(), limit);
    filled(1);
  }
  for (int v = 0; v < vectors; ++v) part[v].store(chain + v * V::width);
  tree.finish_here(chain, reduce_lanes);
  for (int v = 0; v < vectors; ++v) part[v] = V::load(chain + v * V::width);
  return fold_parts<A>(part, Plus());
}
// The same of a run of fewer than four chains and a rest, in registers.
template <class A, class T>
inline A sum_short_run(const T* run, long length, const T* limit) {
  using V = ReduceVector<A>;
  constexpr int vectors = reduce_lanes / V::width;
  constexpr long chain = lane_chain * reduce_lanes;
  const long chains = length / chain, left = length % reduce_lanes;
  V part[vectors], own[vectors], next[vectors];
  for (V& p : part) p = V(A(0));
  add_rows<A>(part, run + chains * chain, length % chain / reduce_lanes, Plus());
  if (left > 0) add_row(part, run + length - left, left, A(0), Plus(), limit);
  if (chains & 1) {
    for (V& p : own) p = V(A(0));
    add_rows<A>(own, run + (chains - 1) * chain, lane_chain, Plus());
    for (int v = 0; v < vectors; ++v) part[v] = own[v] + part[v];
  }
  if (chains & 2) {
    for (int v = 0; v < vectors; ++v) own[v] = next[v] = V(A(0));
    add_rows<A>(own, run, lane_chain, Plus());
    add_rows<A>(next, run + chain, lane_chain, Plus());
    for (int v = 0; v < vectors; ++v) part[v] = (own[v] + next[v]) + part[v];
  }
  return fold_parts<A>(part, Plus());
}
// reduce_runs in vectors, which may read up to `limit`.
template <class A, class T, class Start, class F>
inline A reduce_vectors(const T* x, long runs, long length, Start start, A initial, F f, const T* limit) {
  using V = ReduceVector<A>;
  constexpr int vectors = reduce_lanes / V::width;
  if constexpr (is_long_sum<F>)
    if (runs * ceil_div(length, reduce_lanes) > lane_chain)
      return runs == 1 && length < 4 * lane_chain * reduce_lanes ? sum_short_run<A>(x + start(0), length, limit)
                                                                 : sum_long_runs<A>(x, runs, length, start, limit);
  V part[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) part[v] = V(initial);
  for (long r = 0; r < runs; ++r) {
    const T* const run = x + start(r);
    const long rows = length / reduce_lanes, left = length % reduce_lanes;
    add_rows<A>(part, run, rows, f);
    if (left > 0) add_row(part, run + rows * reduce_lanes, left, initial, f, limit);
  }
  return fold_parts<A>(part, f);
}
}  // namespace detail

/// Reduces `runs` runs of `length` contiguous elements, run r starting at x[start(r)]. Element i of a run goes to lane
/// i mod 16 of 16 partial results, which the fixed tree combines at the end: the order depends on the shape alone. Sums
/// of floating-point numbers end a chain after every 8 rows of lanes (backend/cpu/reduce/sum_tree.hpp). Up to `limit`
/// memory may be read.
template <class A, class T, class Start, class F>
inline A reduce_runs(const T* x, long runs, long length, Start start, A initial, F f,
                     [[maybe_unused]] const T* limit = nullptr) {
  if (length == 1) {
    A total = initial;
    SumTree<A, 1> tree;
    for (long r = 0; r < runs; ++r) {
      total = f(total, static_cast<A>(x[start(r)]));
      if constexpr (is_long_sum<F>)
        if ((r + 1) % lane_chain == 0) tree.add(&total), total = initial;
    }
    if constexpr (is_long_sum<F>) tree.finish(&total);
    return total;
  }
  if constexpr (detail::reduces_vectors<A, T, F>) {
    return detail::reduce_vectors(x, runs, length, start, initial, f, limit);
  } else {
    static_assert(!is_long_sum<F>, "a long sum needs its chains: give reduces_vectors this type");
    A lane[reduce_lanes];
    for (A& l : lane) l = initial;
    for (long r = 0; r < runs; ++r) {
      const T* run = x + start(r);
      long i = 0;
      for (; i + reduce_lanes <= length; i += reduce_lanes)
        for (int l = 0; l < reduce_lanes; ++l) lane[l] = f(lane[l], static_cast<A>(run[i + l]));
      for (int l = 0; i < length; ++i, ++l) lane[l] = f(lane[l], static_cast<A>(run[i]));
    }
    return combine_lanes(lane, f);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
