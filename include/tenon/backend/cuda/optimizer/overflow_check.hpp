// Overflow check of gradients: a flag is set where an element is infinite or NaN.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct OverflowCheck;
}

namespace kernel::cuda {

template <class C>
struct CheckOverflow {
  using T = typename C::template Operand<1>;
  static constexpr int threads = 256, together = together_of<T>;

  static long blocks(long n) {
    return is_floating(C::operand(1).dtype) ? blocks_for(blocks_for(operand_count<C, 1>(n), together), threads) : 0;
  }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = operand_count<C, 1>(a.n) - first;
    if (left <= 0) return;
    const auto own = load_neighbours<together>(a.operand<T>(1), first, left);
    bool finite = true;
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const auto x = static_cast<Compute<T>>(own.element[i]);
      finite &= x - x == 0;
    }
    if (!finite) atomicExch(a.changed<std::int32_t>(0), 1);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::OverflowCheck> : kernel::cuda::Launches<kernel::cuda::CheckOverflow> {
  static constexpr KernelFacts facts{.half_gradient = true};
};

}  // namespace tenon
TENON_EXACT_END
