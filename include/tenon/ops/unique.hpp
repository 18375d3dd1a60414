// The distinct elements of a tensor, up to a bound.
#pragma once
#include <tuple>

#include <tenon/ops/cast.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/concat.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/cumsum.hpp>
#include <tenon/ops/gather_nd.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/sort.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The distinct elements of x in ascending order: `const auto [values, inverse, count] = unique<100>(x);`
///
/// x           a static shape; any dtype. Each NaN counts as another element
/// results     values [bound], filled up with the largest one; for each element of x its place in them, int32 in the
///             shape of x; how many there are, int32 []. If these are more than the bound, values has the first ones
/// derivative  no gradient flows
/// source      PyTorch's unique, sorted, with return_inverse; MindSpore's Unique has the order of x
template <int bound, Operand X>
constexpr auto unique(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(bound > 0, "unique<bound> needs a bound of 1 or more");
  if constexpr (is_broken<X>) return std::tuple{x, x, x};
  else {
    static_assert(!X::dims.batched(), "unique<bound>(x) needs a static shape: its results do not depend on n");
    constexpr int elements = int(X::dims.count(1));
    static_assert(elements > 1, "unique<bound>(x) needs 2 elements or more");
    const auto [sorted, places] = sort(reshape<Shape<elements>>(stop_gradient(x, at), at), at);
    const auto next = slice<0, Part{1, elements}>(sorted, at);
    const auto last = slice<0, Part{elements - 1, elements}>(sorted, at);
    const auto differs = cast<std::int32_t>(not_equal(next, slice<0, Part{0, elements - 1}>(sorted, at), at), at);
    const auto rank = concat<0>(zeros_like(slice<0, Part{0, 1}>(places, at), at), cumsum<0>(differs), at);
    const auto inverse = apply<SortGrad, detail::LineConfig{0, elements}>(at, places, rank);
    const auto row = expand_dims<1>(minimum(rank, bound, at), at);  // what is beyond the bound goes to a last row
    const auto all = tensor_scatter_update(broadcast_to<Shape<bound + 1>>(last, at), row, sorted, at);
    const auto count = add(reshape<Shape<>>(slice<0, Part{elements - 1, elements}>(rank, at), at), 1, at);
    return std::tuple{slice<0, Part{0, bound}>(all, at), apply<Reshape, Reshape::to(X::dims)>(at, inverse), count};
  }
}

}  // namespace tenon::ops
