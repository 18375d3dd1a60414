// Two-dimensional convolution.
#pragma once
#include <tenon/kernel/cpu/conv/conv2d.hpp>
#include <tenon/kernel/cpu/conv/weight_gradient.hpp>
#include <tenon/kernel/cpu/nchw16n/weight_gradient.hpp>
#include <tenon/ops/conv2d_derivatives.hpp>
#include <tenon/ops/conv2d_epilogue.hpp>
#include <tenon/ops/conv2d_max_pool.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/window.hpp>
#include <tenon/ops/winograd_conv2d.hpp>

namespace tenon::inline TENON_ABI {

/// How a convolution and its gradients are computed. winograd: 3 x 3 kernels at stride 1 take a quarter of the
/// multiplications and round about twice as much (numbers in ops/winograd_conv2d.hpp); images of other dtypes than
/// float32 are computed directly.
enum class ConvAlgorithm : int { direct, winograd };

/// Settings of a convolution. `padding` counts only with PadMode::pad.
struct Conv2dOptions {
  Pair stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding padding = 0;
  Pair dilation = 1;
  int groups = 1;
  ConvAlgorithm algorithm = ConvAlgorithm::direct;
};

namespace ops {

namespace detail {
// Not inlined: one function for all convolutions of a program, not one per shape.
template <class T>
[[gnu::noinline]] constexpr KernelWork forward_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::conv2d_items(s), kernel::conv2d_workspace<T>(s.of(1)));
}
template <class T>
[[gnu::noinline]] constexpr KernelWork input_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::conv2d_backward_input_items(s), kernel::conv2d_backward_input_workspace<T>(s.of(1)));
}
template <class T>
[[gnu::noinline]] constexpr KernelWork weight_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::conv2d_backward_weight_items(s), kernel::conv2d_backward_weight_workspace<T>(s));
}
#if !TENON_DEFINES
// Constants are computed here, what is asked at run time in the compiled part.
extern template KernelWork forward_work<float16>(const kernel::Conv2dSizes&);
extern template KernelWork forward_work<bfloat16>(const kernel::Conv2dSizes&);
extern template KernelWork forward_work<float>(const kernel::Conv2dSizes&);
extern template KernelWork forward_work<double>(const kernel::Conv2dSizes&);
extern template KernelWork input_work<float16>(const kernel::Conv2dSizes&);
extern template KernelWork input_work<bfloat16>(const kernel::Conv2dSizes&);
extern template KernelWork input_work<float>(const kernel::Conv2dSizes&);
extern template KernelWork input_work<double>(const kernel::Conv2dSizes&);
extern template KernelWork weight_work<float16>(const kernel::Conv2dSizes&);
extern template KernelWork weight_work<bfloat16>(const kernel::Conv2dSizes&);
extern template KernelWork weight_work<float>(const kernel::Conv2dSizes&);
extern template KernelWork weight_work<double>(const kernel::Conv2dSizes&);
#endif
// A constant where it is defined, so that plans of memory are, too; the compiled part is asked at run time.
#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_forward_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::nchw16n_conv2d_items(s), kernel::nchw16n_conv2d_workspace(s));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_input_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::nchw16n_conv2d_backward_input_items(s),
                   kernel::nchw16n_conv2d_backward_input_workspace(s));
}
[[gnu::noinline]] TENON_INLINE constexpr KernelWork nchw16n_weight_work(const kernel::Conv2dSizes& s) {
  return conv_work(s, kernel::nchw16n_conv2d_backward_weight_items(s),
                   kernel::nchw16n_conv2d_backward_weight_workspace(s));
}
#else
KernelWork nchw16n_forward_work(const kernel::Conv2dSizes& s);
KernelWork nchw16n_input_work(const kernel::Conv2dSizes& s);
KernelWork nchw16n_weight_work(const kernel::Conv2dSizes& s);
#endif
}  // namespace detail

struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;

/// Convolution (cross-correlation) of images with a kernel per output channel.
///
/// x           [n, C, H, W]; float16, bfloat16, float32, float64
/// weight      [O, C / groups, kh, kw]
/// result      [n, O, OH, OW], extents by pad_mode (MindSpore's contract: `same` puts the odd pixel at the bottom and
///             right)
/// derivative  two operators below, which have each other as derivatives
/// order       one chain of fused multiply-adds over (channel, row, column) of the kernel per element, padding counts
///             as 0; in float32 a 1 x 1 kernel without padding makes sums of segments, as MatMul does
/// source      MindSpore's Conv2D
struct Conv2d : Operator<Conv2d, "Conv2D"> {
  using Config = Conv2dAttributes;
  using WithMaxPool = detail::ConvMaxPoolOperators;
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool per_sample = true;
  static constexpr bool epilogue = true;
  static constexpr int operands_before_epilogue = 2, channel_axis = 1;

