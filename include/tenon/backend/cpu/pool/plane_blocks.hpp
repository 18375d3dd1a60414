// Pooling of planes whose rows are too short for vectors along them: 16 planes at a time are brought side by side, and
// the kernels of NCHW16n run on them.
#pragma once
#include <tenon/backend/cpu/nchw16n/pool2d.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/nchw16n.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// to = pool(from) for the planes [begin, end), of `before` pixels and then of `after`, where pool(from, to) is
/// nchw16n_max_pool2d and so on for one block. Returns the first plane that is left to max_pool2d and so on: of a block
/// that would be half empty.
long pool2d_in_blocks(long before, long after, const float* from, float* to, long begin, long end, void* workspace,
                      FunctionRef<const float*, float*> pool);

/// Bytes of scratch that it needs per thread: a block of x and one of y.
constexpr long pool2d_block_bytes(const Pool2dSizes& s) {
  return (s.h * s.w + s.oh * s.ow) * block_samples * long(sizeof(float));
}

namespace detail {
// Windows in a row up to which blocks are faster. Measured on Zen 4 with AVX2 and AVX-512, 392 shapes: they take 0.15
// to 1 times as long as vectors along rows, exceptions up to 1.1 times. Larger ones leave little of the second cache to
// others.
inline constexpr long most_block_windows = 12, most_gradient_block_windows = 16, most_block_bytes = 128 << 10;
constexpr bool in_blocks(const Pool2dSizes& s, long most_windows) {
  return s.ow <= most_windows && pool2d_block_bytes(s) <= most_block_bytes;
}
constexpr bool max_in_blocks(const Pool2dSizes& s) { return in_blocks(s, most_block_windows) && !are_2x2<float>(s); }
constexpr bool avg_in_blocks(const Pool2dSizes& s) {
  return in_blocks(s, most_block_windows) && !lie_open<float>(s) && !is_large(s);
}
constexpr bool avg_backward_in_blocks(const Pool2dSizes& s) { return in_blocks(s, most_gradient_block_windows); }
}  // namespace detail

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE long pool2d_in_blocks(long before, long after, const float* from, float* to, long begin,
                                                     long end, void* workspace,
                                                     FunctionRef<const float*, float*> pool) {
  float *const block = static_cast<float*>(workspace), *const result = block + before * block_samples;
  for (long planes; end - begin >= block_samples / 2; begin += planes) {
    planes = end - begin < block_samples ? end - begin : block_samples;
    copy_matrix(from + begin * before, 1, before, block, block_samples, before, planes, block_samples);
    pool(block, result);
    copy_matrix(static_cast<const float*>(result), 1, block_samples, to + begin * after, after, planes, after, 0);
  }
  return begin;
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
