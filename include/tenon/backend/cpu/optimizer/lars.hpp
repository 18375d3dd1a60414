// LARS: the loop of its norms.
#pragma once
#include <tenon/backend/cpu/optimizer/norms.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct LarsSquares;
}

namespace kernel {

template <>
struct UpdateLoop<ops::LarsSquares> {
  template <class Call>
  static auto piece(const Arguments& a, long begin, long count) {
    using T = typename Call::template Operand<0>;
    using G = typename Call::template Operand<1>;
    using A = typename Call::Result;
    const A scale = A(a.operand<float>(2)[2]);
    const auto square = [](auto p, auto) { return A(p) * A(p); };
    const auto slope = [=](auto, auto g) { return (A(g) * scale) * (A(g) * scale); };
    return lane_sums<A>(count, square, slope, a.operand<T>(0) + begin, a.operand<G>(1) + begin);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
