// Whether the kernels of a program were compiled with the options that the CPU's bits need: no macro says so.
#pragma once
#include <cmath>

#include <tenon/backend/cuda/runtime.hpp>
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/simd/simd.hpp>

#if defined(__CUDACC__)
static_assert(tenon::has_fused_multiply_add,
              "The target Cuda needs a CPU with a fused multiply-add, whose results a GPU's are equal to: compile with "
              "nvcc -Xcompiler -march=native, or -Xcompiler -march=x86-64-v3 (docs/cuda.md)");
#endif

// Exact, because the emulator's compiler would fuse what the probe computes.
TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Numbers that no compiler knows, and what the CPU computes from them.
struct ProbeNumbers {
  static constexpr int count = 32;
  float square = 0, minus_rounded_square = 0, smallest = 0;
  float number[count]{}, inverse[count]{}, root[count]{};
};
inline ProbeNumbers probe_numbers() {
  volatile const float one = 1, least = 0x1p-126f;
  ProbeNumbers probe;
  probe.square = one + 0x1p-12f, probe.minus_rounded_square = -(one + 0x1p-11f), probe.smallest = least;
  for (int i = 0; i < ProbeNumbers::count; ++i) {
    probe.number[i] = one + float(2 * i + 1) / 37.0f;
    probe.inverse[i] = one / probe.number[i];
    probe.root[i] = std::sqrt(probe.number[i]);
  }
  return probe;
}
/// 0 if the options are right, else a bit for each that is not.
enum : int { fused = 1, not_flushed = 2, inexact = 4 };
TENON_DEVICE inline int wrong_options(const ProbeNumbers& probe) {
  int wrong = 0;
  if (probe.square * probe.square + probe.minus_rounded_square != 0) wrong |= fused;
  if (probe.smallest * 0.5f != 0) wrong |= not_flushed;
  for (int i = 0; i < ProbeNumbers::count; ++i)
    if (1.0f / probe.number[i] != probe.inverse[i] || __builtin_sqrtf(probe.number[i]) != probe.root[i])
      wrong |= inexact;
  return wrong;
}
template <int>  // a header's kernel has to be a template
__global__ void run_probe(const ProbeNumbers probe, int* wrong) {
  *wrong = wrong_options(probe);
}
/// The oldest generation of GPUs that run the code which this one runs: the driver makes code for a new GPU from that
/// for an older one, if the program has no newer.
inline int compiled_generation() {
  cudaFuncAttributes compiled{};
  check(cudaFuncGetAttributes(&compiled, run_probe<0>), "cudaFuncGetAttributes");
  return compiled.ptxVersion / 10;
}
[[gnu::cold, gnu::noinline]] inline void refuse_options(int wrong) {
  throw_error<RuntimeError>(
      "The kernels of this program were compiled ",
      wrong & fused         ? "without -fmad=false"
      : wrong & not_flushed ? "without -ftz=true"
                            : "with -use_fast_math, -prec-div=false, or -prec-sqrt=false",
      ", so that their results would differ from the CPU's. Compile with nvcc -fmad=false -ftz=true, or link the CMake "
      "target tenon::cuda, which brings these options (docs/cuda.md).");
}
/// Runs a kernel of one thread. Throws RuntimeError if the options are wrong.
inline void probe_options(cudaStream_t stream) {
  void* block = nullptr;
  check(cudaMallocHost(&block, sizeof(int)), "cudaMallocHost");
  int* const wrong = static_cast<int*>(block);
  *wrong = 0;
#if defined(TENON_CUDA_EMULATOR)
  emulator::launch(stream, 1, 1, 0, 1, [probe = probe_numbers(), wrong] {
    const FlushDenormals flush;  // as kernels do
    run_probe<0>(probe, wrong);
  });
  cudaError_t error = cudaGetLastError();
#else
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = 1, config.stream = stream;
  cudaError_t error = cudaLaunchKernelEx(&config, run_probe<0>, probe_numbers(), wrong);
#endif
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  const int found = *wrong;
  forget(cudaFreeHost(block));
  check(error, "the first kernel");
  if (found != 0) refuse_options(found);
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
