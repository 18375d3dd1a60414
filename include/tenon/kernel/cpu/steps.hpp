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
TENON_DEVICE inline T step_argument(const T* operands, const T* results) {
  if constexpr (Source >= step_result) return results[Source - step_result];
  else return operands[Source];
}
template <class Call, int Index, class T>
TENON_DEVICE inline void run_steps(const T* operands, T* results) {
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
TENON_DEVICE inline T fused_element(V... v) {
  const T operands[]{v...};
  T results[Call::description.steps];
  run_steps<Call, 0>(operands, results);
  return results[Call::description.steps - 1];
}

// How an epilogue reads an operand.
enum EpilogueOperand { number, whole, channels };

/// Applies the steps of an epilogue to `count` results from element `first` on. Operands behind those of the operator
/// itself belong to the epilogue. One with a value per channel is read at `channel`, advancing by `channel_step`; one
/// with the shape of the result at the element's own place; a single number at 0.
template <class Call, int... K>
inline void apply_steps_to(const Arguments& a, long first, long count, [[maybe_unused]] long channel, [[maybe_unused]] long channel_step, std::integer_sequence<int, K...>) {
  using T = typename Call::Result;
  [[maybe_unused]] constexpr auto kind = [](int k) {
    const TensorType t = Call::operand(Call::Op::operands_before_epilogue + k);
    return t.count(1) == 1 && !t.batched() ? number : t.same_shape(Call::result) ? whole : channels;
  };
  T* const result = a.result<T>() + first;
  const T* const operand[]{nullptr, a.operand<T>(Call::Op::operands_before_epilogue + K) + (kind(K) == number ? 0 : kind(K) == whole ? first : channel)...};
  for (long i = 0; i < count; ++i)
    result[i] = fused_element<Call, T>(result[i], operand[K + 1][kind(K) == number ? 0 : kind(K) == whole ? i : i * channel_step]...);
}
template <class Call>
inline void apply_steps(const Arguments& a, long first, long count, long channel, long channel_step) {
  constexpr auto operands = std::make_integer_sequence<int, Call::operands - Call::Op::operands_before_epilogue>{};
  if (channel_step == 0) apply_steps_to<Call>(a, first, count, channel, 0, operands);
  else apply_steps_to<Call>(a, first, count, channel, 1, operands);
}

}  // namespace tenon::kernel
TENON_EXACT_END
