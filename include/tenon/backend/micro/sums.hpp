// How the kernels for microcontrollers finish what they have summed up: the steps of an epilogue, element by element.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::micro {

/// Applies the epilogue of a call to `count` elements of its result from `first` on, which belong to one channel, or
/// with `moves` to channels that follow each other. Null: it has none.
using Finish = void (*)(const Arguments&, long first, long count, long channel);

template <class Call, bool moves, int... K>
void finish_elements(const Arguments& a, long first, long count, long channel, std::integer_sequence<int, K...>) {
  using T = typename Call::Result;
  constexpr int own = Call::Op::operands_before_epilogue;
  [[maybe_unused]] constexpr EpilogueOperand kind[]{epilogue_operand<Call, K>..., number};
  T* const result = a.result<T>() + first;
  for (long i = 0; i < count; ++i)
    result[i] =
        FusedFunction<T, typename Call::Joined>()(result[i], a.operand<T>(own + K)[kind[K] == number  ? 0
                                                                                   : kind[K] == whole ? first + i
                                                                                   : moves            ? channel + i
                                                                                                      : channel]...);
}
template <class Call, bool moves>
void finish_call(const Arguments& a, long first, long count, long channel) {
  finish_elements<Call, moves>(a, first, count, channel,
                               std::make_integer_sequence<int, Call::operands - Call::Op::operands_before_epilogue>{});
}
template <class Call, bool moves>
constexpr Finish finish_of() {
  if constexpr (Call::steps > 0) return &finish_call<Call, moves>;
  else return nullptr;
}

/// Products and convolutions of microcontrollers are of float32: another dtype stops the compilation.
template <class Call>
constexpr void check_float() {
  static_assert(std::is_same_v<typename Call::Result, float>,
                "products and convolutions on a microcontroller are of float32: their FPU has no other numbers");
}

}  // namespace tenon::kernel::micro
TENON_EXACT_END
