// Logarithm of softmax along an axis.
#pragma once
#include <tenon/ops/exp.hpp>
#include <tenon/ops/softmax.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Logarithm of softmax, without overflow and underflow: y = x - max - log(sum of exp(x - max))
///
/// x           any shape of rank 1 or more; floating-point
/// derivative  dy - exp(y) · sum of dy along the axis
/// order       as softmax
/// source      MindSpore's LogSoftmax
struct LogSoftmax : AlongAxis<LogSoftmax, "LogSoftmax"> {
  static constexpr void derivative(Derivative& d) {
    const int sum = d.call_with<ReduceSum>(kept_axis(d.config<LogSoftmax>(), d.type(0).rank), d.gradient());
    d.flows_to(0, d.call<Sub>(d.gradient(), d.call<Mul>(d.call<Exp>(d.result()), sum)));
  }
};

/// Logarithm of softmax along an axis, the last one by default.
template <int axis = -1>
constexpr auto log_softmax(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<LogSoftmax, SoftmaxAxis{axis}>(at, x);
}

}  // namespace tenon::ops
