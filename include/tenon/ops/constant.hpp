// Fixed tensors and the end of gradients.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// x itself, through which no gradient flows. MindSpore's stop_gradient.
struct StopGradient : Elementwise<StopGradient, "StopGradient"> {
  template <class V>
  static constexpr V eval(V x) {
    return x;
  }
  static constexpr void derivative(Derivative&) {}
};
/// x itself; a copy in PyNative mode, nothing in a graph.
struct Identity : Elementwise<Identity, "Identity"> {
  template <class V>
  static constexpr V eval(V x) {
    return x;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.gradient()); }
};
TENON_EXACT_END

constexpr auto stop_gradient(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<StopGradient>(at, x);
}
constexpr auto identity(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Identity>(at, x);
}

}  // namespace tenon::ops