  /// The settings of a call: paddings follow from the mode and the extents.
  static constexpr Config config(const Conv2dOptions& o, const TensorType& x, const TensorType& w) {
    Config c{o.stride.h, o.stride.w, 0, 0, o.dilation.h, o.dilation.w, o.groups};
    if (x.rank != 4 || w.rank != 4 || o.stride.h < 1 || o.stride.w < 1) return c;
    const WindowAxis v = window_axis(o.pad_mode, x[2], w[2], o.stride.h, o.dilation.h, o.padding.top, o.padding.bottom);
    const WindowAxis h = window_axis(o.pad_mode, x[3], w[3], o.stride.w, o.dilation.w, o.padding.left, o.padding.right);
    c.top = v.before, c.left = h.before, c.first = v.extent, c.second = h.extent;
    return c;
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    return detail::conv_shape(in, c, error);
  }
  static constexpr void derivative(Derivative& d);

  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      detail::conv_sizes(Call::operand(0), Call::operand(1), Call::result, Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return detail::forward_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::nchw16n_forward_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

/// The gradient of a convolution with respect to its input. Operands: weight, dy. Result: [n, C, H, W].
struct Conv2dBackwardInput : Operator<Conv2dBackwardInput, "Conv2DBackpropInput"> {
  static constexpr bool epilogue = true;
  static constexpr int operands_before_epilogue = 2, channel_axis = 1;
  using Config = Conv2dAttributes;  // first, second: H, W of the result
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType x = in[1];
    x.extent[1] = in[0][1] * c.groups, x.extent[2] = c.first, x.extent[3] = c.second;
    return x;
  }
  static constexpr void derivative(Derivative& d);

  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      detail::conv_sizes(Call::result, Call::operand(0), Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::result.size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return detail::input_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::nchw16n_input_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

/// The gradient of a convolution with respect to its weight. Operands: x, dy. Result: [O, C / groups, kh, kw].
struct Conv2dBackwardWeight : Operator<Conv2dBackwardWeight, "Conv2DBackpropFilter"> {
  using Config = Conv2dAttributes;  // first, second: extents of the kernel
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool tile_sums = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[1][1], in[0][1] / c.groups, c.first, c.second}, 4, in[0].dtype};
  }
  static constexpr void derivative(Derivative& d);

  template <class Call>
  static constexpr kernel::Conv2dSizes one_sample =
      detail::conv_sizes(Call::operand(0), Call::result, Call::operand(1), Call::config());
  template <class Call>
  static constexpr auto sizes(long n) {
    return one_sample<Call>.of(Call::operand(0).size(0, n));
  }
  template <class Call>
  static constexpr KernelWork work(long n) {
    return detail::weight_work<typename Call::Result>(sizes<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return detail::nchw16n_weight_work(sizes<Call>(n));
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end);
};

using Conv2dDerivatives = detail::ConvDerivatives<Conv2d, Conv2dBackwardInput, Conv2dBackwardWeight>;
constexpr void Conv2d::derivative(Derivative& d) { Conv2dDerivatives::of_convolve(d); }
constexpr void Conv2dBackwardInput::derivative(Derivative& d) { Conv2dDerivatives::of_input(d); }
constexpr void Conv2dBackwardWeight::derivative(Derivative& d) { Conv2dDerivatives::of_weight(d); }

TENON_EXACT_BEGIN
// The compiled part has the code for all sizes.
template <class Call>
void Conv2d::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  const detail::PlaneEpilogue<Call> finish{a};
  kernel::conv2d<T, !TENON_DEFINES || kernel::conv2d_is_channels_last<T>(sizes<Call>(1))>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace,
      detail::epilogue_of<Call>(finish));
}
template <class Call>
void Conv2d::run_nchw16n(const Arguments& a, long begin, long end) {
  const detail::Nchw16nEpilogue<Call> finish{a};
  kernel::nchw16n_conv2d(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(), begin, end,
                         a.workspace, detail::epilogue_of<Call>(finish));
}
template <class Call>
void Conv2dBackwardInput::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  const detail::PlaneEpilogue<Call> finish{a};
  kernel::conv2d_backward_input<T, !TENON_DEFINES || kernel::conv2d_backward_input_is_channels_last<T>(sizes<Call>(1))>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace,
      detail::epilogue_of<Call>(finish));
}
template <class Call>
void Conv2dBackwardInput::run_nchw16n(const Arguments& a, long begin, long end) {
  const detail::Nchw16nEpilogue<Call> finish{a};
  kernel::nchw16n_conv2d_backward_input(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                        begin, end, a.workspace, detail::epilogue_of<Call>(finish));
}
template <class Call>
void Conv2dBackwardWeight::run(const Arguments& a, long begin, long end) {
  using T = typename Call::Result;
  kernel::conv2d_backward_weight<T, !TENON_DEFINES || kernel::is_depthwise(sizes<Call>(1))>(
      sizes<Call>(a.n), a.operand<T>(0), a.operand<T>(1), a.result<T>(), begin, end, a.workspace);
}
template <class Call>
void Conv2dBackwardWeight::run_nchw16n(const Arguments& a, long begin, long end) {
  kernel::nchw16n_conv2d_backward_weight(sizes<Call>(a.n), a.operand<float>(0), a.operand<float>(1), a.result<float>(),
                                         begin, end, a.workspace);
}
TENON_EXACT_END

/// Convolves x with weight: `conv2d<Conv2dOptions{.stride = 2, .pad_mode = PadMode::same}>(x, weight)`.
template <Conv2dOptions options = Conv2dOptions{}, Operand X, Operand W>
constexpr auto conv2d(const X& x, const W& weight, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (options.algorithm == ConvAlgorithm::winograd && X::dims.dtype == Dtype::float32)
    return apply<WinogradConv2d, Conv2d::config(options, X::dims, W::dims)>(at, x, weight);
  else return apply<Conv2d, Conv2d::config(options, X::dims, W::dims)>(at, x, weight);
}

}  // namespace ops
}  // namespace tenon
