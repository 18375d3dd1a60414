// MatMul.
#pragma once
#include <tenon/backend/cpu/gemm/matmul.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/gemm/fast_matmul.hpp>
#include <tenon/backend/cuda/gemm/matrix_product.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Products of MatMul go to the result, with its epilogue.
struct PutProduct {
  using Cpu = Kernel<tenon::Cpu, ops::MatMul>;
  template <class C>
  static constexpr Cpu::Sizes sizes(long n) {
    return Cpu::matrices_at<C>(n);
  }
  template <class C, int which>
  TENON_DEVICE static constexpr long matrix_of(long index, long n) {
    return Cpu::matrix_of<C, which>(index, n);
  }
  template <class C>
  __device__ static void element(const Arguments& a, long i, long column, typename C::Result value) {
    store_result<C>(a, i, column, value);
  }
  /// What there is to know of a call without its shapes.
  template <class Epilogue>
  struct Elements {
    /// Neighbours from element i on, in columns from `column` on, of which `left` are there.
    template <class T, int count>
    __device__ static void put(const Arguments& a, long i, long column, Neighbours<T, count> values, long left) {
#pragma unroll
      for (int k = 0; k < count; ++k)
        if (k < left) values.element[k] = Epilogue::of(a, values.element[k], i + k, column + k);
      store_neighbours(values, a.template result<T>(), i, left);
    }
  };
  template <class C>
  using ElementsOf = Elements<EpilogueOf<C>>;
};

/// Whether each product has a matrix of its own of operand `which`, or all products the same.
enum class Stacking { each, one, broadcast };
template <class C, int which>
constexpr Stacking stacking() {
  constexpr TensorType own = C::Op::stack_of(C::operand(which)), all = C::Op::stack_of(C::result);
  return own.same_shape(all)                   ? Stacking::each
         : own.count(1) == 1 && !own.batched() ? Stacking::one
                                               : Stacking::broadcast;
}
/// The product of a call, by its tiles.
template <class C, int at, class Put>
void launch_matrices(const Arguments& a) {
  using T = typename C::Result;
  constexpr bool turned_left = C::Op::first(C::config()), turned_right = C::Op::second(C::config());
  constexpr auto one = Put::template sizes<C>(1), two = Put::template sizes<C>(2);
  const auto s = Kernel<Cpu, ops::MatMul>::between(one, two, a.n);
  MatrixSizes sizes{int(s.m), int(s.n), int(s.k), int(s.stack), s.m * s.k, s.k * s.n, a.n};
  constexpr ProductOfBatch product{{one.m, one.n, one.stack}, {two.m, two.n, two.stack}, one.k, two.k};
  constexpr unsigned tiles = tiles_for(product);
  constexpr bool may_pay = may_pay_by_segments(tiles, product);
  const auto launch = [&]<class Stacks>(Stacks) {
    using Elements = typename Put::template ElementsOf<C>;
    using Source = MatrixProduct<T, at, turned_left, turned_right, Elements, Stacks>;
    if constexpr (std::is_same_v<T, float>) {
      if constexpr (may_pay)
        if (pays_by_segments(tiles, {s.m, s.n, s.stack}, s.k))
          return launch_by_segments<SegmentProduct<T, at, turned_left, turned_right, Stacks>, Elements>(a, sizes);
      launch_product<Source, tiles>(a, s.k, sizes);
    } else ProductBlocks<Source, MediumTile>::launch(a, 1, sizes);
  };
  if constexpr (one.stack == 1 && two.stack == 1) launch(EvenStacks());
  else {
    constexpr Stacking left = stacking<C, at>(), right = stacking<C, at + 1>();
    if constexpr (left == Stacking::broadcast || right == Stacking::broadcast) launch(BroadcastStacks<C, Put>());
    else {
      if (left == Stacking::one) sizes.next_left = 0;
      if (right == Stacking::one) sizes.next_right = 0;
      launch(EvenStacks());
    }
  }
}

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::MatMul> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.epilogue = true};
  using WithUpdate = ops::ProductUpdate;
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::multiply_fast<C, 0, kernel::cuda::PutProduct, true>(a)) return;
    kernel::cuda::launch_matrices<C, 0, kernel::cuda::PutProduct>(a);
  }
  /// The epilogue in a launch of its own: the program then has no further kernels in tiles for it.
  template <class C>
  static constexpr bool runs_rarely() {
    return C::steps > 0;
  }
  template <class C>
  static void run_rarely(const Arguments& a, long, long) {
    if (kernel::cuda::multiply_fast<C, 0, kernel::cuda::PutProduct, true>(a)) return;
    kernel::cuda::launch_matrices<WithoutSteps<C>, 0, kernel::cuda::PutProduct>(a);
    Arguments put = a;
    put.workspace = static_cast<std::byte*>(a.buffer[0]);
    kernel::cuda::launch_blocks<kernel::cuda::PutElements<C, kernel::cuda::PutProduct>>(put);
  }
};

}  // namespace tenon
TENON_EXACT_END
