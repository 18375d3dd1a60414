// A product that computes a weight's gradient, with the weight's update in the place of a store.
#pragma once
#include <tenon/backend/cpu/gemm/product_update.hpp>
#include <tenon/backend/cuda/gemm/matmul.hpp>
#include <tenon/backend/cuda/optimizer/update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Operands parameter, the product's two, moments, numbers.
struct PutUpdate {
  using Cpu = Kernel<tenon::Cpu, ops::ProductUpdate>;
  template <class C>
  static constexpr Kernel<tenon::Cpu, ops::MatMul>::Sizes sizes(long n) {
    const auto g = Cpu::gradient_layout<C>(n);
    return {g.m, g.n, g.k, 1};
  }
  template <class C, int which>
  static constexpr long matrix_of(long, long) {
    return 0;
  }
  template <class C>
  __device__ static void element(const Arguments& a, long i, long, typename C::Result gradient) {
    constexpr auto settings = Cpu::update_settings<C>();
    C::Joined::template step<settings, Compute<typename C::Result>>(a.operand<float>(C::operands - 1),
                                                                    Each<C>{a, i, gradient});
  }

 private:
  template <class C>
  struct Each {
    using T = typename C::Result;
    static constexpr int arrays = C::operands - 3;
    const Arguments& a;
    long i;
    T gradient;

    template <class F>
    __device__ void operator()(F f) const {
      T* changed[arrays]{a.template changed<T>(0)};
#pragma unroll
      for (int k = 1; k < arrays; ++k) changed[k] = a.template changed<T>(k + 2);
      Own<1>{i, 1}.template update<arrays>(f, changed, Neighbours<T, 1>{gradient});
    }
  };
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::ProductUpdate> : kernel::cuda::Whole {
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::multiply_fast<C, 1, kernel::cuda::PutUpdate, false>(a)) return;
    kernel::cuda::launch_matrices<kernel::cuda::MatrixProduct<C, 1, kernel::cuda::PutUpdate>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
