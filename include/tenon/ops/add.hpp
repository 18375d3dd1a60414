// Sum of two tensors.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise sum with broadcasting:  y = a + b
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both
/// derivative  dy to both, summed over broadcast axes
/// source      MindSpore's Add
struct Add : Elementwise<Add, "Add"> {
  template <class V> static constexpr V eval(V a, V b) { return a + b; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.gradient());
  }
};
TENON_EXACT_END

constexpr auto add(const OperandOrScalar auto& a, const OperandOrScalar auto& b, std::source_location at = std::source_location::current()) {
  return binary<Add>(at, a, b);
}

}  // namespace tenon::ops
