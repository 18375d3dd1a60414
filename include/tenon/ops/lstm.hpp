// Long short-term memory: one layer in one direction.
#pragma once
#include <tuple>

#include <tenon/kernel/cpu/lstm.hpp>
#include <tenon/ops/recurrent.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// The layer of a call whose weight is operand 1 and whose initial states are operands `State` and the next, if there are so many.
template <class Call, int State>
inline kernel::Lstm<typename Call::Result> lstm_of(const Arguments& a, long steps, bool reverse, bool has_h0, bool has_c0) {
  using T = typename Call::Result;
  return {steps, Call::operand(1)[1], reverse, a.operand<T>(1), has_h0 ? a.operand<T>(State) : nullptr, has_c0 ? a.operand<T>(State + has_h0) : nullptr};
}
}  // namespace detail

/// The time loop: i, f, g, o, c, and h of every step, [n, T, 6 H]. Operands as of LSTM, from the projected input on. Gradients do not pass
/// through it but through LSTM, which reads it. Not for users.
struct LstmStates : Operator<LstmStates, "LSTMStates"> {
  using Config = RecurrentAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::check_recurrent("LSTM", in, 4, 2, error);
    TensorType t = in[0];
    if (error.empty()) t.extent[2] = 6 * in[1][1];
    return t;
  }
  template <class Call> static constexpr long items(long n) { return Call::result.size(0, n); }
  template <class Call> static constexpr long cost(long) { return long(Call::result[1]) * Call::operand(1).count(1) / 16; }
  template <class Call> static constexpr long workspace(long) { return long(kernel::lstm_workspace<typename Call::Result>(Call::operand(1)[1])); }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr bool states = Call::operands > 2;
    kernel::lstm(detail::lstm_of<Call, 2>(a, Call::result[1], Call::config().reverse, states, states), a.operand<typename Call::Result>(0),
                 a.result<typename Call::Result>(), begin, end, a.workspace);
  }
};

/// The gradient of the projected input, [n, T, 4 H]; with c0, its gradient behind that of each sample, [n, T 4 H + H]. Operands: states,
/// weight, the gradient of all h or, with `last`, of the last c, and c0 if there is one. Not for users.
struct LstmGrad : Operator<LstmGrad, "LSTMGrad"> {
  using Config = RecurrentAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType t = in[0];
    t.extent[2] = in[1][0];
    return in.count > 3 ? detail::with_state(t, in[1][1]) : t;
  }
  template <class Call> static constexpr long items(long n) { return Call::result.size(0, n); }
  template <class Call> static constexpr long cost(long) { return long(Call::operand(0)[1]) * Call::operand(1).count(1) / 16; }
  template <class Call> static constexpr long workspace(long) { return long(kernel::lstm_grad_workspace<typename Call::Result>(Call::operand(1)[1])); }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr bool last = Call::config().last, states = Call::operands > 3;
    const auto layer = detail::lstm_of<Call, 3>(a, Call::operand(0)[1], Call::config().reverse, false, states);
    kernel::lstm_grad(layer, a.operand<T>(0), last ? nullptr : a.operand<T>(2), last ? a.operand<T>(2) : nullptr, a.result<T>(), states, begin, end, a.workspace);
  }
};

/// A layer of long short-term memory:  i, f, o = sigmoid, g = tanh of (projected + h W);  c = f c + i g;  h = o tanh(c)
///
/// states      what LSTMStates made of the other operands
/// projected   [n, T, 4 H], the part of the gates (in the order i, f, g, o) that comes from the input, with biases; float32 or float64
/// weight      [4 H, H]
/// h0, c0      [n, 1, H], or both left out: zeros
/// result      part 5: h of all steps, [n, T, H]; part 4 with `last`: c of the last step, [n, 1, H]
/// derivative  to projected, weight, h0, and c0; a time loop for each of the two results that has a gradient. There is no second one
/// order       h W is one chain over ascending k; gradients of the weight are one chain over samples and steps
/// source      Hochreiter and Schmidhuber 1997; gates as MindSpore's and PyTorch's LSTM have them
struct Lstm : Operator<Lstm, "LSTM"> {
  using Config = RecurrentAttributes;
  static constexpr int parts = 6, h = 5, c = 4;
  static constexpr TensorType shape(const OperandTypes& in, const Config& config, Sentence&) { return detail::part_of(in[0], parts, config.last); }
  static constexpr void derivative(Derivative& d) {
    const Config config = d.config<Lstm>();
    const detail::RecurrentDerivative rule{d, d.type(2)[1], config.reverse != 0};
    const RecurrentPrevious::Config before{config.reverse, h, parts};
    const int states = d.operand(0), weight = d.operand(2);
    if (d.operands() == 3) {
      const int gates = d.call_with<LstmGrad>(config, states, weight, d.gradient());
      d.flows_to(1, gates);
      d.flows_to(2, rule.weight(gates, d.call_with<RecurrentPrevious>(before, states)));
    } else {
      const int rows = d.call_with<LstmGrad>(config, states, weight, d.gradient(), d.operand(4)), gates = rule.gates_of(rows);
      d.flows_to(1, gates);
      d.flows_to(2, rule.weight(gates, d.call_with<RecurrentPrevious>(before, states, d.operand(3))));
      d.flows_to(3, rule.through_weight(gates, weight));
      d.flows_to(4, rule.state_of(rows));
    }
  }
  template <class Call> static constexpr long items(long n) { return Call::result.size(0, n); }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::operand(0)[1];
    constexpr auto config = Call::config();
    detail::copy_states(a.operand<T>(0), steps, Call::operand(0)[2], Call::result[2], config.part, config.last && !config.reverse ? steps - 1 : 0, Call::result[1],
                        a.result<T>(), begin, end);
  }
};

/// h of all steps and c of the last one. `projected`: x Wᵀ + b of the input; with initial states h0 and c0, or without.
template <bool reverse = false, Operand X, Operand W, Operand... States>
constexpr auto lstm(const X& projected, const W& weight, const States&... initial) {
  static_assert(sizeof...(States) == 0 || sizeof...(States) == 2, "lstm takes both initial states, h0 and c0, or none");
  const Location at = std::source_location::current();
  const auto states = apply<LstmStates, RecurrentAttributes{reverse}>(at, projected, weight, initial...);
  return std::tuple(apply<Lstm, RecurrentAttributes{reverse, Lstm::h}>(at, states, projected, weight, initial...),
                    apply<Lstm, RecurrentAttributes{reverse, Lstm::c, true}>(at, states, projected, weight, initial...));
}

}  // namespace tenon::ops
