// Math::tf32 on a GPU: products of matrices on tensor cores, by NVIDIA's libraries. tenon.hpp does not include it.
//
//     #include <tenon/backend/cuda/fast.hpp>
//     set_context({.device_target = "GPU", .math = Math::tf32});
//
// One source of a program includes it. The libraries are loaded when they are first needed (docs/cuda.md).
#pragma once
#include <tenon/backend/cuda/fast/product.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// NVIDIA's libraries, as kernels call them.
inline constexpr FastMath nvidia_libraries{
    .check = [] { static_cast<void>(CublasLt::instance()); },
    .multiply = [](const FastProduct& p) { return CublasProducts::instance().run(p); },
};
inline const bool has_fast_math = (fast_math() = &nvidia_libraries, true);

}  // namespace tenon::kernel::cuda
