// The kernels of Conv2d and its two gradients. Which way a convolution is computed, the first of these that fits:
//
//   Winograd       the user asks for it (Conv2dOptions::algorithm): 3x3, stride 1      winograd/conv2d.hpp
//   NCHW16n        float32 images of a dynamic batch whose blocks of 16 samples are     nchw16n/conv2d.hpp
//                  filled to three fifths: core/nchw16n.hpp, in_nchw16n. The layout
//                  pass (PyNative: run/layout.hpp) gives it to all that want it:
//                  vectors over samples are full at any stride and need no shuffle
//   product        float32 of one tap at every pixel, where vectors are narrow          conv/pointwise.hpp
//   whole images   float32 of few pixels and whole vectors of result channels, with     conv/whole_images.hpp
//                  packed weights: conv/plan.hpp, packing_pays
//   channels last  few pixels to fill vectors with, and 32 or more result channels:     conv/channels_last.hpp
//                  conv/choose.hpp, channels_pay, compares the multiplications
//   direct         else: pixels are the lanes of a tile; conv/choose.hpp, choose_tiles  conv/direct.hpp
//
// All but Winograd have the same bits. Gradients of the weight are sums over pixels instead, conv/weight_gradient.hpp,
// of depthwise convolutions conv/depthwise.hpp.
#pragma once
#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/conv/conv_kernel.hpp>
#include <tenon/backend/cpu/conv/kept_conv2d.hpp>
#include <tenon/backend/cpu/conv/weight_gradient.hpp>
#include <tenon/backend/cpu/nchw16n/weight_gradient.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2d;
struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;
struct ArgmaxConv2dInput;
struct ArgmaxConv2dWeight;
}  // namespace ops

namespace kernel {
namespace detail {
// Not inlined: one function for all convolutions of a program, not one per shape.
template <class T>
[[gnu::noinline]] constexpr KernelWork rows_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_items(s), conv2d_workspace<T>(s.of(1)));
}
template <class T>
[[gnu::noinline]] constexpr KernelWork rows_weight_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_backward_weight_items(s), conv2d_backward_weight_workspace<T>(s));
}
// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_items(s), nchw16n_conv2d_workspace(s));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_weight_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_backward_weight_items(s), nchw16n_conv2d_backward_weight_workspace(s));
}
#else
KernelWork nchw16n_work(const Conv2dSizes& s);
KernelWork nchw16n_weight_work(const Conv2dSizes& s);
#endif
}  // namespace detail

/// The way without transforms. The compiled part has the code for all sizes, other programs that for their own.
struct DirectWay {
  static constexpr bool linear_work = TENON_DEFINES, tile_sums = false;
  template <class Call, bool blocks>
  using Epilogue = std::conditional_t<blocks, RowEpilogue<Call>, PlaneEpilogue<Call>>;
  template <class T>
  static constexpr KernelWork work(const Conv2dSizes& s, bool blocks) {
    return blocks ? detail::nchw16n_work(s) : detail::rows_work<T>(s);
  }
  template <class T, Conv2dSizes one, bool blocks>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const T* from, const T* weight, T* to, long begin,
                                         long end, void* workspace, FunctionRef<long, long, long> finish) {
    if constexpr (blocks)
      nchw16n_conv2d(s, from, weight, to, begin, end, workspace, finish, nchw16n_tiles_for<one.group_results()>());
    else
      conv2d<T, TENON_DEFINES ? conv2d_way<T>(one) : ConvWay::any>(s, from, weight, to, begin, end, workspace, finish);
  }
};
/// With the weights of keep_conv2d().
struct KeptDirectWay : DirectWay {
  template <class, Conv2dSizes, bool blocks>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const float* x, const float* kept, float* y, long begin,
                                         long end, void* workspace, FunctionRef<long, long, long> finish) {
    conv2d_kept(s, x, kept, y, begin, end, workspace, finish);
  }
};
struct DirectWeightWay {
  static constexpr bool linear_work = false, tile_sums = true;
  template <class Call, bool>
  using Epilogue = RowEpilogue<Call>;
  template <class T>
  static constexpr KernelWork work(const Conv2dSizes& s, bool blocks) {
    return blocks ? detail::nchw16n_weight_work(s) : detail::rows_weight_work<T>(s);
  }
  template <class T, Conv2dSizes one, bool blocks>
  [[gnu::always_inline]] static void run(const Conv2dSizes& s, const T* x, const T* dy, T* dw, long begin, long end,
                                         void* workspace, FunctionRef<long, long, long>) {
    if constexpr (blocks)
      nchw16n_conv2d_backward_weight<nchw16n_weight_way(one)>(
          s, x, dy, dw, begin, end, workspace,
          nchw16n_weight_tiles<TENON_DEFINES ? one.group_outputs() : 0, any_weight_alone(one)>());
    else conv2d_backward_weight<T, !TENON_DEFINES || is_depthwise(one)>(s, x, dy, dw, begin, end, workspace);
  }
};

#if !TENON_DEFINES
// Constants are computed here, what is asked at run time in the compiled part.
extern template KernelWork detail::rows_work<float16>(const Conv2dSizes&);
extern template KernelWork detail::rows_work<bfloat16>(const Conv2dSizes&);
extern template KernelWork detail::rows_work<float>(const Conv2dSizes&);
extern template KernelWork detail::rows_work<double>(const Conv2dSizes&);
extern template KernelWork detail::rows_weight_work<float16>(const Conv2dSizes&);
extern template KernelWork detail::rows_weight_work<bfloat16>(const Conv2dSizes&);
extern template KernelWork detail::rows_weight_work<float>(const Conv2dSizes&);
extern template KernelWork detail::rows_weight_work<double>(const Conv2dSizes&);
#endif
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Conv2d> : kernel::ConvKernel<kernel::DirectWay, kernel::gives_y> {
  static constexpr int kept_operand = 1;
  template <class Call>
  static constexpr bool keeps_operand() {
    return std::is_same_v<typename Call::Result, float> && kernel::detail::kept_conv_pays(one_sample<Call>);
  }
  template <class Call>
  static long kept_bytes(long) {
    return kernel::conv2d_kept_bytes(one_sample<Call>);
  }
  template <class Call>
  static void keep(const void* weight, long n, void* to) {
    kernel::keep_conv2d(sizes<Call>(n), static_cast<const float*>(weight), to);
  }
  template <class Call>
  static KernelWork kept_work(long n) {
    return kernel::conv2d_kept_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_kept(const Arguments& a, long begin, long end) {
    kernel::ConvKernel<kernel::KeptDirectWay, kernel::gives_y>::template run<Call>(a, begin, end);
  }
};
template <>
struct Kernel<Cpu, ops::Conv2dBackwardInput> : kernel::ConvKernel<kernel::DirectWay, kernel::gives_dx> {
  using Listed = ops::ArgmaxConv2dInput;
};
template <>
struct Kernel<Cpu, ops::Conv2dBackwardWeight> : kernel::ConvKernel<kernel::DirectWeightWay, kernel::gives_dw> {
  using Listed = ops::ArgmaxConv2dWeight;
};

}  // namespace tenon
