// Math::tf32 on a GPU: products of matrices and convolutions on tensor cores, by NVIDIA's libraries. tenon.hpp does not
// include it.
//
//     #include <tenon/backend/cuda/fast.hpp>
//     set_context({.device_target = "GPU", .math = Math::tf32});
//
// One source of a program includes it. The libraries are loaded when they are first needed (docs/cuda.md). cuDNN is
// left out where the compiler does not find <cudnn.h>: then a convolution reports it.
#pragma once
#include <tenon/backend/cuda/fast/product.hpp>
#if __has_include(<cudnn.h>)
#include <tenon/backend/cuda/fast/convolution.hpp>
#endif

namespace tenon::inline TENON_ABI::kernel::cuda {

inline bool convolve_by_library([[maybe_unused]] const FastConvolution& c) {
#if __has_include(<cudnn.h>)
  return CudnnConvolutions::instance().run(c);
#else
  throw_error<RuntimeError>(
      "Math::tf32 on GPU needs cuDNN 9 for a convolution, and the compiler has not found <cudnn.h>: install cuDNN 9 "
      "(cudnn9-cuda-13) and compile the program again, or leave math at Math::exact.");
#endif
}
/// NVIDIA's libraries, as kernels call them.
inline constexpr FastMath nvidia_libraries{
    .check = [] { static_cast<void>(CublasLt::instance()); },
    .multiply = [](const FastProduct& p) { return CublasProducts::instance().run(p); },
    .convolve = convolve_by_library,
};
inline const bool has_fast_math = (fast_math() = &nvidia_libraries, true);

}  // namespace tenon::kernel::cuda
