// Long short-term memory: one layer in one direction.
#pragma once
#include <tuple>

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
  else if (x[1] < 1) error << "LSTM of " << x << ": a sequence needs 1 step or more";
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

/// The time loop backward: the gradient of the gates' arguments, [n, T, 4 H], and that of the first c, [n, 1, H].
/// Operands: what is kept, recurrent weight, the gradients of LSTM's results that there are, and the first states and
/// the lengths if there are any. Not for users.
struct LstmGrad : Operator<LstmGrad, "LSTMGrad"> {
  using Config = RecurrentGradAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].size(0, n)) * in[0][1] * double(in[1].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType gates = in[0], first = in[0];
    gates.extent[2] = in[1][0], first.extent[1] = 1, first.extent[2] = in[1][1];
    return {gates, first};
  }
};

/// A layer of long short-term memory:  i, f, o = sigmoid, g = tanh of x W_inputᵀ + h Wᵀ + bias;  c = f c + i g;  h = o
/// tanh(c)
///
/// x           [n, T, features] of float32 or float64
/// W_input, W  [4 H, features] and [4 H, H], with the gates in the order i, f, g, o
/// bias        [4 H], or left out: zeros
/// first       [n, 2, H], h and c before the first step, or left out: zeros
/// lengths     [n] of int32, the steps 1 .. T of each sample, or left out: T. h is 0 after them
/// results     h of all steps, [n, T, H]; h and c of the last step, [n, 2, H]
/// derivative  one time loop backward; i, f, g, o, and c of every step are kept for it. There is no second derivative
/// order       x W_inputᵀ + h Wᵀ is one chain over the features, then the units, if they are one segment of a MatMul,
///             else the segments of x W_inputᵀ, then those of h Wᵀ; gradients of weights are MatMuls over samples and
///             steps
/// source      Hochreiter and Schmidhuber 1997; gates as MindSpore's and PyTorch's LSTM have them
struct Lstm : Operator<Lstm, "LSTM"> {
  using Config = RecurrentAttributes;
  static constexpr int returns = 2, weight = 2;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].count(n)) / in[0][2] * double(in[1].count(1) + in[2].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const OperandTypes own = detail::without_lengths("LSTM", in, c.reverse, error);
    if (error.empty()) detail::check_lstm(own, error);
    return detail::recurrent_results(in[0], error.empty() ? in[2][1] : 0, 2, 5);
  }
  static constexpr void derivative(Derivative& d) {
    const detail::RecurrentDerivative<Lstm> rule{d};
    const int features = d.type(0)[2], both = features + rule.hidden;
    const int gates = rule.loop<LstmGrad>({d.result(2), d.operand(weight)}, rule.first > 0);
    d.flows_to(0, rule.through(gates, d.operand(1), features));
    // the gates are packed once
    const int weights = rule.weight(gates, d.call_with<Concat>({2}, d.operand(0), rule.previous()), both);
    d.flows_to(1, d.call_with<Split>({1, 0, features, 0, both}, weights));
    d.flows_to(weight, d.call_with<Split>({1, features, rule.hidden, 0, both}, weights));
    if (rule.bias) d.flows_to(rule.bias, gates);
    if (rule.first) d.flows_to(rule.first, d.call_with<Concat>({1}, rule.first_through(gates), d.result_of(gates, 1)));
  }
};

/// h of all steps, and h and c of the last one, [n, 2, H]. The bias, the first states, and lengths may follow the
/// weights.
template <bool reverse = false, Operand X, Operand V, Operand W, Operand... More>
constexpr auto lstm(const X& x, const V& input_weight, const W& weight, const More&... bias_and_states) {
  static_assert(sizeof...(More) <= 3,
                "lstm takes a bias, first states, and lengths after the weights, or some of them");
  return apply<Lstm, RecurrentAttributes{reverse}>(std::source_location::current(), x, input_weight, weight,
                                                   bias_and_states...);
}

}  // namespace tenon::ops
