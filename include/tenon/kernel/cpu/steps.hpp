// Fused element-wise steps: a chain of operators applied to one element while it is in a register.
#pragma once
#include <tenon/kernel/cpu/elementwise.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template <class Call>
constexpr Step step_of(int index) {
  return Step::unpack(Call::description.program[2 * index], Call::description.program[2 * index + 1]);
}

// The value a step's argument has: an operand's element, or what an earlier step left. Every step rounds to the dtype
// it would have had as a kernel of its own, which for all operands of one fused node is T.
template <class Call, int Source, class T>
inline T step_argument(const T* operands, const T* results) {
  if constexpr (Source >= step_result) return results[Source - step_result];
  else return operands[Source];
}
template <class Call, int Index, class T>
inline void run_steps(const T* operands, T* results) {
  if constexpr (Index < Call::description.steps) {
    constexpr Step step = step_of<Call>(Index);
    using Op = OperatorById<step.op>;
    const T a = step_argument<Call, step.source[0]>(operands, results);
    if constexpr (step.source[1] == no_source) results[Index] = static_cast<T>(Op::evaluate(a));
    else if constexpr (step.source[2] == no_source) results[Index] = static_cast<T>(Op::evaluate(a, step_argument<Call, step.source[1]>(operands, results)));
    else results[Index] = static_cast<T>(Op::evaluate(a, step_argument<Call, step.source[1]>(operands, results), step_argument<Call, step.source[2]>(operands, results)));
    run_steps<Call, Index + 1>(operands, results);
  }
}

/// The fused program applied to elements of the operands.
template <class Call, class T, class... V>
inline T fused_element(V... v) {
  const T operands[]{v...};
  T results[Call::description.steps];
  run_steps<Call, 0>(operands, results);
  return results[Call::description.steps - 1];
}

/// Applies the steps of an epilogue to `count` results from element `first` on. Operands behind those of the operator
/// itself belong to the epilogue. One with a value per channel is read at `channel`, advancing by `channel_step`; one
/// with the shape of the result at the element's own place; a single number at 0.
template <class Call>
inline void apply_steps(const Arguments& a, long first, long count, long channel, long channel_step) {
  using T = typename Call::Result;
  constexpr int own = Call::Op::operands_before_epilogue, extra = Call::operands - own;
  T* result = a.result<T>() + first;
  [&]<int... K>(std::integer_sequence<int, K...>) {
    const auto start = [&](int k) {
      const T* x = static_cast<const T*>(a.buffer[own + k + 1]);
      const TensorType t = Call::operand(own + k);
      return t.count(1) == 1 && !t.batched() ? x : t.same_shape(Call::result) ? x + first : x + channel;
    };
    constexpr auto moves = [](int k) {
      const TensorType t = Call::operand(own + k);
      return t.count(1) == 1 && !t.batched() ? 0 : t.same_shape(Call::result) ? 1 : 2;
    };
    const auto loop = [&](long step, const T*... x) {
      for (long i = 0; i < count; ++i) result[i] = fused_element<Call, T>(result[i], x[moves(K) == 0 ? 0 : moves(K) == 1 ? i : i * step]...);
    };
    if (channel_step == 0) loop(0, start(K)...);
    else loop(1, start(K)...);
  }(std::make_integer_sequence<int, extra>{});
}

}  // namespace tenon::kernel
TENON_EXACT_END
