// Long short-term memory: one layer in one direction.
#pragma once
#include <tuple>

#include <tenon/ops/concat.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/recurrent.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
constexpr void check_lstm(const OperandTypes& in, Sentence& error) {
  const TensorType &x = in[0], &input_weight = in[1], &weight = in[2];
  const bool bias = in.count > 3 && in[3].rank == 1;
  if (x.rank != 3) error << "LSTM needs an input [n,T,features], got " << x;
  else if (x.dtype != Dtype::float32 && x.dtype != Dtype::float64)
    error << "LSTM needs an input of float32 or float64, got " << tenon::name(x.dtype) << " " << x;
  else if (input_weight.rank != 2 || x[2] != input_weight[1])
    error << "LSTM got an input of " << x[2] << " features " << x << ", its weight " << input_weight << " needs "
          << input_weight.last();
  else if (weight.rank != 2 || weight[0] != 4 * weight[1] || weight[0] != input_weight[0] ||
           (bias && in[3][0] != weight[0]))
    error << "LSTM got the weights " << input_weight << " and " << weight
          << (bias ? " and a bias of another extent" : "") << ": it needs [4H,features], [4H,H], and [4H]";
  else if (long(x[1]) * x[2] > longest_sample)
    error << "LSTM of " << x << ": a sample has at most " << int(longest_sample) << " elements";
  for (int k = 1; k < in.count && error.empty(); ++k)
    if (in[k].dtype != x.dtype)
      error << "LSTM of " << tenon::name(x.dtype) << " " << x << " and " << tenon::name(in[k].dtype) << " " << in[k]
            << ": dtypes must agree";
  const TensorType& state = in[in.count - 1];
  if (in.count > 3 + bias && error.empty() &&
      (state.rank != 3 || state[0] != x[0] || state[1] != 2 || state[2] != weight[1])) {
    TensorType wanted = x;
    wanted.extent[1] = 2, wanted.extent[2] = weight[1];
    error << "LSTM of " << x << " got first states h and c " << state << ", it needs " << wanted;
  }
}
}  // namespace detail

/// The gradient of the gates' arguments, [n, T, 4 H]; with first states, the gradient of the first c after that of
/// each sample, [n, T 4 H + H]. Operands: states, recurrent weight, the gradient of LSTM's result, and the first states
/// if there are any. Not for users.
struct LstmGrad : Operator<LstmGrad, "LSTMGrad"> {
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

/// A layer of long short-term memory:  i, f, o = sigmoid, g = tanh of x W_inputᵀ + h Wᵀ + bias;  c = f c + i g;  h = o
/// tanh(c)
///
/// x           [n, T, features] of float32 or float64
/// W_input, W  [4 H, features] and [4 H, H], with the gates in the order i, f, g, o
/// bias        [4 H], or left out: zeros
/// first       [n, 2, H], h and c before the first step, or left out: zeros
/// results     h of all steps, [n, T, H]; h and c of the last step, [n, 2, H]
/// derivative  a time loop for each of the two results that has a gradient; i, f, g, o, and c of every step are kept
///             for it. There is no second derivative
/// order       x W_inputᵀ + h Wᵀ is one chain over the features, then the units, if they are one segment of a MatMul,
///             else the segments of x W_inputᵀ, then those of h Wᵀ; gradients of weights are MatMuls over samples and
///             steps
/// source      Hochreiter and Schmidhuber 1997; gates as MindSpore's and PyTorch's LSTM have them
struct Lstm : Operator<Lstm, "LSTM"> {
  using Config = RecurrentAttributes;
  static constexpr int returns = 2;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].count(n)) / in[0][2] * double(in[1].count(1) + in[2].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config&, Sentence& error) {
    TensorType all = in[0], last = in[0], states = in[0];
    detail::check_lstm(in, error);
    if (error.empty()) {
      all.extent[2] = last.extent[2] = in[2][1], states.extent[2] = 5 * in[2][1];
      last.extent[1] = 2;
    }
    return {all, last, states};
  }
  static constexpr void derivative(Derivative& d) {
    for (const int last : {0, 1})
      if (d.has_gradient(last)) flow(d, last);
  }

 private:
  static constexpr void flow(Derivative& d, int of) {
    Config config = d.config<Lstm>();
    config.last = of;
    const int states = d.result(2), x = d.operand(0), weight = d.operand(2), features = d.type(0)[2],
              hidden = d.type(2)[1];
    const int bias = d.operands() > 3 && d.type(3).rank == 1 ? 3 : 0,
              first = d.operands() > 3 + (bias > 0) ? d.operands() - 1 : 0;
    TensorType gates_type = d.type(0);
    gates_type.extent[2] = 4 * hidden;
    const detail::RecurrentDerivative rule{d, gates_type, hidden, config.reverse != 0};
    const RecurrentPrevious::Config before{config.reverse, 0, 1};
    const int loop = first ? d.call_with<LstmGrad>(config, states, weight, d.gradient(of), d.operand(first))
                           : d.call_with<LstmGrad>(config, states, weight, d.gradient(of));
    const int gates = first ? rule.gates_of(loop) : loop;
    d.flows_to(0, rule.through(gates, d.operand(1), features));
    const int previous = first ? d.call_with<RecurrentPrevious>(before, d.result(0), d.operand(first))
                               : d.call_with<RecurrentPrevious>(before, d.result(0));
    // the gates are packed once
    const int both = rule.weight(gates, d.call_with<Concat>({2}, x, previous), features + hidden);
    d.flows_to(1, d.call_with<Split>({1, 0, features, 0, features + hidden}, both));
    d.flows_to(2, d.call_with<Split>({1, features, hidden, 0, features + hidden}, both));
    if (bias) d.flows_to(bias, gates);
    if (first) d.flows_to(first, d.call_with<Concat>({1}, rule.first_through(gates, weight), rule.state_of(loop)));
  }
};

/// h of all steps, and h and c of the last one, [n, 2, H]. The bias and the first states may follow the weights.
template <bool reverse = false, Operand X, Operand V, Operand W, Operand... More>
constexpr auto lstm(const X& x, const V& input_weight, const W& weight, const More&... bias_and_states) {
  static_assert(sizeof...(More) <= 2, "lstm takes a bias and first states after the weights, or one of them, or none");
  return apply<Lstm, RecurrentAttributes{reverse}>(std::source_location::current(), x, input_weight, weight,
                                                   bias_and_states...);
}

}  // namespace tenon::ops
