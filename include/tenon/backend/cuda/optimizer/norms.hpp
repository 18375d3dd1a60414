// Sums over whole parameters for optimizers, in the CPU's pieces, and the numbers derived from them.
#pragma once
#include <tenon/backend/cuda/optimizer/update.hpp>
#include <tenon/backend/cuda/reduce/rows.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ClipNumbers;
}

namespace kernel::cuda {

/// A warp for each piece of the parameter, operand 0: its first 16 lanes add up the squares of the elements, the others
/// those of the values that the kernel gives: each_part<C>(arguments, begin, end, add) calls add(first, count, value)
/// for parts of a piece, whose sums are added one after the other; value(i) is that of element i.
template <class C>
struct SumPieces {
  using A = typename C::Result;
  static constexpr int threads = 128;
  static constexpr long pieces = C::result[1];

  static long blocks(long) { return blocks_for(pieces * warp, threads); }
  __device__ static void block(const Arguments& a) {
    static_assert(C::Op::piece_elements == lane_piece);
    const long piece = thread_of_grid() / warp, count = operand_count<C, 0>(1), begin = piece * lane_piece,
               end = begin + lane_piece < count ? begin + lane_piece : count;
    if (piece >= pieces) return;
    const bool second = int(threadIdx.x) % warp >= lanes;
    const auto* const parameter = a.operand<typename C::template Operand<0>>(0);
    A total = 0;
    Kernel<Cuda, typename C::Op>::template each_part<C>(a, begin, end, [&](long first, long length, auto value) {
      A sum = 0;
      for (long i = first + lane_of_row(); i < first + length; i += lanes) {
        const A x = second ? value(i) : static_cast<A>(parameter[i]);
        sum += x * x;
      }
      total += sum_of_lanes(sum);
    });
    if (lane_of_row() == 0) a.result<A>()[piece + (second ? pieces : 0)] = total;
  }
};

/// The numbers of an update, operand K, copied, then changed by one thread.
template <class C, int K, class Change>
__device__ void renew_numbers(const Arguments& a, Change change) {
  if (threadIdx.x != 0) return;
  float* const number = a.result<float>();
  for (long i = 0; i < result_count<C>(1); ++i) number[i] = a.operand<float>(K)[i];
  change(number);
}
template <class C>
struct RenewFromSums {
  using A = typename C::template Operand<0>;
  static constexpr long pieces = C::operand(0)[1];
  using Team = RowTeam<pieces>;
  static constexpr int threads = Team::threads;

  static long blocks(long) { return 1; }
  __device__ static void block(const Arguments& a) {
    const Team team(1, pieces);
    const A* const sums = a.operand<A>(0);
    const A total[]{team.template sum<A>([&](int, long i) { return sums[i]; }),
                    team.template sum<A>([&](int, long i) { return sums[pieces + i]; })};
    long elements = 1;
    if constexpr (C::operands > 2) elements = operand_count<C, 2>(1);
    renew_numbers<C, 1>(a, [&](float* number) { C::Op::renew(total, elements, number); });
  }
};
template <class C>
struct ClipNumbers {
  static constexpr int threads = warp;
  static long blocks(long) { return 1; }
  __device__ static void block(const Arguments& a) {
    renew_numbers<C, 0>(a, [&](float* number) { C::Op::renew(*a.operand<double>(1), *a.operand<float>(2), number); });
  }
};

}  // namespace kernel::cuda

template <class Op>
requires requires { requires tenon::detail::is_set(Op::sums_pieces); }
struct Kernel<Cuda, Op> : kernel::cuda::Launches<kernel::cuda::SumPieces> {
  static constexpr KernelFacts facts{.half_gradient = true};

  template <class Call, class Add>
  __device__ static void each_part(const Arguments& a, long begin, long end, Add add) {
    using A = typename Call::Result;
    const auto* const gradient = a.operand<typename Call::template Operand<1>>(1);
    Op::template direction<A>(a.operand<float>(Call::operands - 1), [&](auto f) {
      add(begin, end - begin, [&](long i) {
        return [&]<int... K>(std::integer_sequence<int, K...>) {
          using T = typename Call::template Operand<0>;
          A value[]{static_cast<A>(a.operand<T>(0)[i]), static_cast<A>(a.operand<T>(K + 2)[i])...};
          return static_cast<A>(f(static_cast<A>(gradient[i]), value[0], value[K + 1]...));
        }(std::make_integer_sequence<int, Call::operands - 3>());
      });
    });
  }
};

template <class Op>
requires requires { requires tenon::detail::is_set(Op::renews_numbers); }
struct Kernel<Cuda, Op> : kernel::cuda::Launches<kernel::cuda::RenewFromSums> {};

template <>
struct Kernel<Cuda, ops::ClipNumbers> : kernel::cuda::Launches<kernel::cuda::ClipNumbers> {};

}  // namespace tenon
TENON_EXACT_END
