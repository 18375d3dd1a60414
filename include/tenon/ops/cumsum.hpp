// Running sums and products along an axis: cumsum, cumprod.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Settings of both. `exclusive`: without the element itself. `reverse`: from the end.
struct CumulativeConfig {
  int axis = 0, exclusive = 0, reverse = 0;
};
namespace detail {
constexpr TensorType cumulative_shape(const char* who, const TensorType& x, const CumulativeConfig& c,
                                      Sentence& error) {
  if (normalized_axis(c.axis, x.rank) < 0)
    error << who << " got the axis " << c.axis << " for " << x << " of rank " << x.rank;
  else if (x.dtype == Dtype::bool_) error << who << " needs numbers, got bool " << x << ": cast it";
  return x;
}
}  // namespace detail

/// Running sums along an axis:  y_i = x_0 + .. + x_i
///
/// x           any shape of rank 1 or more; any dtype but bool; integers wrap around
/// result      as x. PyTorch's result for small integers is int64
/// derivative  the running sums of dy from the other end
/// order       chains of 256 elements from +0; y is the sum of the chains before plus the chain so far
///             (backend/order.hpp)
/// source      MindSpore's CumSum, with its exclusive and reverse
struct CumSum : Operator<CumSum, "CumSum"> {
  using Config = CumulativeConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return detail::cumulative_shape("CumSum", in[0], c, error);
  }
  static constexpr void derivative(Derivative& d) {
    Config c = d.config<CumSum>();
    c.reverse = !c.reverse;
    d.flows_to(0, d.call_with<CumSum>(c, d.gradient()));
  }
};

/// The gradient of CumProd, without a division, so that zeros need no care: for the running product p before element i
/// and r_i = dy_i + x_{i+1} r_{i+1}, it is p_i r_i. Operands: x, dy. Not for users.
///
/// derivative  none: cumprod has no second derivative
struct CumProdGrad : Operator<CumProdGrad, "CumProdGrad"> {
  using Config = CumulativeConfig;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// Running products along an axis:  y_i = x_0 .. x_i
///
/// x           any shape of rank 1 or more; any dtype but bool; integers wrap around
/// result      as x. PyTorch's result for small integers is int64
/// derivative  exact also where elements are 0
/// source      MindSpore's CumProd, with its exclusive and reverse
struct CumProd : Operator<CumProd, "CumProd"> {
  using Config = CumulativeConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return detail::cumulative_shape("CumProd", in[0], c, error);
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<CumProdGrad>(d.config<CumProd>(), d.operand(0), d.gradient()));
  }
};

/// `cumsum<1>(x)`; without the element itself `cumsum<1, true>(x)`, from the end `cumsum<1, false, true>(x)`.
template <int axis, bool exclusive = false, bool reverse = false>
constexpr auto cumsum(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<CumSum, CumulativeConfig{axis, exclusive, reverse}>(at, x);
}
/// `cumprod<1>(x)`; without the element itself `cumprod<1, true>(x)`, from the end `cumprod<1, false, true>(x)`.
template <int axis, bool exclusive = false, bool reverse = false>
constexpr auto cumprod(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<CumProd, CumulativeConfig{axis, exclusive, reverse}>(at, x);
}

}  // namespace tenon::ops
