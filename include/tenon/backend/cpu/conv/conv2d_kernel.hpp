// The kernels of Conv2d and its two gradients. Which way a convolution is computed, the first of these that fits:
//
//   Winograd       the user asks for it (Conv2dOptions::algorithm): 3x3, stride 1      winograd/conv2d.hpp
//   NCHW16n        float32 images of a dynamic batch whose blocks of 16 samples are     nchw16n/conv2d.hpp
//                  filled to three fifths: core/nchw16n.hpp, in_nchw16n. The layout
//                  pass (PyNative: run/layout.hpp) gives it to all that want it:
//                  vectors over samples are full at any stride and need no shuffle
//   product        float32 of one tap at every pixel, where vectors are narrow          conv/pointwise.hpp
//   channels last  few pixels to fill vectors with, and 32 or more result channels:     conv/channels_last.hpp
//                  conv/plan.hpp, channels_pay, compares the multiplications
//   direct         else: pixels are the lanes of a tile; conv/plan.hpp, choose_tiles    conv/direct.hpp
//
// All but Winograd have the same bits. run() below is called with rows, run_nchw16n() with blocks. Gradients of the
// weight are sums over pixels instead, conv/weight_gradient.hpp, of depthwise convolutions conv/depthwise.hpp.
#pragma once
#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/conv/conv2d.hpp>
#include <tenon/backend/cpu/conv/epilogue.hpp>
#include <tenon/backend/cpu/conv/weight_gradient.hpp>
#include <tenon/backend/cpu/nchw16n/weight_gradient.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2d;
struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;
namespace detail {
struct ConvMaxPoolOperators;  // ops/conv2d_max_pool.hpp
}
}  // namespace ops

namespace kernel::detail {

// Not inlined: one function for all convolutions of a program, not one per shape.
template <class T>
[[gnu::noinline]] constexpr KernelWork forward_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_items(s), conv2d_workspace<T>(s.of(1)));
}
template <class T>
[[gnu::noinline]] constexpr KernelWork input_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_backward_input_items(s), conv2d_backward_input_workspace<T>(s.of(1)));
}
template <class T>
[[gnu::noinline]] constexpr KernelWork weight_work(const Conv2dSizes& s) {
  return conv_work(s, conv2d_backward_weight_items(s), conv2d_backward_weight_workspace<T>(s));
}

#if !TENON_DEFINES
// Constants are computed here, what is asked at run time in the compiled part.
extern template KernelWork forward_work<float16>(const Conv2dSizes&);
extern template KernelWork forward_work<bfloat16>(const Conv2dSizes&);
extern template KernelWork forward_work<float>(const Conv2dSizes&);
extern template KernelWork forward_work<double>(const Conv2dSizes&);
extern template KernelWork input_work<float16>(const Conv2dSizes&);
extern template KernelWork input_work<bfloat16>(const Conv2dSizes&);
extern template KernelWork input_work<float>(const Conv2dSizes&);
extern template KernelWork input_work<double>(const Conv2dSizes&);
extern template KernelWork weight_work<float16>(const Conv2dSizes&);
extern template KernelWork weight_work<bfloat16>(const Conv2dSizes&);
extern template KernelWork weight_work<float>(const Conv2dSizes&);
extern template KernelWork weight_work<double>(const Conv2dSizes&);
#endif

// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_forward_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_items(s), nchw16n_conv2d_workspace(s));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_input_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_backward_input_items(s), nchw16n_conv2d_backward_input_workspace(s));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_weight_work(const Conv2dSizes& s) {
  return conv_work(s, nchw16n_conv2d_backward_weight_items(s), nchw16n_conv2d_backward_weight_workspace(s));
}
#else
KernelWork nchw16n_forward_work(const Conv2dSizes& s);
KernelWork nchw16n_input_work(const Conv2dSizes& s);
KernelWork nchw16n_weight_work(const Conv2dSizes& s);
#endif

}  // namespace kernel::detail

template <>
struct Kernel<Cpu, ops::Conv2d> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::wants};
  using WithMaxPool = ops::detail::ConvMaxPoolOperators;
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::operand(0), Call::operand(1), Call::result, Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::forward_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::nchw16n_forward_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

template <>
struct Kernel<Cpu, ops::Conv2dBackwardInput> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .nchw16n = Nchw16n::wants};
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::result, Call::operand(0), Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::result.size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::input_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::nchw16n_input_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

template <>
struct Kernel<Cpu, ops::Conv2dBackwardWeight> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::wants, .tile_sums = true};
  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      kernel::conv_sizes(Call::operand(0), Call::result, Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return kernel::detail::weight_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return kernel::detail::nchw16n_weight_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

TENON_EXACT_BEGIN
// The compiled part has the code for all sizes.
template <class Call>
void Kernel<Cpu, ops::Conv2d>::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  const kernel::PlaneEpilogue<Call> finish{a};
  kernel::conv2d<T, TENON_DEFINES ? kernel::conv2d_way<T>(sizes<Call>(1)) : kernel::ConvWay::any>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace,
      kernel::epilogue_of<Call>(finish));
}
template <class Call>
void Kernel<Cpu, ops::Conv2d>::run_nchw16n(const Arguments& a, long begin, long end) {
  const kernel::Nchw16nEpilogue<Call> finish{a};
  kernel::nchw16n_conv2d(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end,
                         a.workspace, kernel::epilogue_of<Call>(finish),
                         kernel::nchw16n_tiles_for<one_sample<Call>.group_outputs()>());
}
template <class Call>
void Kernel<Cpu, ops::Conv2dBackwardInput>::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  const kernel::PlaneEpilogue<Call> finish{a};
  kernel::conv2d_backward_input<T, TENON_DEFINES ? kernel::conv2d_backward_input_way<T>(sizes<Call>(1))
                                                 : kernel::ConvWay::any>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace,
      kernel::epilogue_of<Call>(finish));
}
template <class Call>
void Kernel<Cpu, ops::Conv2dBackwardInput>::run_nchw16n(const Arguments& a, long begin, long end) {
  const kernel::Nchw16nEpilogue<Call> finish{a};
  kernel::nchw16n_conv2d_backward_input(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                        begin, end, a.workspace, kernel::epilogue_of<Call>(finish),
                                        kernel::nchw16n_tiles_for<one_sample<Call>.group_inputs()>());
}
template <class Call>
void Kernel<Cpu, ops::Conv2dBackwardWeight>::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  kernel::conv2d_backward_weight<T, !TENON_DEFINES || kernel::is_depthwise(sizes<Call>(1))>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace);
}
template <class Call>
void Kernel<Cpu, ops::Conv2dBackwardWeight>::run_nchw16n(const Arguments& a, long begin, long end) {
  constexpr kernel::Conv2dSizes one = sizes<Call>(1);
  kernel::nchw16n_conv2d_backward_weight<kernel::nchw16n_weight_way(one)>(
      sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end, a.workspace,
      kernel::nchw16n_weight_tiles<TENON_DEFINES ? one.group_outputs() : 0, kernel::any_weight_alone(one)>());
}
TENON_EXACT_END

}  // namespace tenon
