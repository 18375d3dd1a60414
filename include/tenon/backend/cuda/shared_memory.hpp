// How much shared memory a block can have on the GPUs that a program is compiled for.
#pragma once
#include <algorithm>

#include <tenon/backend/cuda/runtime.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

namespace detail {
/// Bytes, by compute capability, 10 times: CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability". Of one that is newer than this table: the least that any has since 8.0.
constexpr int shared_bytes_of(int capability) {
  switch (capability) {
    case 75: return 64 << 10;
    case 80:
    case 87: return 163 << 10;
    case 90:
    case 100:
    case 103:
    case 110: return 227 << 10;
    default: return 99 << 10;
  }
}
template <int... architectures>  // as in -arch=sm_90, times 10
constexpr int least_shared_bytes() {
  return std::min({shared_bytes_of(architectures / 10)...});
}
}  // namespace detail

/// What a block can have on each of them: kernels choose their tiles by it.
inline constexpr int most_shared_bytes = detail::least_shared_bytes<__CUDA_ARCH_LIST__>();

}  // namespace tenon::kernel::cuda
