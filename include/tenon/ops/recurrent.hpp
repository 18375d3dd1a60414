// Common parts of recurrent operators: parts of the states of a time loop, and the states one step earlier.
#pragma once
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>

namespace tenon::inline TENON_ABI::ops {

/// A layer's settings. Its time loop leaves states [n, T, parts * H]: several numbers per unit, one after the other.
struct RecurrentAttributes {
  int reverse = 0;  // from the last step to the first
  int last = 0;     // the result is of the last step alone
};

/// Elements of a sample, of which kernels take up to 8 at once with distances of 32 bits.
inline constexpr long longest_sample = (1l << 28) - 1;

namespace detail {
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
  for (int k = first_state; k < in.count && error.empty(); ++k)
    if (in[k].rank != 3 || in[k][0] != x[0] || in[k][1] != 1 || in[k][2] != weight[1] || in[k].dtype != x.dtype) {
      TensorType wanted = x;
      wanted.extent[1] = 1, wanted.extent[2] = weight[1];
      error << name << " got an initial state " << tenon::name(in[k].dtype) << " " << in[k] << ", it needs "
            << tenon::name(x.dtype) << " " << wanted << " per layer and direction";
    }
}
/// The type of one part of the states: of all steps, or of the last.
constexpr TensorType part_of(TensorType states, int parts, bool last) {
  states.extent[2] /= parts;
  if (last) states.extent[1] = 1;
  return states;
}
/// A gradient [n, T, width] followed by `hidden` more numbers per sample, as one row per sample.
constexpr TensorType with_state(TensorType t, int hidden) {
  t.extent[1] = t.extent[1] * t.extent[2] + hidden;
  t.extent[2] = 0, t.rank = 2;
  return t;
}

// The nodes that the derivative of a time loop consists of, beside the loop itself. `gates` is the type of the gradient
// of the gates' arguments, [n, T, gates * H].
struct RecurrentDerivative {
  Derivative& d;
  TensorType gates;
  int hidden;
  bool reverse;

  constexpr int as(const TensorType& t, int node) const { return d.call_with<Reshape>(Reshape::to(t), node); }
  constexpr TensorType with_width(int width) const {
    TensorType t = gates;
    t.extent[2] = width;
    return t;
  }
  constexpr TensorType state() const {
    TensorType t = with_width(hidden);
    t.extent[1] = 1;
    return t;
  }
  // One of the two parts that a row of with_state consists of.
  constexpr int piece(int rows, int first, int extent) const {
    return d.call_with<Split>({1, first, extent, 0, gates[1] * gates[2] + hidden}, rows);
  }
  constexpr int gates_of(int rows) const { return as(gates, piece(rows, 0, gates[1] * gates[2])); }
  constexpr int state_of(int rows) const { return as(state(), piece(rows, gates[1] * gates[2], hidden)); }
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
  constexpr int first_through(int gradient, int weight) const {
    SliceWindow first_step = SliceWindow::all(gates, 1);
    first_step.first[SliceWindow::axes - 1] = reverse ? gates[1] - 1 : 0;
    first_step.part[SliceWindow::axes - 1] = 1;
    return d.call<MatMul>(d.call_with<Slice>(first_step, gradient), weight);
  }
};
}  // namespace detail

/// h of the step before each step, that before the first one being h0 or zeros. Operands: states, and the first states
/// [n, 1 or 2, H], of which h0 is the first, if there are any. Not for users.
struct RecurrentPrevious : Operator<RecurrentPrevious, "RecurrentPrevious"> {
  struct Config {
    int reverse = 0, part = 0, parts = 1;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return detail::part_of(in[0], c.parts, false);
  }
};

}  // namespace tenon::ops
