// MatMul: a tile of the product per block, a smaller one per thread.
#pragma once
#include <tenon/backend/cpu/gemm/matmul.hpp>
#include <tenon/backend/cuda/epilogue.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The sizes of the products of C, and where their matrices are.
template <class C>
struct Products {
  using T = typename C::Result;
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  using Sizes = Cpu::Sizes;
  static constexpr bool first = C::Op::first(C::config()), second = C::Op::second(C::config());

  TENON_DEVICE static constexpr Sizes sizes(long n) {
    constexpr Sizes one = Cpu::matrices_at<C>(1), two = Cpu::matrices_at<C>(2);
    return Cpu::between(one, two, n);
  }
  __device__ static const T* left(const Arguments& a, const Sizes& s, long index) {
    return a.template operand<T>(0) + Cpu::matrix_of<C, 0>(index, a.n) * s.m * s.k;
  }
  __device__ static const T* right(const Arguments& a, const Sizes& s, long index) {
    return a.template operand<T>(1) + Cpu::matrix_of<C, 1>(index, a.n) * s.k * s.n;
  }
};

/// Rows and columns of a block's tile, and of a thread's.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns, thread_rows = ThreadRows, thread_columns = ThreadColumns,
                       threads = Rows / ThreadRows * (Columns / ThreadColumns);
};

/// Some steps of some lines of a matrix, as [step][line]; zeros beyond its end. A line's steps are neighbours in the
/// matrix, or the lines of a step are.
template <int lines, int depth, int threads, bool steps_are_neighbours, class T, class A>
__device__ void load_lines(A (&to)[depth][lines + 1], const T* from, long line0, long line_end, long step0,
                           long step_end) {
  for (int i = int(threadIdx.x); i < lines * depth; i += threads) {
    const int step = steps_are_neighbours ? i % depth : i / lines, line = steps_are_neighbours ? i / depth : i % lines;
    const long l = line0 + line, s = step0 + step;
    const bool inside = l < line_end && s < step_end;
    to[step][line] = inside ? widened(from[steps_are_neighbours ? l * step_end + s : s * line_end + l]) : A(0);
  }
}

/// Products in the order of cpu/gemm/plan.hpp: segments, one after the other, each a chain. `Put::element<C>` takes the
/// elements.
template <class C, class Tile, class Put>
struct ProductBlocks {
  using T = typename C::Result;
  using A = ProductSum<T>;
  using P = Products<C>;
  static constexpr int threads = Tile::threads, depth = 16, unit = steps_per_unit<T>;
  static constexpr int rows = Tile::rows, columns = Tile::columns, tr = Tile::thread_rows, tc = Tile::thread_columns;
  static constexpr long segment = gemm_segment<T>;

  static long blocks(long n) {
    const auto s = P::sizes(n);
    return ceil_div(s.m, rows) * ceil_div(s.n, columns) * s.stack;
  }
  __device__ static void block(const Arguments& a) {
    const auto s = P::sizes(a.n);
    const long across = (s.n + columns - 1) / columns, down = (s.m + rows - 1) / rows, tile = blockIdx.x,
               index = tile / (across * down);
    const long row0 = tile / across % down * rows, column0 = tile % across * columns;
    const T *const left = P::left(a, s, index), *const right = P::right(a, s, index);
    __shared__ A lefts[depth][rows + 1], rights[depth][columns + 1];
    const int row = int(threadIdx.x) / (columns / tc), column = int(threadIdx.x) % (columns / tc);
    A total[tr][tc], sum[tr][tc];
#pragma unroll
    for (int i = 0; i < tr; ++i)
#pragma unroll
      for (int j = 0; j < tc; ++j) total[i][j] = sum[i][j] = A(0);
    for (long step = 0; step < s.k; step += depth) {
      load_lines<rows, depth, threads, !P::first>(lefts, left, row0, s.m, step, s.k);
      load_lines<columns, depth, threads, P::second>(rights, right, column0, s.n, step, s.k);
      __syncthreads();
      const int count = s.k - step < depth ? int(s.k - step + unit - 1) / unit * unit : depth;
      for (int d = 0; d < count; d += unit)
#pragma unroll
        for (int u = unit - 1; u >= 0; --u) {
          A own[tc];
#pragma unroll
          for (int j = 0; j < tc; ++j) own[j] = rights[d + u][column + j * (columns / tc)];
#pragma unroll
          for (int i = 0; i < tr; ++i) {
            const A factor = lefts[d + u][row + i * (rows / tr)];
#pragma unroll
            for (int j = 0; j < tc; ++j) sum[i][j] = fmadd(factor, own[j], sum[i][j]);
          }
        }
      __syncthreads();
      if ((step + depth) % segment == 0 || step + depth >= s.k) {
        const bool begins = step < segment;
#pragma unroll
        for (int i = 0; i < tr; ++i)
#pragma unroll
          for (int j = 0; j < tc; ++j) {
            total[i][j] = begins ? sum[i][j] : total[i][j] + sum[i][j];
            sum[i][j] = A(0);
          }
      }
    }
#pragma unroll
    for (int i = 0; i < tr; ++i)
#pragma unroll
      for (int j = 0; j < tc; ++j) {
        const long r = row0 + row + i * (rows / tr), c = column0 + column + j * (columns / tc);
        if (r < s.m && c < s.n) Put::template element<C>(a, (index * s.m + r) * s.n + c, c, narrowed<T>(total[i][j]));
      }
  }
};

struct PutProduct {
  template <class C>
  __device__ static void element(const Arguments& a, long i, long column, typename C::Result value) {
    store_result<C>(a, i, column, value);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MatMul> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.epilogue = true};
  template <class C>
  static void run(const Arguments& a, long, long) {
    kernel::cuda::launch_blocks<
        kernel::cuda::ProductBlocks<C, kernel::cuda::ProductTile<32, 32, 2, 2>, kernel::cuda::PutProduct>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
