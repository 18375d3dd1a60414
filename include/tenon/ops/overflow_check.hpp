// Looks for infinite numbers and NaN in a gradient.
#pragma once
#include <atomic>
#include <bit>

#include <tenon/eager/apply.hpp>
#include <tenon/graph/guard.hpp>

namespace tenon::inline TENON_ABI {
namespace kernel {
/// True if all numbers are finite: their exponents have a bit that is 0.
template <class T>
bool all_finite(const T* x, long count) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  constexpr Bits exponent = sizeof(T) == 8               ? Bits(0x7ff0000000000000)
                            : sizeof(T) == 4             ? Bits(0x7f800000)
                            : std::is_same_v<T, float16> ? Bits(0x7c00)
                                                         : Bits(0x7f80);
  Bits most = 0;
  for (long i = 0; i < count; ++i) {
    const Bits bits = static_cast<Bits>(std::bit_cast<Bits>(x[i]) & exponent);
    most = bits > most ? bits : most;
  }
  return most != exponent;
}
}  // namespace kernel

namespace ops {
/// Sets a flag (operand 0, int32) if an element of a gradient (operand 1) is infinite or NaN; never resets it. Not for users.
struct OverflowCheck : Operator<OverflowCheck, "OverflowCheck"> {
  static constexpr bool effect = true, linear_work = true, half_gradient = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long) {
    return Call::operand(1).count(1);
  }
  template <class Call>
  static constexpr long cost(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    // Threads share the flag, and all that set it write the same.
    if (!kernel::all_finite(a.operand<typename Call::template Operand<1>>(1) + begin, end - begin))
      std::atomic_ref<std::int32_t>(*a.target<std::int32_t>(0)).store(1, std::memory_order_relaxed);
  }
};
}  // namespace ops
}  // namespace tenon
