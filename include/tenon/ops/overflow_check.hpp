// Looks for infinite numbers and NaN in a gradient.
#pragma once
#include <atomic>

#include <tenon/eager/apply.hpp>
#include <tenon/graph/guard.hpp>
#include <tenon/kernel/cpu/reduce/all_finite.hpp>

namespace tenon::inline TENON_ABI::ops {
/// Sets a flag (operand 0, int32) if an element of a gradient (operand 1) is infinite or NaN; never resets it. Not for
/// users.
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
}  // namespace tenon::ops
