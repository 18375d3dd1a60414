// Gated recurrent unit: one layer in one direction.
#pragma once
#include <tuple>

#include <tenon/ops/compare.hpp>
#include <tenon/ops/recurrent.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sum_to.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The time loop backward: the gradient of the projected input, [n, T, 3 H]; the part of h0's gradient that does not
/// come through the weight, [n, 1, H]; and the gradient of h W + b, [n, T, 3 H]. Operands: what is kept, weight, h one
/// step earlier, the gradients of GRU's results that there are, and the lengths if there are any. Not for users.
struct GruGrad : Operator<GruGrad, "GRUGrad"> {
  using Config = RecurrentGradAttributes;
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].size(0, n)) * in[0][1] * double(in[1].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType gates = in[0], first = in[0];
    gates.extent[2] = in[1][0], first.extent[1] = 1, first.extent[2] = in[1][1];
    return {gates, first, gates};
  }
};

/// A layer of gated recurrent units:  r, z = sigmoid of (projected + h W + b);  m = tanh(projected + r (h W + b));  h =
/// m + z (h - m)
///
/// projected   [n, T, 3 H], the part of the gates (in the order r, z, m) that comes from the input, with its bias;
///             float32 or float64
/// weight      [3 H, H]
/// bias        [3 H], or left out: zeros
/// h0          [n, 1, H], or left out: zeros
/// lengths     [n] of int32, the steps 1 .. T of each sample, or left out: T. h is 0 after them
/// results     h of all steps, [n, T, H]; h of the last step, [n, 1, H]
/// derivative  to projected, weight, bias, and h0: one time loop backward, for which r, z, m, and h W + b of m are kept
///             of every step. There is no second derivative
/// order       h W is summed as by MatMul; gradients of the weight are MatMuls over samples and steps
/// source      Cho and others, arXiv 1406.1078; the form of MindSpore's and PyTorch's GRU, where r multiplies h W + b
struct Gru : Operator<Gru, "GRU"> {
  using Config = RecurrentAttributes;
  static constexpr int returns = 2, weight = 1;
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 2 * double(in[0].size(0, n)) * in[0][1] * double(in[1].count(1));
  }
  static constexpr ResultTypes shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const OperandTypes own = detail::without_lengths("GRU", in, c.reverse, error);
    if (error.empty()) detail::check_recurrent("GRU", own, 3, own.count > 2 && own[2].rank == 1 ? 3 : 2, error);
    return detail::recurrent_results(in[0], error.empty() ? in[1][1] : 0, 1, 4);
  }
  static constexpr void derivative(Derivative& d) {
    const detail::RecurrentDerivative<Gru> rule{d};
    const int previous = rule.previous();
    const std::vector<int> operands{d.result(2), d.operand(weight), previous};
    const bool both = rule.lengths && d.has_gradient(0) && d.has_gradient(1);  // too many operands: their sum
    const int gates = both ? d.call_with<GruGrad>({rule.reverse, 1, 0}, operands[0], operands[1], previous,
                                                  sum_of_gradients(d, rule.lengths), d.operand(rule.lengths))
                           : rule.loop<GruGrad>(operands, false),
              own = d.result_of(gates, 2);
    d.flows_to(0, gates);
    d.flows_to(weight, rule.weight(own, previous, rule.hidden));
    if (rule.bias) d.flows_to(rule.bias, own);
    if (rule.first) {
      d.flows_to(rule.first, rule.first_through(own));
      d.flows_to(rule.first, d.result_of(gates, 1));
    }
  }

 private:
  // The gradient of all h, to which that of the last h is added at the last step of each sample.
  static constexpr int sum_of_gradients(Derivative& d, int lengths) {
    const TensorType x = d.type(0), samples{{x[0], 1}, 2, Dtype::int32}, steps{{x[0], x[1], 1}, 3, Dtype::bool_};
    const int numbers = d.call_with<Arange>({x[1], 1, 1, Dtype::int32}, d.operand(lengths)),
              own = d.call_with<Reshape>(Reshape::to(samples), d.operand(lengths)),
              is_last = d.call_with<Reshape>(Reshape::to(steps), d.call<Equal>(own, numbers));
    return d.call<Add>(d.gradient(0), d.call<Select>(is_last, d.gradient(1), d.constant(0)));
  }
};

/// h of all steps, and h of the last one, [n, 1, H]. `projected`: x Wᵀ + b of the input; then optionally the bias
/// beside the weight, h0, and lengths.
template <bool reverse = false, Operand X, Operand W, Operand... More>
constexpr auto gru(const X& projected, const W& weight, const More&... bias_and_state) {
  static_assert(sizeof...(More) <= 3,
                "gru takes a bias, an initial state, and lengths after the weight, or some of them");
  return apply<Gru, RecurrentAttributes{reverse}>(std::source_location::current(), projected, weight,
                                                  bias_and_state...);
}

}  // namespace tenon::ops
