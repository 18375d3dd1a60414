// Rows of scores, each of which a half warp makes weights of.
#pragma once
#include <limits>

#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The sum of term(0) .. term(count - 1) for a half warp, as by lane_sum. `most` is no less than any count of the warp.
template <class A, class Term>
__device__ A half_warp_sum(long count, long most, Term term) {
  Tree<A> tree;
  A total = 0;
  for (long first = 0; first < most || first == 0; first += lane_piece) {
    const long last = count < first + lane_piece ? count : first + lane_piece;
    A piece = 0;
    for (long i = first + lane_of_row(); i < last; i += lanes) piece += term(i);
    piece = sum_of_lanes(piece);
    if (first + lane_piece < count) tree.add(piece, Add());
    else if (first < count || first == 0) total = tree.finish(piece, Add());
  }
  return total;
}

/// What makes a weight of a score: exp(scale score - most) / total.
template <class A>
struct RowOfScores {
  A most, total;
};
/// x = softmax(scale x) over the `seen` first elements, zeros up to `keys`. For a half warp.
template <class A>
__device__ RowOfScores<A> softmax_of_scores(A* x, long seen, long keys, A scale) {
  const auto larger = [](A a, A b) { return b > a ? b : a; };
  A most = -std::numeric_limits<A>::infinity();
  for (long i = lane_of_row(); i < seen; i += lanes) most = larger(most, x[i] *= scale);
  most = __shfl_sync(~0u, fold_half_warp(most, larger), 0, lanes);
  const A total = half_warp_sum<A>(seen, keys, [=](long i) { return x[i] = math::exp(x[i] - most); });
  for (long i = lane_of_row(); i < keys; i += lanes) x[i] = i < seen ? x[i] / total : A(0);
  return {most, total};
}

/// Elements of a row for each lane of a half warp that keeps the row in registers; 0: longer rows stay in memory.
template <long keys>
inline constexpr int kept_of_lane = keys <= 256 ? int((keys + lanes - 1) / lanes) : 0;
/// Elements lane, lane + 16, ... of a row.
template <class A, int most>
struct LaneElements {
  A value[most];

  /// f(k, i), where i is the place in the row of value[k], for those before `end`, which is the same for the whole
  /// warp, and up to 31 after it.
  template <class F>
  __device__ void each(int end, F f) {
#pragma unroll
    for (int k = 0; k < most; ++k) {
      if (k % 2 == 0 && k * lanes >= end) return;
      f(k, k * lanes + lane_of_row());
    }
  }
};
/// The same as softmax_of_scores(); elements that are not seen become zeros. All of them take the same way: a branch
/// for each would take longer.
template <class A, int most>
__device__ RowOfScores<A> softmax_of_lanes(LaneElements<A, most>& row, int seen, int keys, A scale) {
  constexpr A none = -std::numeric_limits<A>::infinity();
  A largest = none, total = 0;
  const auto larger = [](A a, A b) { return b > a ? b : a; };
  A(&x)[most] = row.value;
  row.each(keys, [&](int k, int i) { largest = larger(largest, x[k] = i < seen ? x[k] * scale : none); });
  largest = __shfl_sync(~0u, fold_half_warp(largest, larger), 0, lanes);
  row.each(keys, [&](int k, int) { total += x[k] = math::exp(x[k] - largest); });
  total = sum_of_lanes(total);
  row.each(keys, [&](int k, int i) { x[k] = i < seen ? x[k] / total : A(0); });
  return {largest, total};
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
