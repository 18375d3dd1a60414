// Sum of squares over axes.
#pragma once
#include <tenon/core/simd/simd.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduction.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// An element in memory whose value is its square, rounded to T as by Square: what kernels read in the place of T.
template <class T>
struct SquareOf {
  using Stored = T;
  T stored;
  template <class A>
  TENON_DEVICE explicit constexpr operator A() const {
    const Compute<T> x = static_cast<Compute<T>>(stored);
    return static_cast<A>(static_cast<T>(x * x));
  }
  /// The same before it is rounded, in lanes.
  template <class V>
  [[gnu::always_inline]] static V of_lanes(V x) {
    return x * x;
  }
};

/// Sum of x² over axes, with the bits of reduce_sum(square(x)), in one pass.
///
/// x           any shape; floating-point
/// result      x without the reduced axes, or with them as 1 (keep_dims)
/// derivative  2 dy x
/// source      ONNX's ReduceSumSquare
struct ReduceSumSquare : Reduction<ReduceSumSquare, "ReduceSumSquare"> {
  template <class T>
  using Element = SquareOf<T>;
  static constexpr TensorType shape(const OperandTypes& in, const Config& axes, Sentence& error) {
    if (is_floating(in[0].dtype)) return Reduction::shape(in, axes, error);
    error << "ReduceSumSquare needs floating-point operands, got " << tenon::name(in[0].dtype) << " " << in[0]
          << ": cast it";
    return in[0];
  }
  static constexpr long divisor(long) { return 1; }
  static constexpr void derivative(Derivative& d) {
    const TensorType kept = ReduceSumSquare::kept(d.type(0), d.config<ReduceSumSquare>());
    const int g = d.call_with<Reshape>(Reshape::to(kept), d.call<Add>(d.gradient(), d.gradient()));
    d.flows_to(0, d.call<Mul>(d.operand(0), g));
  }
};
TENON_EXACT_END

/// Sum of x² over Axes (all of them if none is given): `reduce_sum_square<1>(x)`.
template <int... Axes, Operand X>
constexpr auto reduce_sum_square(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceSumSquare, axes_of<X, false, Axes...>>(at, x);
}
/// The same, reduced axes stay with extent 1.
template <int... Axes, Operand X>
constexpr auto reduce_sum_square_keep(const X& x, std::source_location at = std::source_location::current()) {
  return apply<ReduceSumSquare, axes_of<X, true, Axes...>>(at, x);
}

}  // namespace tenon::ops
