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

// Applies the steps to Count results; `operand` has the first values that they meet, of which those that `moves` says are
// followed by Count - 1 others. Through local arrays: so the compiler sees that nothing overlaps, and makes vectors.
template <class Call, int Count, class T, int... K>
[[gnu::always_inline]] inline void apply_steps_block(T* result, const T* const* operand, const bool* moves, std::integer_sequence<int, K...>) {
  T own[Count], read[sizeof...(K) + 1][Count];
  __builtin_memcpy(own, result, sizeof own);
  [[maybe_unused]] const auto fetch = [&](int k) {
    if (moves[k]) __builtin_memcpy(read[k], operand[k], sizeof read[k]);
    else
      for (int i = 0; i < Count; ++i) read[k][i] = *operand[k];
  };
  (fetch(K), ...);
  for (int i = 0; i < Count; ++i) own[i] = fused_element<Call, T>(own[i], read[K][i]...);
  __builtin_memcpy(result, own, sizeof own);
}

/// Applies the steps of an epilogue to `count` results from element `first` on. Operands behind those of the operator
/// itself belong to the epilogue. One with a value per channel is read at `channel`, advancing by ChannelStep; one
/// with the shape of the result at the element's own place; a single number at 0.
template <class Call, int ChannelStep, int... K>
[[gnu::always_inline]] inline void apply_steps_to(const Arguments& a, long first, long count, [[maybe_unused]] long channel, std::integer_sequence<int, K...> operands) {
  using T = typename Call::Result;
  [[maybe_unused]] constexpr auto kind = [](int k) {
    const TensorType t = Call::operand(Call::Op::operands_before_epilogue + k);
    return t.count(1) == 1 && !t.batched() ? number : t.same_shape(Call::result) ? whole : channels;
  };
  T* result = a.result<T>() + first;
  const T* operand[]{a.operand<T>(Call::Op::operands_before_epilogue + K) + (kind(K) == number ? 0 : kind(K) == whole ? first : channel)..., nullptr};
  constexpr bool moves[]{kind(K) == whole || (kind(K) == channels && ChannelStep)..., false};
  const auto blocks = [&]<int Size>(std::integral_constant<int, Size>) {
    for (; count >= Size; count -= Size, result += Size) {
      apply_steps_block<Call, Size>(result, operand, moves, operands);
      ((operand[K] += moves[K] ? Size : 0), ...);
    }
  };
  blocks(std::integral_constant<int, 16>());
  blocks(std::integral_constant<int, 4>());
  blocks(std::integral_constant<int, 1>());
}
template <class Call>
inline void apply_steps(const Arguments& a, long first, long count, long channel, long channel_step) {
  constexpr auto operands = std::make_integer_sequence<int, Call::operands - Call::Op::operands_before_epilogue>{};
  if (channel_step == 0) apply_steps_to<Call, 0>(a, first, count, channel, operands);
  else apply_steps_to<Call, 1>(a, first, count, channel, operands);
}

}  // namespace tenon::kernel
TENON_EXACT_END
