// One row of attention scores: its softmax, and the derivative of that.
#pragma once
#include <tenon/kernel/cpu/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

/// x = softmax(scale x) over the first `seen` elements, zeros from there to `padded`, a multiple of reduce_lanes. The
/// bits are those of mul and softmax: a term that is zero changes no sum.
template <class A>
[[gnu::noinline]] void attention_weights(A* x, long seen, long padded, A scale) {
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) x[i + l] *= scale;
  for (long i = seen; i < padded; ++i) x[i] = lowest;
  A largest[reduce_lanes], sum[reduce_lanes]{};
  for (A& l : largest) l = lowest;
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) largest[l] = Larger()(largest[l], x[i + l]);
  const A most = fold_lanes(largest, Larger());
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) sum[l] += x[i + l] = exp(x[i + l] - most);
  const A total = fold_lanes(sum, Plus());
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) x[i + l] /= total;
}

/// g = scale y (g - sum of y g) for a row y of weights and the gradient g of it, over `seen` elements, zeros up to
/// `padded`.
template <class A>
[[gnu::noinline]] void attention_slopes(const A* __restrict y, A* __restrict g, long seen, long padded, A scale) {
  for (long i = seen; i < padded; ++i) g[i] = 0;
  A lane[reduce_lanes]{};
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) lane[l] += y[i + l] * g[i + l];
  const A sum = fold_lanes(lane, Plus());
  for (long i = 0; i < padded; i += reduce_lanes)
    for (long l = 0; l < reduce_lanes; ++l) g[i + l] = y[i + l] * (g[i + l] - sum) * scale;
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
