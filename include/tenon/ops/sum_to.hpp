// The derivative of broadcasting.
#pragma once
#include <tenon/ops/argmax_lists.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// Sums x over the axes along which a value of the wanted shape was broadcast. Derivatives insert it; not for users.
///
/// x           any shape; floating-point or integer
/// result      the wanted shape, right-aligned with x, with 1 or no axis where x is summed
/// derivative  dy broadcast to x
/// order       as by backend/cpu/reduce/reduce.hpp; float32 images per channel in float64, in segments of at most 256
///             pixels that are rounded and added up as a tree (backend/order.hpp)
struct SumTo : Operator<SumTo, "SumTo"> {
  struct Config {
    int rank = 0, extent[max_rank]{};
  };
  static constexpr Config to(const TensorType& t) {
    Config c{t.rank, {}};
    for (int axis = 0; axis < t.rank; ++axis) c.extent[axis] = t.extent[axis];
    return c;
  }
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return double(in[0].count(n));
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& wanted, Sentence& error) {
    TensorType t = in[0];
    t.rank = wanted.rank;
    for (int axis = 0; axis < max_rank; ++axis) t.extent[axis] = axis < wanted.rank ? wanted.extent[axis] : 0;
    if (wanted.rank > in[0].rank) error << "SumTo of " << in[0] << " to " << t;
    return t;
  }
  static constexpr void derivative(Derivative& d);
};
TENON_EXACT_END

/// Repeats x along axes of extent 1 (or axes that it lacks) to the wanted shape. The derivative of sums.
struct BroadcastTo;

}  // namespace tenon::ops
