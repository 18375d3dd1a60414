// Operators made of elementary functions compile for the device, without flags for the host's processor. Where a GPU
// is, and the host has a fused multiply-add, they have the CPU's bits.
#include <cstdio>
#include <cstring>

#include <tenon/ops/exp.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/sigmoid.hpp>
#include <tenon/ops/silu.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/sqrt.hpp>
#include <tenon/ops/tanh.hpp>

using namespace tenon;

constexpr int functions = 10, count = 1 << 16;

template <class... Op>
TENON_DEVICE void evaluate_all(float x, float* y) {
  static_assert(sizeof...(Op) == functions);
  ((*y++ = Op::evaluate(x)), ...);
}
TENON_DEVICE void evaluate_all(float x, float* y) {
#if defined(__CUDA_ARCH__)
  static_assert(has_fused_multiply_add);
#endif
  evaluate_all<ops::Exp, ops::Log, ops::Sigmoid, ops::Tanh, ops::Gelu, ops::GeluErf, ops::Silu, ops::Softplus,
               ops::Sqrt, ops::Rsqrt>(x, y);
}
// From -32 to 32, and their reciprocals.
TENON_DEVICE float argument(int i) {
  const float x = float(i / 2 - count / 4) / 512;
  return i % 2 ? 1 / x : x;
}
__global__ void evaluate_on_device(float* y) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  evaluate_all(argument(i), y + i * functions);
}

int main() {
  int devices = 0;
  if (!has_fused_multiply_add || cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: there is no GPU, or the host has no fused multiply-add: the functions were only compiled");
    return 77;
  }
  float* y = nullptr;
  if (cudaMallocManaged(&y, sizeof(float) * functions * count) != cudaSuccess) return 1;
  evaluate_on_device<<<count / 256, 256>>>(y);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int differ = 0;
  for (int i = 0; i < count; ++i) {
    float own[functions];
    evaluate_all(argument(i), own);
    for (int k = 0; k < functions; ++k)  // a NaN's bits are the processor's
      differ += std::memcmp(&own[k], &y[i * functions + k], sizeof(float)) != 0 &&
                (own[k] == own[k] || y[i * functions + k] == y[i * functions + k]);
  }
  std::printf("%d of %d values differ from the CPU\n", differ, functions * count);
  return differ != 0;
}
