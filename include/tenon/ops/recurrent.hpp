// What the operators of recurrent layers share: parts of the states that a time loop leaves, and states one step earlier.
#pragma once
#include <tenon/kernel/cpu/strided.hpp>
#include <tenon/kernel/kernel.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>

namespace tenon::inline TENON_ABI::ops {

/// A layer's settings. Its time loop leaves states [n, T, parts * H]: several numbers per unit, one behind the other.
struct RecurrentAttributes {
  int reverse = 0;  // from the last step to the first
  int part = 0;     // which part of the states the result is
  int last = 0;     // of the last step alone, [n, 1, H], instead of all, [n, T, H]
};

namespace detail {
/// Writes what is wrong with the operands of a time loop: projected input [n, T, gates * H], weight [gates * H, H], initial states [n, 1, H].
constexpr void check_recurrent(std::string_view name, const OperandTypes& in, int gates, int first_state, Sentence& error) {
  const TensorType &x = in[0], &weight = in[1];
  if (x.rank != 3) {
    error << name << " needs an input [n,T,features], got one of rank " << x.rank;
    return;
  }
  if (x.dtype != Dtype::float32 && x.dtype != Dtype::float64) error << name << " needs an input of float32 or float64, got " << tenon::name(x.dtype);
  else if (weight.rank != 2 || weight[0] != gates * weight[1] || x[2] != weight[0] || weight.dtype != x.dtype)
    error << name << " got " << tenon::name(weight.dtype) << " " << weight << " as recurrent weight of " << x[2] << " gates of " << tenon::name(x.dtype);
  for (int k = first_state; k < in.count && error.empty(); ++k)
    if (in[k].rank != 3 || in[k][0] != x[0] || in[k][1] != 1 || in[k][2] != weight[1] || in[k].dtype != x.dtype) {
      TensorType wanted = x;
      wanted.extent[1] = 1, wanted.extent[2] = weight[1];
      error << name << " got an initial state " << tenon::name(in[k].dtype) << " " << in[k] << ", it needs " << tenon::name(x.dtype) << " " << wanted << " per layer and direction";
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

// The nodes that the derivative of a time loop consists of, beside the loop itself.
struct RecurrentDerivative {
  Derivative& d;
  int hidden;
  bool reverse;

  constexpr int as(const TensorType& t, int node) const { return d.call_with<Reshape>(Reshape::to(t), node); }
  constexpr TensorType state() const { return part_of(d.type(1), d.type(1)[2] / hidden, true); }
  // One of the two parts that a row of with_state consists of.
  constexpr int piece(int rows, int first, int extent) const {
    const int total = d.type(1)[1] * d.type(1)[2] + hidden;
    return d.call_with<Split>({1, first, extent, 0, total}, rows);
  }
  constexpr int gates_of(int rows) const { return as(d.type(1), piece(rows, 0, d.type(1)[1] * d.type(1)[2])); }
  constexpr int state_of(int rows) const { return as(state(), piece(rows, d.type(1)[1] * d.type(1)[2], hidden)); }
  // The gradient of the weight: gatesᵀ h of the step before, one chain over samples and steps.
  constexpr int weight(int gates, int before) const {
    TensorType wide = MatMul::rows_of(d.type(1)), narrow = wide;
    narrow.extent[1] = hidden;
    return d.call_with<MatMul>({Transposed::first}, as(wide, gates), as(narrow, before));
  }
  // The part of the gradient of h0 that comes through the weight.
  constexpr int through_weight(int gates, int weight) const {
    const TensorType all = d.type(1);
    SliceWindow first_step = SliceWindow::all(all, 1);
    first_step.first[kernel::window_axes - 1] = reverse ? all[1] - 1 : 0;
    first_step.part[kernel::window_axes - 1] = 1;
    return d.call<MatMul>(d.call_with<Slice>(first_step, gates), weight);
  }
};

/// Copies part `part` of the states, of all steps or of one, for the samples begin .. end - 1.
template <class T>
inline void copy_states(const T* states, long steps, long width, long hidden, long part, long from, long count, T* to, long begin, long end) {
  for (long sample = begin; sample < end; ++sample)
    kernel::copy_matrix(states + (sample * steps + from) * width + part * hidden, width, 1, to + sample * count * hidden, hidden, count, hidden, 0);
}
}  // namespace detail

/// h of the step before each step, that before the first one being h0 or zeros. Operands: states, and h0 if there is one. Not for users.
struct RecurrentPrevious : Operator<RecurrentPrevious, "RecurrentPrevious"> {
  struct Config {
    int reverse = 0, part = 0, parts = 1;
  };
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) { return detail::part_of(in[0], c.parts, false); }
  template <class Call> static constexpr long items(long n) { return Call::result.size(0, n); }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long steps = Call::result[1], hidden = Call::result[2], width = Call::operand(0)[2];
    constexpr auto c = Call::config();
    for (long sample = begin; sample < end; ++sample) {
      const T* const states = a.operand<T>(0) + sample * steps * width + c.part * hidden + (c.reverse ? width : 0);
      T* const to = a.result<T>() + sample * steps * hidden;
      kernel::copy_matrix(states, width, 1, to + (c.reverse ? 0 : hidden), hidden, steps - 1, hidden, 0);
      T* const first = to + (c.reverse ? (steps - 1) * hidden : 0);
      if constexpr (Call::operands > 1) kernel::copy_row(a.operand<T>(1) + sample * hidden, first, hidden);
      else kernel::clear(first, hidden);
    }
  }
};

}  // namespace tenon::ops
