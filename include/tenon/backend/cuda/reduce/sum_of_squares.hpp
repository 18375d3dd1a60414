// Sum of squares of a gradient in double, in the order of lane_sum.
#pragma once
#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfSquares;
struct AddSquares;
}  // namespace ops

namespace kernel::cuda {

/// The squares of operand K of C: a half warp per piece of 1024, a tile of pieces per block.
template <class C, int K>
struct SquaresOfTiles {
  static constexpr int threads = 256, pieces = threads / lanes;
  TENON_DEVICE static constexpr long all_pieces(long n) {
    const long count = operand_count<C, K>(n);
    return count <= lane_piece ? 1 : (count + lane_piece - 1) / lane_piece;
  }
  TENON_DEVICE static constexpr long blocks(long n) { return (all_pieces(n) + pieces - 1) / pieces; }
  __device__ static void block(const Arguments& a) {
    using T = typename C::template Operand<K>;
    const T* const x = a.operand<T>(K);
    const long count = operand_count<C, K>(a.n), first_piece = long(blockIdx.x) * pieces,
               first = (first_piece + row_of_block()) * lane_piece,
               end = count < first + lane_piece ? count : first + lane_piece;
    double sum = 0;
    for (long i = first + lane_of_row(); i < end; i += lanes) {
      const double own = static_cast<double>(x[i]);
      sum += own * own;
    }
    sum = sum_of_lanes(sum);
    const long left = all_pieces(a.n) - first_piece;
    sum = sum_of_parts<pieces, lanes, double, 1>(0, left < pieces ? left : pieces, 1, Add(), [=](long) { return sum; });
    if (threadIdx.x == 0) reinterpret_cast<double*>(a.workspace)[blockIdx.x] = sum;
  }
};
template <class C, int K, bool adds>
struct SumSquares {
  using Tiles = SquaresOfTiles<C, K>;
  static constexpr int threads = 256;
  static long blocks(long) { return 1; }
  __device__ static void block(const Arguments& a) {
    const double* const tiles = reinterpret_cast<const double*>(a.workspace);
    const double sum = sum_of_tiles<threads, 1, Tiles::pieces, double>(Tiles::blocks(a.n), Add(),
                                                                       [=](long tile) { return tiles[tile]; });
    if (threadIdx.x != 0) return;
    if constexpr (adds) *a.changed<double>(0) += sum;
    else *a.result<double>() = sum;
  }
};
template <int K, bool adds>
struct SquaresKernel : Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return SquaresOfTiles<Call, K>::blocks(n) * long(sizeof(double));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<SquaresOfTiles<Call, K>>(a);
    launch_blocks<SumSquares<Call, K, adds>>(a);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::SumOfSquares> : kernel::cuda::SquaresKernel<0, false> {};
template <>
struct Kernel<Cuda, ops::AddSquares> : kernel::cuda::SquaresKernel<1, true> {};

}  // namespace tenon
TENON_EXACT_END
