// Gated recurrent unit: one layer in one direction.
#pragma once
#include <tenon/ops/recurrent.hpp>
#include <tenon/ops/sum_to.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The time loop: r, z, m, q, and h of every step, [n, T, 5 H]. Operands as of GRU, from the projected input on.
/// Gradients do not pass through it but through GRU, which reads it. Not for users.
struct GruStates : Operator<GruStates, "GRUStates"> {
  using Config = RecurrentAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].count(n)) / in[0][2] * double(in[1].count(1));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::check_recurrent("GRU", in, 3, in.count > 2 && in[2].rank == 1 ? 3 : 2, error);
    TensorType t = in[0];
    if (error.empty()) t.extent[2] = 5 * in[1][1];
    return t;
  }
};

/// The gradient of the projected input, [n, T, 3 H]; with h0, the part of its gradient that does not come through the
/// weight after that of each sample, [n, T 3 H + H]. Operands: states, weight, gradient of all h, and h0 if there is
/// one. Not for users.
struct GruGrad : Operator<GruGrad, "GRUGrad"> {
  using Config = RecurrentAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[2].count(n)) / in[2][2] * double(in[1].count(1));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType t = in[0];
    t.extent[2] = in[1][0];
    return in.count > 3 ? detail::with_state(t, in[1][1]) : t;
  }
};

/// The gradient of h W + b from that of the projected input: r, z as they are, m times r. Operands: that gradient,
/// states. Not for users.
struct GruHiddenGrad : Operator<GruHiddenGrad, "GRUHiddenGrad"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};

/// A layer of gated recurrent units:  r, z = sigmoid of (projected + h W + b);  m = tanh(projected + r (h W + b));  h =
/// m + z (h - m)
///
/// states      what GRUStates made of the other operands
/// projected   [n, T, 3 H], the part of the gates (in the order r, z, m) that comes from the input, with its bias;
///             float32 or float64
/// weight      [3 H, H]
/// bias        [3 H], or left out: zeros
/// h0          [n, 1, H], or left out: zeros
/// result      h of all steps, [n, T, H]
/// derivative  to projected, weight, bias, and h0; there is no second derivative
/// order       h W is summed as by MatMul; gradients of the weight are MatMuls over samples and steps
/// source      Cho and others, arXiv 1406.1078; the form of MindSpore's and PyTorch's GRU, where r multiplies h W + b
struct Gru : Operator<Gru, "GRU"> {
  using Config = RecurrentAttributes;
  static constexpr int parts = 5, h = 4;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    return detail::part_of(in[0], parts, false);
  }
  static constexpr void derivative(Derivative& d) {
    const Config config = d.config<Gru>();
    const detail::RecurrentDerivative rule{d, d.type(1), d.type(2)[1], config.reverse != 0};
    const RecurrentPrevious::Config before{config.reverse, h, parts};
    const int states = d.operand(0), weight = d.operand(2), bias = d.operands() > 3 && d.type(3).rank == 1 ? 3 : 0,
              h0 = d.operands() > 3 + (bias > 0) ? d.operands() - 1 : 0;
    const int loop = h0 ? d.call_with<GruGrad>(config, states, weight, d.gradient(), d.operand(h0))
                        : d.call_with<GruGrad>(config, states, weight, d.gradient());
    const int gates = h0 ? rule.gates_of(loop) : loop, own = d.call<GruHiddenGrad>(gates, states);
    d.flows_to(1, gates);
    d.flows_to(2, rule.weight(own,
                              h0 ? d.call_with<RecurrentPrevious>(before, states, d.operand(h0))
                                 : d.call_with<RecurrentPrevious>(before, states),
                              rule.hidden));
    if (bias) d.flows_to(bias, own);
    if (h0) {
      d.flows_to(h0, rule.first_through(own, weight));
      d.flows_to(h0, rule.state_of(loop));
    }
  }
};

/// h of all steps. `projected`: x Wᵀ + b of the input; then optionally the bias beside the weight, and h0.
template <bool reverse = false, Operand X, Operand W, Operand... More>
constexpr auto gru(const X& projected, const W& weight, const More&... bias_and_state) {
  static_assert(sizeof...(More) <= 2,
                "gru takes a bias and an initial state after the weight, or one of them, or none");
  const auto at = std::source_location::current();
  const auto states = apply<GruStates, RecurrentAttributes{reverse}>(at, projected, weight, bias_and_state...);
  return apply<Gru, RecurrentAttributes{reverse}>(at, states, projected, weight, bias_and_state...);
}

}  // namespace tenon::ops
