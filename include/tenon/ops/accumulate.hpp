// What every derivative needs: Add, which sums the gradients of a value used twice, and SumTo, which undoes
// broadcasting.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/fold.hpp>
#include <tenon/ops/sum_to.hpp>

// A file of its own, below all other operators: nvcc and clang instantiate Derivative::flows_to where it is first
// called.
namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise sum with broadcasting:  y = a + b
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both; integers wrap around
/// derivative  dy to both, summed over broadcast axes
/// source      MindSpore's Add
struct Add : Elementwise<Add, "Add"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::wrapping_add(a, b);
  }
  static constexpr double fold(Dtype d, double a, double b) { return folded<Add, 2>(d, a, b); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.gradient());
  }
};
TENON_EXACT_END
}  // namespace tenon::ops

#include <tenon/ops/broadcast_to.hpp>  // the derivative of SumTo
