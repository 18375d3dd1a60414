// One row of attention scores: its softmax, and the derivative of that.
#pragma once
#include <tenon/backend/cpu/attention/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// The sum of term(0) .. term(padded - 1), as by lane_sum.
template <class A, class Term>
[[gnu::always_inline]] inline A padded_sum(long padded, Term term) {
  const auto piece = [&](long first, long own, A* to) __attribute__((always_inline)) {
    A lane[reduce_lanes]{};
    for (long i = first; i < first + own; i += reduce_lanes)
      for (long l = 0; l < reduce_lanes; ++l) lane[l] += term(i + l);
    *to = fold_lanes(lane, Plus());
  };
  A sum[1];
  if (padded <= lane_piece) piece(0, padded, sum);
  else add_pieces(padded, sum, piece);
  return *sum;
}

/// x = softmax(scale x) over the first `seen` elements, zeros from there to `padded`, a multiple of reduce_lanes. The
/// bits are those of mul and softmax: a term that is zero changes no sum.
template <class A>
[[gnu::noinline]] void attention_weights(A* x, long seen, long padded, A scale) {
  const A* const end = x + padded;
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) x[i + l] *= scale;
  const A most =
      reduce_vectors(x, 1, seen, [](long) { return 0l; }, -std::numeric_limits<A>::infinity(), Larger(), end);
  const A total = seen > lane_piece ? long_exponentials<true>(x, x, seen, most, end)
                                    : vector_exponentials<Keep::row>(x, x, seen, most, end);
  for (long i = seen; i < padded; ++i) x[i] = 0;
  map_overlapping(x, x, seen, [total](auto v) { return v / decltype(v)(total); });
}

/// g = scale y (g - sum of y g) for a row y of weights and the gradient g of it, over `seen` elements, zeros up to
/// `padded`.
template <class A>
[[gnu::noinline]] void attention_slopes(const A* __restrict y, A* __restrict g, long seen, long padded, A scale) {
  for (long i = seen; i < padded; ++i) g[i] = 0;
  const A sum = padded_sum<A>(padded, [=](long i) { return y[i] * g[i]; });
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) g[i + l] = y[i + l] * (g[i + l] - sum) * scale;
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
