// Difference of two tensors.
#pragma once
#include <tenon/core/math/wrapping.hpp>
#include <tenon/ops/binary.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Element-wise difference with broadcasting:  y = a - b
///
/// a, b        shapes that broadcast; any dtype but bool, the same for both; integers wrap around
/// derivative  dy and -dy, summed over broadcast axes
/// source      MindSpore's Sub
struct Sub : Elementwise<Sub, "Sub"> {
  static constexpr bool numbers_only = true;
  template <class V>
  static constexpr V eval(V a, V b) {
    return math::wrapping_subtract(a, b);
  }
  static constexpr double fold(Dtype d, double a, double b) { return folded<Sub, 2>(d, a, b); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.gradient());
    d.flows_to(1, d.call<Neg>(d.gradient()));
  }
};
TENON_EXACT_END

/// a - b with broadcasting; one of them may be a number.
constexpr auto sub(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                   std::source_location at = std::source_location::current()) {
  return binary<Sub>(at, a, b);
}

}  // namespace tenon::ops
