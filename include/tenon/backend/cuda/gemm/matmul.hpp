// MatMul.
#pragma once
#include <tenon/backend/cpu/gemm/matmul.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/gemm/fast_matmul.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The products of a call: segments of gemm_segment steps (cpu/gemm/plan.hpp). `at`: the operand that is the first
/// factor. Put takes the elements.
template <class C, int at, class Put>
struct MatrixProduct {
  using T = typename C::Result;
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  using Left = MatrixLines<T, !C::Op::first(C::config())>;
  using Right = MatrixLines<T, C::Op::second(C::config())>;
  using Sizes = Cpu::Sizes;

  TENON_DEVICE static constexpr Sizes sizes(long n) {
    constexpr Sizes one = Put::template sizes<C>(1), two = Put::template sizes<C>(2);
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
    left = {a.template operand<T>(at) + Put::template matrix_of<C, 0>(product, a.n) * s.m * s.k, int(s.m),
            int(Left::steps_are_neighbours ? s.k : s.m)};
    right = {a.template operand<T>(at + 1) + Put::template matrix_of<C, 1>(product, a.n) * s.k * s.n, int(s.n),
             int(Right::steps_are_neighbours ? s.k : s.n)};
  }
  __device__ long segments() const { return (steps + gemm_segment<T> - 1) / gemm_segment<T>; }
  __device__ long segment_begin(long i) const { return i * gemm_segment<T> < steps ? i * gemm_segment<T> : steps; }
  __device__ void put(const Arguments& a, long row, long column, T value) const {
    Put::template element<C>(a, (index * rows + row) * columns + column, column, value);
  }
};
/// Products of MatMul go to the result, with its epilogue.
struct PutProduct {
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  template <class C>
  static constexpr Cpu::Sizes sizes(long n) {
    return Cpu::matrices_at<C>(n);
  }
  template <class C, int which>
  static constexpr long matrix_of(long index, long n) {
    return Cpu::matrix_of<C, which>(index, n);
  }
  template <class C>
  __device__ static void element(const Arguments& a, long i, long column, typename C::Result value) {
    store_result<C>(a, i, column, value);
  }
};

template <class Source>
void launch_matrices(const Arguments& a) {
  if constexpr (std::is_same_v<typename Source::T, float>) {
    constexpr auto one = Source::sizes(1), two = Source::sizes(2);
    constexpr auto known = [](long x, long y) { return x == y ? x : 0; };
    launch_product<Source, known(one.m, two.m), one.n, known(one.stack, two.stack), known(one.k, two.k)>(a);
  } else ProductBlocks<Source, MediumTile>::launch(a);
}

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MatMul> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.epilogue = true};
  using WithUpdate = ops::ProductUpdate;
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::multiply_fast<C, 0, kernel::cuda::PutProduct, true>(a)) return;
    kernel::cuda::launch_matrices<kernel::cuda::MatrixProduct<C, 0, kernel::cuda::PutProduct>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
