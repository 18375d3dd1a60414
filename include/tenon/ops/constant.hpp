// Fixed tensors and the end of gradients.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Base of operators whose result is a copy: bytes, so that also a NaN of 16 bits stays as it is.
template <class Op, FixedString Name>
struct Copy : Elementwise<Op, Name> {
  static constexpr bool copies = true;
  template <class V>
  static constexpr V eval(V x) {
    return x;
  }
};
/// x itself, through which no gradient flows. MindSpore's stop_gradient.
struct StopGradient : Copy<StopGradient, "StopGradient"> {
  static constexpr void derivative(Derivative&) {}
};
/// x itself; a copy in PyNative mode, nothing in a graph.
struct Identity : Copy<Identity, "Identity"> {
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
