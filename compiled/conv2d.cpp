// Convolutions and their gradients of every element type.
#include <tenon/ops/conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

using FinishChannels = FunctionRef<long, long, long>;

template void conv2d(const Conv2dSizes&, const float*, const float*, float*, long, long, void*, FinishChannels);
template void conv2d(const Conv2dSizes&, const double*, const double*, double*, long, long, void*, FinishChannels);
template void conv2d(const Conv2dSizes&, const float16*, const float16*, float16*, long, long, void*, FinishChannels);
template void conv2d(const Conv2dSizes&, const bfloat16*, const bfloat16*, bfloat16*, long, long, void*,
                     FinishChannels);

template void conv2d_backward_weight(const Conv2dSizes&, const float*, const float*, float*, long, long, void*);
template void conv2d_backward_weight(const Conv2dSizes&, const double*, const double*, double*, long, long, void*);
template void conv2d_backward_weight(const Conv2dSizes&, const float16*, const float16*, float16*, long, long, void*);
template void conv2d_backward_weight(const Conv2dSizes&, const bfloat16*, const bfloat16*, bfloat16*, long, long,
                                     void*);

template void nchw16n_conv2d_backward_weight(const Conv2dSizes&, const float*, const float*, float*, long, long, void*,
                                             const Nchw16nWeightTiles&);
template const Nchw16nTiles& nchw16n_tiles<0>();
template const Nchw16nWeightTiles& nchw16n_weight_tiles<0>();

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI::kernel::detail {

template KernelWork rows_work<float>(const Conv2dSizes&);
template KernelWork rows_work<double>(const Conv2dSizes&);
template KernelWork rows_work<float16>(const Conv2dSizes&);
template KernelWork rows_work<bfloat16>(const Conv2dSizes&);

template KernelWork rows_weight_work<float>(const Conv2dSizes&);
template KernelWork rows_weight_work<double>(const Conv2dSizes&);
template KernelWork rows_weight_work<float16>(const Conv2dSizes&);
template KernelWork rows_weight_work<bfloat16>(const Conv2dSizes&);

}  // namespace tenon::kernel::detail
