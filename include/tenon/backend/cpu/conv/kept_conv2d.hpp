// Direct convolution of small float32 images with weights that are kept between calls (lowering/kept.hpp): packing them
// is what takes long with channels as lanes (conv/whole_images.hpp), and that is done once.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/conv/conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Bytes of what is kept; 0: nothing, for sizes at which conv2d is as fast.
long conv2d_kept_bytes(const Conv2dSizes& s);
void keep_conv2d(const Conv2dSizes& s, const float* weight, void* to);
/// conv2d with what keep_conv2d has written; the workspace is its own and no larger.
KernelWork conv2d_kept_work(const Conv2dSizes& s);
void conv2d_kept(const Conv2dSizes& s, const float* x, const void* kept, float* y, long begin, long end,
                 void* workspace, FunctionRef<long, long, long> finish);

#if TENON_DEFINES
TENON_INLINE long conv2d_kept_bytes(const Conv2dSizes& s) {
  return detail::kept_conv_pays(s) ? long(detail::whole_images_plan(s).packed) : 0;
}
TENON_INLINE KernelWork conv2d_kept_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_items(s), detail::whole_images_plan(s).workspace);
}
[[gnu::noinline]] TENON_INLINE void keep_conv2d(const Conv2dSizes& s, const float* weight, void* to) {
  const auto& plan = *new (to) detail::WholeImagesPlan(detail::whole_images_plan(s));
  detail::WholeImages(plan, static_cast<char*>(to)).pack(weight, s.groups);
}
[[gnu::noinline]] TENON_INLINE void conv2d_kept(const Conv2dSizes& s, const float* x, const void* kept, float* y,
                                                long begin, long end, void* workspace,
                                                FunctionRef<long, long, long> finish) {
  const auto& plan = *static_cast<const detail::WholeImagesPlan*>(kept);
  const detail::WholeImages images(plan, static_cast<char*>(const_cast<void*>(kept)));
  detail::convolve_whole(plan, images, {x, nullptr, y, s.n, s.groups, finish}, begin, end,
                         static_cast<char*>(workspace));
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
