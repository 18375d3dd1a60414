// The operator that adds up the gradients of several batches.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/graph/ir/guard.hpp>

namespace tenon::inline TENON_ABI {

/// What the overflow flag is in a step whose gradients are only added up.
inline constexpr std::int32_t no_update_yet = 2;

namespace ops {
/// Adds a gradient (operand 1) to a sum of gradients (operand 0, float32 or float64), or begins the sum with it where
/// operand 2 is not 0. A product that computes a gradient can add it itself, as with an update. Not for users.
struct AccumulateGradient : Operator<AccumulateGradient, "AccumulateGradient"> {
  static constexpr bool effect = true, update = true, updates_elements = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <auto config, class C>
  TENON_DEVICE static void step(const float* first, auto each) {
    // a choice outside of the loop: 0 times a NaN of the update before would stay
    if (*first != 0) each([]<class V>(V g, V& sum) __attribute__((always_inline)) { sum = g; });
    else each([]<class V>(V g, V& sum) __attribute__((always_inline)) { sum = sum + g; });
  }
};
}  // namespace ops

}  // namespace tenon
