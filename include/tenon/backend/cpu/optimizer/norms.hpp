// Sums over whole parameters for optimizers: pieces that threads share, and their totals.
#pragma once

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/optimizer/update.hpp>
#include <tenon/backend/cpu/reduce/accumulation_order.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel {
/// The totals of [2, pieces].
template <class A>
inline void total_sums(const A* sums, long pieces, A (&total)[2]) {
  const auto itself = [](A x) { return x; };
  for (int k = 0; k < 2; ++k) total[k] = lane_sum<A>(pieces, itself, sums + k * pieces);
}
}  // namespace kernel

/// Of two sums over a parameter. The operator's loop has `piece<Call>(arguments, begin, count)`, the TwoSums of some
/// elements: a chain in each of 16 lanes.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::sums_pieces); }
struct Kernel<Cpu, Op> {
  static constexpr KernelFacts facts{.half_gradient = true};
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return Call::result.extent[1];
  }
  template <class Call>
  static constexpr long cost(long) {
    return 4 * Op::piece_elements;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using A = typename Call::Result;
    static_assert(Op::piece_elements == kernel::lane_piece);
    const long count = Call::operand(0).count(1), pieces = Call::result.extent[1];
    for (long piece = begin; piece < end; ++piece) {
      const long first = piece * Op::piece_elements;
      const kernel::TwoSums<A> sums =
          kernel::UpdateLoop<Op>::template piece<Call>(a, first, math::min(Op::piece_elements, count - first));
      a.result<A>()[piece] = sums.first;
      a.result<A>()[pieces + piece] = sums.second;
    }
  }
};

/// Of an operator that makes numbers of an update anew.
template <class Op>
requires requires { requires tenon::detail::is_set(Op::renews_numbers); }
struct Kernel<Cpu, Op> {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using A = typename Call::template Operand<0>;
    A total[2];
    kernel::total_sums(a.operand<A>(0), Call::operand(0).extent[1], total);
    float* const number = a.result<float>();
    for (int i = 0; i < Call::result.extent[0]; ++i) number[i] = a.operand<float>(1)[i];
    long count = 1;
    if constexpr (Call::operands > 2) count = Call::operand(2).count(1);
    Op::renew(total, count, number);
  }
};

}  // namespace tenon
TENON_EXACT_END
