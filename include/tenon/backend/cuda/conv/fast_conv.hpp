// Convolutions by NVIDIA's libraries, where a step asks for Math::tf32.
#pragma once
#include <tenon/backend/cuda/conv/conv_call.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/fast/fast_math.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Applies an epilogue to the images at the result.
template <class C>
struct FinishImages {
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(result_count<C>(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr TensorType images = C::result;
    constexpr long plane = images.span(2, 4), channels = images.extent[1];
    const long i = thread_of_grid();
    if (i < result_count<C>(a.n))
      store_result<C>(a, i, i / plane % channels, a.template result<typename C::Result>()[i]);
  }
};

/// A library pads both sides alike: whether it gets images of the right size.
constexpr bool has_even_pads(const Conv2dSizes& s) {
  const auto size = [](long image, int pad, int kernel, int dilation, int stride) {
    return (image + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  return size(s.h, s.pad_top, s.kh, s.dilation_h, s.stride_h) == s.oh &&
         size(s.w, s.pad_left, s.kw, s.dilation_w, s.stride_w) == s.ow;
}

/// Computes a convolution or a gradient, whose result is the tensor at -1, if the step asks for it, it pays, and a
/// library can.
template <class C, ConvTensors at>
bool convolve_fast(const Arguments& a) {
  using T = typename C::Result;
  constexpr Conv2dSizes s = conv_call_sizes<C, at>;
  if constexpr (!is_fast_type<T> || !has_even_pads(s)) return false;
  else {
    if (running().math == Math::exact || running().unless) return false;
    const auto address = [&](int k) { return k < 0 ? a.buffer[0] : a.buffer[k + 1]; };
    const FastConvolution c{at.y < 0   ? FastConvolution::y
                            : at.x < 0 ? FastConvolution::dx
                                       : FastConvolution::dw,
                            dtype_of<T>,
                            call_samples<C, at>(a.n),
                            s.c,
                            s.h,
                            s.w,
                            s.o,
                            s.oh,
                            s.ow,
                            s.kh,
                            s.kw,
                            s.stride_h,
                            s.stride_w,
                            s.pad_top,
                            s.pad_left,
                            s.dilation_h,
                            s.dilation_w,
                            s.groups,
                            address(at.x),
                            address(at.weight),
                            address(at.y)};
    if (c.multiply_adds() < least_fast_multiply_adds()) return false;
    if (is_only_seen()) return true;
    if (!need_fast_math().convolve(c)) return false;
    if constexpr (C::steps > 0) launch_blocks<FinishImages<C>>(a);
    return true;
  }
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
