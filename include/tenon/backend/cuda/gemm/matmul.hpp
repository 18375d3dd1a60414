// MatMul.
#pragma once
#include <tenon/backend/cpu/gemm/matmul.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The products of a call of MatMul: segments of gemm_segment steps (cpu/gemm/plan.hpp).
template <class C>
struct MatrixProduct {
  using T = typename C::Result;
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  using Left = MatrixLines<T, !C::Op::first(C::config())>;
  using Right = MatrixLines<T, C::Op::second(C::config())>;
  using Sizes = Cpu::Sizes;

  TENON_DEVICE static constexpr Sizes sizes(long n) {
    constexpr Sizes one = Cpu::matrices_at<C>(1), two = Cpu::matrices_at<C>(2);
    return Cpu::between(one, two, n);
  }
  TENON_DEVICE static constexpr ProductExtent extent(long n) {
    const Sizes s = sizes(n);
    return {s.m, s.n, s.stack};
  }

  Left left;
  Right right;
  long rows, columns, steps, index;

  __device__ MatrixProduct(const Arguments& a, long product) : index(product) {
    const Sizes s = sizes(a.n);
    rows = s.m, columns = s.n, steps = s.k;
    left = {a.template operand<T>(0) + Cpu::matrix_of<C, 0>(product, a.n) * s.m * s.k, int(s.m),
            int(Left::steps_are_neighbours ? s.k : s.m)};
    right = {a.template operand<T>(1) + Cpu::matrix_of<C, 1>(product, a.n) * s.k * s.n, int(s.n),
             int(Right::steps_are_neighbours ? s.k : s.n)};
  }
  __device__ long segments() const { return (steps + gemm_segment<T> - 1) / gemm_segment<T>; }
  __device__ long segment_begin(long i) const { return i * gemm_segment<T> < steps ? i * gemm_segment<T> : steps; }
  __device__ void put(const Arguments& a, long row, long column, T value) const {
    store_result<C>(a, (index * rows + row) * columns + column, column, value);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MatMul> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.epilogue = true};
  template <class C>
  static void run(const Arguments& a, long, long) {
    using Source = kernel::cuda::MatrixProduct<C>;
    if constexpr (std::is_same_v<typename C::Result, float>) {
      constexpr auto one = Source::sizes(1), two = Source::sizes(2);
      constexpr auto known = [](long x, long y) { return x == y ? x : 0; };
      kernel::cuda::launch_product<Source, known(one.m, two.m), one.n, known(one.stack, two.stack),
                                   known(one.k, two.k)>(a);
    } else kernel::cuda::ProductBlocks<Source, kernel::cuda::MediumTile>::launch(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
