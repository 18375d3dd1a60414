// Cross entropy of a sigmoid with weights of its two outcomes.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/softplus.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// no sigmoid(x) - yes sigmoid(-x). Operands: x, yes, no. Not for users.
struct BinaryCrossEntropyGrad : Elementwise<BinaryCrossEntropyGrad, "BinaryCrossEntropyGrad"> {
  template <class V>
  TENON_DEVICE [[gnu::always_inline]] static V eval(V x, V yes, V no) {
    const V e = math::exp(x > V(0) ? -x : x), sum = V(1) + e;
    return no * ((x > V(0) ? V(1) : e) / sum) - yes * ((x < V(0) ? V(1) : e) / sum);
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), g = d.gradient(), y = d.call<Sigmoid>(x);
    d.flows_to(0, d.call<SigmoidGrad>(y, d.call<Mul>(d.call<Add>(d.operand(1), d.operand(2)), g)));
    d.flows_to(1, d.call<Neg>(d.call<Mul>(d.call<Sigmoid>(d.call<Neg>(x)), g)));
    d.flows_to(2, d.call<Mul>(y, g));
  }
};

/// -yes ln s(x) - no ln(1 - s(x)) with the sigmoid s. Operands: x, yes, no.
///
/// x, yes, no  shapes that broadcast; floating-point
/// derivative  to all of them
/// accuracy    computed as yes softplus(-x) + no softplus(x) with the bits of Softplus: both have one ln(1 + e^-|x|)
/// source      MindSpore's BCEWithLogitsLoss without its reduction, where yes is a label, and no is 1 - label
struct BinaryCrossEntropy : Elementwise<BinaryCrossEntropy, "BinaryCrossEntropy"> {
  static constexpr bool floating_only = true;
  template <class V>
  TENON_DEVICE [[gnu::always_inline]] static V eval(V x, V yes, V no) {
    const V rest = math::log1p(math::exp(x > V(0) ? -x : x));
    return yes * ((x < V(0) ? -x : V(0)) + rest) + no * ((x > V(0) ? x : V(0)) + rest);
  }
  static constexpr void derivative(Derivative& d) {
    const int x = d.operand(0), g = d.gradient();
    d.flows_to(0, d.call<BinaryCrossEntropyGrad>(x, d.call<Mul>(d.operand(1), g), d.call<Mul>(d.operand(2), g)));
    d.flows_to(1, d.call<Mul>(d.call<Softplus>(d.call<Neg>(x)), g));
    d.flows_to(2, d.call<Mul>(d.call<Softplus>(x), g));
  }
};
TENON_EXACT_END

/// yes softplus(-x) + no softplus(x), the cross entropy of a sigmoid with weights of its two outcomes.
constexpr auto binary_cross_entropy(const Operand auto& x, const Operand auto& yes, const Operand auto& no,
                                    std::source_location at = std::source_location::current()) {
  return apply<BinaryCrossEntropy>(at, x, yes, no);
}

}  // namespace tenon::ops
