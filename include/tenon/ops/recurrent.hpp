// Common parts of recurrent operators: which operands there are, the derivative around the time loop, and h one step
// earlier.
#pragma once
#include <vector>

#include <tenon/ops/concat.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>

namespace tenon::inline TENON_ABI::ops {

/// A layer's settings.
struct RecurrentAttributes {
  int reverse = 0;  // from the last step to the first
};
/// Settings of a time loop backward: which gradients it gets, of all h or of the last states, or both.
struct RecurrentGradAttributes {
  int reverse = 0, of_all = 0, of_last = 0;
};

/// Elements of a sample, of which kernels take up to 8 at once with distances of 32 bits.
inline constexpr long longest_sample = (1l << 28) - 1;

namespace detail {
/// Whether the last operand of a time loop are the lengths of the samples, [n] of int32, which follow all others.
constexpr bool has_lengths(const OperandTypes& in) { return in.count > 2 && !is_floating(in[in.count - 1].dtype); }
/// The operands before the lengths, if there are any; writes what is wrong with them.
constexpr OperandTypes without_lengths(std::string_view name, OperandTypes in, int reverse, Sentence& error) {
  if (!has_lengths(in)) return in;
  const TensorType lengths = in[--in.count], wanted{{in[0][0]}, 1, Dtype::int32};
  if (lengths.rank > 1)  // a state, it seems
    error << name << " of " << tenon::name(in[0].dtype) << " " << in[0] << " got " << tenon::name(lengths.dtype) << " "
          << lengths << " as last operand: first states are " << tenon::name(in[0].dtype) << ", lengths int32 "
          << wanted;
  else if (lengths.dtype != wanted.dtype || !lengths.same_shape(wanted))
    error << name << " of " << in[0] << " got lengths " << tenon::name(lengths.dtype) << " " << lengths
          << ", it needs int32 " << wanted;
  else if (reverse) error << name << " with lengths runs forward: reverse x and the result by reverse_sequence";
  return in;
}
/// Writes what is wrong with the operands of a time loop: projected input [n, T, gates * H], weight [gates * H, H],
/// initial states [n, 1, H].
constexpr void check_recurrent(std::string_view name, const OperandTypes& in, int gates, int first_state,
                               Sentence& error) {
  const TensorType &x = in[0], &weight = in[1];
  if (x.rank != 3) {
    error << name << " needs an input [n,T,features], got one of rank " << x.rank;
    return;
  }
  if (x.dtype != Dtype::float32 && x.dtype != Dtype::float64)
    error << name << " needs an input of float32 or float64, got " << tenon::name(x.dtype);
  else if (weight.rank != 2 || weight[0] != gates * weight[1] || x[2] != weight[0] || weight.dtype != x.dtype)
    error << name << " got " << tenon::name(weight.dtype) << " " << weight << " as recurrent weight of " << x[2]
          << " gates of " << tenon::name(x.dtype);
  else if (x[1] < 1) error << name << " of " << x << ": a sequence needs 1 step or more";
  for (int k = first_state; k < in.count && error.empty(); ++k)
    if (in[k].rank != 3 || in[k][0] != x[0] || in[k][1] != 1 || in[k][2] != weight[1] || in[k].dtype != x.dtype) {
      TensorType wanted = x;
      wanted.extent[1] = 1, wanted.extent[2] = weight[1];
      error << name << " got an initial state " << tenon::name(in[k].dtype) << " " << in[k] << ", it needs "
            << tenon::name(x.dtype) << " " << wanted << " per layer and direction";
    }
}
/// The results of a layer: all h, [n, T, H]; the last states, [n, states, H]; and what is kept for the gradient,
/// [n, T, parts * H].
constexpr ResultTypes recurrent_results(const TensorType& x, int hidden, int states, int parts) {
  TensorType all = x, last = x, kept = x;
  all.extent[2] = last.extent[2] = hidden, kept.extent[2] = parts * hidden;
  last.extent[1] = states;
  return {all, last, kept};
}

// The nodes that a derivative consists of. In the operands of `Op` the bias, the first states, and the lengths, or some
// of them, or none, follow the weight of h, which is operand Op::weight.
template <class Op>
struct RecurrentDerivative {
  Derivative& d;
  int hidden, bias = 0, first = 0, lengths = 0, reverse;  // 0: left out
  TensorType gates;                                       // of the gradient of the gates' arguments, [n, T, gates * H]

  // A constructor: nvcc evaluates no initializers that refer to d.
  constexpr explicit RecurrentDerivative(Derivative& of)
      : d(of), hidden(of.type(Op::weight)[1]), reverse(of.config<Op>().reverse), gates(of.type(0)) {
    int given = of.operands();
    if (!is_floating(of.type(given - 1).dtype)) lengths = --given;
    if (given > Op::weight + 1 && of.type(Op::weight + 1).rank == 1) bias = Op::weight + 1;
    if (given > Op::weight + 1 + (bias > 0)) first = given - 1;
    gates.extent[2] = of.type(Op::weight)[0];
  }

  constexpr TensorType with_width(int width) const {
    TensorType t = d.type(0);
    t.extent[2] = width;
    return t;
  }
  constexpr int as(const TensorType& t, int node) const { return d.call_with<Reshape>(Reshape::to(t), node); }
  // The time loop backward; `operands` are those before the gradients, `first_states` follow them.
  template <class Grad>
  constexpr int loop(std::vector<int> operands, bool first_states) const {
    for (const int k : {0, 1})
      if (d.has_gradient(k)) operands.push_back(d.gradient(k));
    if (first_states) operands.push_back(d.operand(first));
    if (lengths) operands.push_back(d.operand(lengths));
    return d.call_list<Grad>({reverse, d.has_gradient(0), d.has_gradient(1)}, operands);
  }
  // h of the step before each step.
  constexpr int previous() const;
  // The gradient of a weight: gatesᵀ times what it was multiplied with, [n, T, width], a product over samples and
  // steps.
  constexpr int weight(int gradient, int factor, int width) const {
    return d.call_with<MatMul>({Transposed::first}, as(MatMul::rows_of(gates), gradient),
                               as(MatMul::rows_of(with_width(width)), factor));
  }
  // The gradient of what a weight was multiplied with.
  constexpr int through(int gradient, int weight, int width) const {
    return as(with_width(width), d.call<MatMul>(as(MatMul::rows_of(gates), gradient), weight));
  }
  // The part of the gradient of the first h that comes through the weight.
  constexpr int first_through(int gradient) const {
    SliceWindow first_step = SliceWindow::all(gates, 1);
    first_step.first[SliceWindow::axes - 1] = reverse ? gates[1] - 1 : 0;
    first_step.part[SliceWindow::axes - 1] = 1;
    return d.call<MatMul>(d.call_with<Slice>(first_step, gradient), d.operand(Op::weight));
  }
};
}  // namespace detail

/// h of the step before each step, that before the first one being h0 or zeros. Operands: all h, and the first states
/// [n, 1 or 2, H], of which h0 is the first, if there are any. Not for users.
struct RecurrentPrevious : Operator<RecurrentPrevious, "RecurrentPrevious"> {
  using Config = RecurrentAttributes;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) { return in[0]; }
};
template <class Op>
constexpr int detail::RecurrentDerivative<Op>::previous() const {
  return first ? d.call_with<RecurrentPrevious>({reverse}, d.result(), d.operand(first))
               : d.call_with<RecurrentPrevious>({reverse}, d.result());
}

}  // namespace tenon::ops
