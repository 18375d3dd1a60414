// Element-wise kernels on a GPU: one __global__ function per distinct kernel, from the same operators as on the CPU.
#pragma once
#include <tenon/backend/cpu/elementwise/elementwise.hpp>
#include <tenon/backend/cpu/elementwise/fused.hpp>

#if !defined(__CUDACC__)
#error \
    "tenon/backend/cuda/elementwise.cuh is compiled by nvcc; for the CPU: tenon/backend/cpu/elementwise/elementwise.hpp"
#endif

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Offset in an operand of type t for element i of a result of type out: right-aligned, 0 along axes of extent 1.
TENON_DEVICE constexpr long element_offset(const TensorType& out, const TensorType& t, long i) {
  long offset = 0, stride = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    const int at = axis + out.rank - t.rank;
    // the leading axis may depend on n
    const long extent = out.extent[at] < 0 ? 0 : out.extent[at], here = extent ? i % extent : i;
    if (extent) i /= extent;
    if (t.extent[axis] != 1) offset += here * stride;
    stride *= t.extent[axis] < 0 ? 1 : t.extent[axis];
  }
  return offset;
}

/// result[i] = the operator, or the fused steps, of the operands at i. Grid-stride: any launch configuration covers
/// all.
template <class Op, class Joined, int... Words>
__global__ void elementwise_kernel(Arguments a) {
  using C = Call<Op, Joined, Words...>;
  using T = typename C::Result;
  constexpr TensorType out = C::result;
  const long count = out.count(a.n), step = long(gridDim.x) * blockDim.x;
  for (long i = long(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const auto element = [&]<int K>(std::integral_constant<int, K>) {
      constexpr TensorType t = C::operand(K);
      return a.operand<typename C::template Operand<K>>(K)[element_offset(out, t, i)];
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      if constexpr (C::steps > 0)
        a.result<T>()[i] = kernel::FusedFunction<T, typename C::Joined>()(element(std::integral_constant<int, K>{})...);
      else a.result<T>()[i] = static_cast<T>(C::Op::evaluate(element(std::integral_constant<int, K>{})...));
    }(std::make_integer_sequence<int, C::operands>{});
  }
}

/// Starts the kernel of Call C on a stream. Buffers are device memory.
template <class C>
struct Launch;
template <class Op, class Joined, int... Words>
struct Launch<Call<Op, Joined, Words...>> {
  static void run(const Arguments& arguments, cudaStream_t stream) {
    constexpr int threads = 256;
    const long blocks = (Call<Op, Joined, Words...>::result.count(arguments.n) + threads - 1) / threads;
    elementwise_kernel<Op, Joined, Words...>
        <<<unsigned(blocks < 4096 ? blocks : 4096), threads, 0, stream>>>(arguments);
  }
};

}  // namespace tenon::kernel::cuda
