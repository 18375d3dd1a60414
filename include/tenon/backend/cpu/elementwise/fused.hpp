// Fused element-wise steps: operators, one after the other, applied to one element while it is in a register.
#pragma once
#include <tenon/backend/cpu/elementwise/elementwise.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

// The value a step's argument has: an operand's element, or what an earlier step left. Every step rounds to the dtype
// it would have had as a kernel of its own, which for all operands of one fused node is T. 16-bit floats stay in
// float32 meanwhile, and the store of the last one rounds it.
template <class T>
using StepValue = std::conditional_t<is_half<T>, float, T>;
template <int Source, class V>
[[gnu::always_inline]] TENON_DEVICE inline V step_argument(const V* operands, const V* results) {
  if constexpr (Source >= step_result) return results[Source - step_result];
  else return operands[Source];
}
template <class Program, class T, int Index>
[[gnu::always_inline]] TENON_DEVICE inline void run_steps(const StepValue<T>* operands, StepValue<T>* results) {
  if constexpr (Index < Program::count) {
    constexpr Step step = Program::at(Index);
    using Op = OperatorById<step.op>;
    const auto keep = [results](auto value) __attribute__((always_inline)) {
      if constexpr (is_half<T> && Index < Program::count - 1) results[Index] = T::rounded(value);
      else results[Index] = static_cast<StepValue<T>>(value);
    };
    const StepValue<T> a = step_argument<step.source[0]>(operands, results);
    if constexpr (step.source[1] == no_source) keep(Op::evaluate(a));
    else if constexpr (step.source[2] == no_source)
      keep(Op::evaluate(a, step_argument<step.source[1]>(operands, results)));
    else if constexpr (step.source[3] == no_source)
      keep(Op::evaluate(a, step_argument<step.source[1]>(operands, results),
                        step_argument<step.source[2]>(operands, results)));
    else
      keep(Op::evaluate(a, step_argument<step.source[1]>(operands, results),
                        step_argument<step.source[2]>(operands, results),
                        step_argument<step.source[3]>(operands, results)));
    run_steps<Program, T, Index + 1>(operands, results);
  }
}

/// A fused program as a function of elements of its operands.
template <class T, class Program>
struct FusedFunction {
  template <class... V>
  [[gnu::always_inline]] TENON_DEVICE StepValue<T> operator()(V... v) const {
    const StepValue<T> operands[]{static_cast<StepValue<T>>(v)...};
    StepValue<T> results[Program::count];
    run_steps<Program, T, 0>(operands, results);
    return results[Program::count - 1];
  }
};

// How an epilogue reads an operand.
enum EpilogueOperand { number, whole, channels };
template <class Call, int K>
inline constexpr EpilogueOperand epilogue_operand = [] {
  const TensorType t = Call::operand(Call::Op::operands_before_epilogue + K);
  return t.count(1) == 1 && !t.batched() ? number : t.same_shape(Call::result) ? whole : channels;
}();

/// Applies the steps of an epilogue to `count` results from element `first` on. Operands after those of the operator
/// itself belong to the epilogue. One with a value per channel is read at `channel`, moving with the elements or not;
/// one with the shape of the result at the element's own place; a single number at 0.
template <class Call, bool moves, int... K>
inline void apply_steps_to(const Arguments& a, long first, long count, [[maybe_unused]] long channel,
                           std::integer_sequence<int, K...>) {
  using T = typename Call::Result;
  [[maybe_unused]] constexpr EpilogueOperand kind[]{epilogue_operand<Call, K>..., number};
  T* const result = a.result<T>() + first;
  constexpr std::integer_sequence<bool, true, (kind[K] == whole || (kind[K] == channels && moves))...> move;
  // a tiny row in unrolled code, through local arrays: so nothing overlaps
  if (__builtin_constant_p(count) && count <= 16) {
    T own[16];
    for (long i = 0; i < count; ++i)
      own[i] = FusedFunction<T, typename Call::Joined>()(
          result[i], (a.operand<T>(Call::Op::operands_before_epilogue + K) +
                      (kind[K] == number  ? 0
                       : kind[K] == whole ? first
                                          : channel))[kind[K] == whole || (kind[K] == channels && moves) ? i : 0]...);
    for (long i = 0; i < count; ++i) result[i] = own[i];
    return;
  }
  map_row(FusedFunction<T, typename Call::Joined>(), move, result, count, static_cast<const T*>(result),
          (a.operand<T>(Call::Op::operands_before_epilogue + K) + (kind[K] == number  ? 0
                                                                   : kind[K] == whole ? first
                                                                                      : channel))...);
}
template <class Call, bool moves>
inline void apply_steps(const Arguments& a, long first, long count, long channel) {
  apply_steps_to<Call, moves>(a, first, count, channel,
                              std::make_integer_sequence<int, Call::operands - Call::Op::operands_before_epilogue>{});
}

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct Fused;
}

template <>
struct Kernel<Cpu, ops::Fused> {
  static constexpr KernelFacts facts{.in_place = true, .nchw16n = Nchw16n::follows};
  using Chain = ops::Fused;
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static constexpr int row_axes() {
    return kernel::RowLayout<Call>::row_axes();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, kernel::FusedFunction<typename Call::Result, typename Call::Joined>>(a, begin, end);
  }
  /// Without rows to walk, blocks of samples are one row as well, only longer.
  template <class Call>
  static constexpr bool runs_alike() {
    return kernel::RowLayout<Call>::flat;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::elementwise_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, kernel::FusedFunction<typename Call::Result, typename Call::Joined>, true>(a, begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
