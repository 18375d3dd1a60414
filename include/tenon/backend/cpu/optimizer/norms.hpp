// Sums over whole parameters for optimizers, in pieces that threads share, and the numbers derived from them.
#pragma once
#include <tenon/backend/cpu/optimizer/update.hpp>
#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ClipNumbers;
}

namespace kernel {
/// Base of the kernel of two sums over a parameter, whose `piece<Call>(arguments, begin, count)` returns the TwoSums of
/// some elements: a chain in each of 16 lanes.
template <class Op>
struct PieceSums {
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
  static void run([[maybe_unused]] const Arguments& a, [[maybe_unused]] long begin, [[maybe_unused]] long end) {
#if !defined(__CUDA_ARCH__)  // as in update_by_step
    using A = typename Call::Result;
    static_assert(Op::piece_elements == lane_piece);
    const long elements = Call::operand(0).count(1), pieces = Call::result.extent[1];
    for (long piece = begin; piece < end; ++piece) {
      const long first = piece * lane_piece;
      const TwoSums<A> sums = Kernel<Cpu, Op>::template piece<Call>(a, first, math::min(lane_piece, elements - first));
      a.result<A>()[piece] = sums.first;
      a.result<A>()[pieces + piece] = sums.second;
    }
#endif
  }
};

/// The numbers of an update, copied so that they can be changed.
template <class Call>
inline float* copied_numbers(const Arguments& a, const float* from) {
  float* const number = a.result<float>();
  for (int i = 0; i < Call::result.extent[0]; ++i) number[i] = from[i];
  return number;
}
}  // namespace kernel

template <class Op>
requires requires { requires tenon::detail::is_set(Op::sums_pieces); }
struct Kernel<Cpu, Op> : kernel::PieceSums<Op> {
  template <class Call>
  static auto piece(const Arguments& a, long begin, long elements) {
    using T = typename Call::template Operand<0>;
    kernel::TwoSums<Compute<T>> sums;
    Op::template direction<Compute<T>>(a.operand<float>(Call::operands - 1), [&](auto f) {
      [&]<int... K>(std::integer_sequence<int, K...>) {
        sums = kernel::square_sums<Compute<T>>(elements, f, a.operand<typename Call::template Operand<1>>(1) + begin,
                                               a.operand<T>(0) + begin, (a.operand<T>(K + 2) + begin)...);
      }(std::make_integer_sequence<int, Call::operands - 3>());
    });
    return sums;
  }
};

/// Of an operator that derives the numbers of an update from sums.
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
    const long pieces = Call::operand(0).extent[1];
    A total[2];
    for (int k = 0; k < 2; ++k)
      total[k] = kernel::lane_sum<A>(pieces, [](A x) { return x; }, a.operand<A>(0) + k * pieces);
    long elements = 1;
    if constexpr (Call::operands > 2) elements = Call::operand(2).count(1);
    Op::renew(total, elements, kernel::copied_numbers<Call>(a, a.operand<float>(1)));
  }
};

template <>
struct Kernel<Cpu, ops::ClipNumbers> {
  template <class Call>
  static constexpr KernelWork work(long) {
    return {1, 32, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    Call::Op::renew(*a.operand<double>(1), *a.operand<float>(2), kernel::copied_numbers<Call>(a, a.operand<float>(0)));
  }
};

}  // namespace tenon
TENON_EXACT_END
