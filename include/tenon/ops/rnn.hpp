// Plain recurrent layers with tanh or relu: one layer in one direction.
#pragma once
#include <tuple>

#include <tenon/ops/recurrent.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
constexpr void check_rnn(const OperandTypes& in, Sentence& error) {
  const TensorType &x = in[0], &input_weight = in[1], &weight = in[2];
  const bool bias = in.count > 3 && in[3].rank == 1;
  TensorType state = x;
  state.extent[1] = 1, state.extent[2] = weight[1];
  if (x.rank != 3) error << "RNN needs an input [n,T,features], got " << x;
  else if (x.dtype != Dtype::float32 && x.dtype != Dtype::float64)
    error << "RNN needs an input of float32 or float64, got " << tenon::name(x.dtype) << " " << x;
  else if (input_weight.rank != 2 || x[2] != input_weight[1])
    error << "RNN got an input of " << x[2] << " features " << x << ", its weight " << input_weight << " needs "
          << input_weight.last();
  else if (weight.rank != 2 || weight[0] != weight[1] || weight[0] != input_weight[0] ||
           (bias && in[3][0] != weight[0]))
    error << "RNN got the weights " << input_weight << " and " << weight
          << (bias ? " and a bias of another extent" : "") << ": it needs [H,features], [H,H], and [H]";
  else if (x[1] < 1) error << "RNN of " << x << ": a sequence needs 1 step or more";
  else if (long(x[1]) * x[2] > longest_sample)
    error << "RNN of " << x << ": a sample has at most " << int(longest_sample) << " elements";
  else if (in.count > 3 + bias && !in[in.count - 1].same_shape(state))
    error << "RNN of " << x << " got a first state " << in[in.count - 1] << ", it needs " << state;
  for (int k = 1; k < in.count && error.empty(); ++k)
    if (in[k].dtype != x.dtype)
      error << "RNN of " << tenon::name(x.dtype) << " " << x << " and " << tenon::name(in[k].dtype) << " " << in[k]
            << ": dtypes must agree";
}
}  // namespace detail

/// The time loop backward: the gradient of the arguments of tanh or relu, [n, T, H]. Operands: h of all steps, the
/// recurrent weight, h one step earlier, the gradients of the layer's results that there are, and the lengths if there
/// are any. Not for users.
template <class Op, FixedString Name>
struct RnnGradOf : Operator<Op, Name> {
  using Config = RecurrentGradAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].size(0, n)) * in[0][1] * double(in[1].count(1));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};

/// A plain recurrent layer:  h = f(x W_inputᵀ + h Wᵀ + bias)
///
/// x           [n, T, features] of float32 or float64
/// W_input, W  [H, features] and [H, H]
/// bias        [H], or left out: zeros
/// first       [n, 1, H], h before the first step, or left out: zeros
/// lengths     [n] of int32, the steps 1 .. T of each sample, or left out: T. h is 0 after them
/// results     h of all steps, [n, T, H]; h of the last step, [n, 1, H]
/// derivative  one time loop backward. There is no second derivative
/// order       as Lstm
/// source      Elman 1990; MindSpore's and PyTorch's RNN
template <class Op, class Grad, FixedString Name>
struct RnnOf : Operator<Op, Name> {
  using Config = RecurrentAttributes;
  static constexpr int returns = 2, weight = 2;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].count(n)) / in[0][2] * double(in[1].count(1) + in[2].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const OperandTypes own = detail::without_lengths("RNN", in, c.reverse, error);
    if (error.empty()) detail::check_rnn(own, error);
    TensorType all = in[0], last = in[0];
    all.extent[2] = last.extent[2] = error.empty() ? in[2][1] : 0;
    last.extent[1] = 1;
    return {all, last};
  }
  static constexpr void derivative(Derivative& d) {
    const detail::RecurrentDerivative<Op> rule{d};
    const int features = d.type(0)[2], both = features + rule.hidden, previous = rule.previous();
    const int gates = rule.template loop<Grad>({d.result(), d.operand(weight), previous}, false);
    d.flows_to(0, rule.through(gates, d.operand(1), features));
    const int weights = rule.weight(gates, d.call_with<Concat>({2}, d.operand(0), previous), both);
    d.flows_to(1, d.call_with<Split>({1, 0, features, 0, both}, weights));
    d.flows_to(weight, d.call_with<Split>({1, features, rule.hidden, 0, both}, weights));
    if (rule.bias) d.flows_to(rule.bias, gates);
    if (rule.first) d.flows_to(rule.first, rule.first_through(gates));
  }
};

struct RnnTanhGrad : RnnGradOf<RnnTanhGrad, "RNNGrad"> {};
struct RnnReluGrad : RnnGradOf<RnnReluGrad, "RNNReLUGrad"> {};
struct RnnTanh : RnnOf<RnnTanh, RnnTanhGrad, "RNN"> {};
struct RnnRelu : RnnOf<RnnRelu, RnnReluGrad, "RNNReLU"> {};

/// h of all steps, and h of the last one, [n, 1, H], with f = tanh. The bias, the first state, and lengths may follow
/// the weights.
template <bool reverse = false, Operand X, Operand V, Operand W, Operand... More>
constexpr auto rnn_tanh(const X& x, const V& input_weight, const W& weight, const More&... more) {
  static_assert(sizeof...(More) <= 3, "rnn_tanh takes a bias, a first state, and lengths after the weights");
  return apply<RnnTanh, RecurrentAttributes{reverse}>(std::source_location::current(), x, input_weight, weight,
                                                      more...);
}
/// The same with f = relu.
template <bool reverse = false, Operand X, Operand V, Operand W, Operand... More>
constexpr auto rnn_relu(const X& x, const V& input_weight, const W& weight, const More&... more) {
  static_assert(sizeof...(More) <= 3, "rnn_relu takes a bias, a first state, and lengths after the weights");
  return apply<RnnRelu, RecurrentAttributes{reverse}>(std::source_location::current(), x, input_weight, weight,
                                                      more...);
}

}  // namespace tenon::ops
