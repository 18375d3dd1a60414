// Pooling of every element type.
#include <tenon/backend/cpu/pool/plane_blocks.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

template void max_pool2d(const Pool2dSizes&, const float*, float*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const double*, double*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const float16*, float16*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const bfloat16*, bfloat16*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const bool*, bool*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::int8_t*, std::int8_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::int16_t*, std::int16_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::int32_t*, std::int32_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::int64_t*, std::int64_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::uint8_t*, std::uint8_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::uint16_t*, std::uint16_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::uint32_t*, std::uint32_t*, NoPlaces*, long, long);
template void max_pool2d(const Pool2dSizes&, const std::uint64_t*, std::uint64_t*, NoPlaces*, long, long);

template void max_pool2d(const Pool2dSizes&, const float*, float*, std::uint8_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const float*, float*, std::int32_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const double*, double*, std::uint8_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const double*, double*, std::int32_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const float16*, float16*, std::uint8_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const float16*, float16*, std::int32_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const bfloat16*, bfloat16*, std::uint8_t*, long, long);
template void max_pool2d(const Pool2dSizes&, const bfloat16*, bfloat16*, std::int32_t*, long, long);

template void max_pool2d_2x2(const Pool2dSizes&, const float*, float*, NoPlaces*, long, long);
template void max_pool2d_2x2(const Pool2dSizes&, const double*, double*, NoPlaces*, long, long);
template void max_pool2d_2x2(const Pool2dSizes&, const float*, float*, std::uint8_t*, long, long);
template void max_pool2d_2x2(const Pool2dSizes&, const double*, double*, std::uint8_t*, long, long);

template void max_pool2d_backward(const Pool2dSizes&, const std::uint8_t*, const float*, float*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::int32_t*, const float*, float*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::uint8_t*, const double*, double*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::int32_t*, const double*, double*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::uint8_t*, const float16*, float16*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::int32_t*, const float16*, float16*, long, long, void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::uint8_t*, const bfloat16*, bfloat16*, long, long,
                                  void*);
template void max_pool2d_backward(const Pool2dSizes&, const std::int32_t*, const bfloat16*, bfloat16*, long, long,
                                  void*);
template void max_pool2d_backward_2x2(const Pool2dSizes&, const std::uint8_t*, const float*, float*, long, long);
template void max_pool2d_backward_2x2(const Pool2dSizes&, const std::uint8_t*, const double*, double*, long, long);

template void nchw16n_max_pool2d(const Pool2dSizes&, const float*, float*, std::uint8_t*, long, long);
template void nchw16n_max_pool2d(const Pool2dSizes&, const float*, float*, NoPlaces*, long, long);
template void nchw16n_max_pool2d_2x2(const Pool2dSizes&, const float*, float*, std::uint8_t*, long, long);
template void nchw16n_max_pool2d_2x2(const Pool2dSizes&, const float*, float*, NoPlaces*, long, long);
template void nchw16n_max_pool2d_backward(const Pool2dSizes&, const std::uint8_t*, const float*, float*, long, long);
template void nchw16n_max_pool2d_backward_2x2(const Pool2dSizes&, const std::uint8_t*, const float*, float*, long,
                                              long);
template void nchw16n_max_pool2d(const Pool2dSizes&, const float*, float*, std::int32_t*, long, long);
template void nchw16n_max_pool2d_backward(const Pool2dSizes&, const std::int32_t*, const float*, float*, long, long);

template void avg_pool2d(const Pool2dSizes&, const float*, float*, bool, long, long);
template void avg_pool2d(const Pool2dSizes&, const double*, double*, bool, long, long);
template void avg_pool2d(const Pool2dSizes&, const float16*, float16*, bool, long, long);
template void avg_pool2d(const Pool2dSizes&, const bfloat16*, bfloat16*, bool, long, long);

template void avg_pool2d_backward(const Pool2dSizes&, const float*, float*, bool, long, long, void*);
template void avg_pool2d_backward(const Pool2dSizes&, const double*, double*, bool, long, long, void*);
template void avg_pool2d_backward(const Pool2dSizes&, const float16*, float16*, bool, long, long, void*);
template void avg_pool2d_backward(const Pool2dSizes&, const bfloat16*, bfloat16*, bool, long, long, void*);

}  // namespace tenon::kernel
TENON_EXACT_END
