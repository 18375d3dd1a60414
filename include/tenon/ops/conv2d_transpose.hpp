// Transposed convolution of images and of sequences.
#pragma once
#include <tenon/ops/conv1d.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/refused.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a transposed convolution. `padding` and `output_padding` count only with PadMode::pad.
struct Conv2dTransposeOptions {
  Pair stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int groups = 1;
};
/// The same of sequences.
struct Conv1dTransposeOptions {
  int stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding1d padding = 0;
  int output_padding = 0;
  int dilation = 1;
  int groups = 1;
  /// The same of images of height 1.
  constexpr Conv2dTransposeOptions image() const {
    return {.stride = Pair(1, stride),
            .pad_mode = pad_mode,
            .padding = Padding(0, 0, padding.before, padding.after),
            .output_padding = Pair(0, output_padding),
            .dilation = Pair(1, dilation),
            .groups = groups};
  }
};

namespace ops {

/// Output extent of one axis of a transposed convolution, and what is cut off before it. `same` gives extent · stride,
/// `valid` at least that; a window smaller than the stride leaves zeros.
constexpr WindowAxis transposed_axis(PadMode mode, int extent, int kernel, int stride, int dilation, int before,
                                     int after, int output_padding) {
  const int reach = (kernel - 1) * dilation + 1, more = reach > stride ? reach - stride : 0;
  if (mode == PadMode::same) return {extent * stride, more / 2};
  if (mode == PadMode::valid) return {extent * stride + more, 0};
  return {(extent - 1) * stride + reach - before - after + output_padding, before};
}

namespace detail {
constexpr Conv2dAttributes transposed_attributes(const Conv2dTransposeOptions& o, const TensorType& x,
                                                 const TensorType& w) {
  const WindowAxis v = transposed_axis(o.pad_mode, x[2], w[2], o.stride.h, o.dilation.h, o.padding.top,
                                       o.padding.bottom, o.output_padding.h),
                   h = transposed_axis(o.pad_mode, x[3], w[3], o.stride.w, o.dilation.w, o.padding.left,
                                       o.padding.right, o.output_padding.w);
  return {o.stride.h, o.stride.w, v.before, h.before, o.dilation.h, o.dilation.w, o.groups, v.extent, h.extent};
}
template <class W, Conv2dTransposeOptions o>
struct ConvTransposeRule {
  static constexpr FixedString name{"Conv2dTranspose"};
  static constexpr TensorType w = W::dims;
  static constexpr bool adapts = tenon::detail::is_float_parameter<W>;  // to 16 bits of x
  static constexpr bool holds(const TensorType& x) {
    Sentence error;
    write(error, x);
    return error.empty();
  }
  static constexpr void write(Sentence& error, const TensorType& x) {
    if (x.rank != 4) error << "Conv2dTranspose needs an input [n,C,H,W] of rank 4, got " << x;
    else if (w.rank != 4) error << "Conv2dTranspose needs a weight [C,O/groups,kh,kw] of rank 4, got " << w;
    else if (!is_floating(x.dtype) || (x.dtype != w.dtype && !(adapts && is_half_dtype(x.dtype))))
      error << "Conv2dTranspose needs an input and a weight of one floating-point dtype, got " << tenon::name(x.dtype)
            << " and " << tenon::name(w.dtype);
    else if (o.stride.h < 1 || o.stride.w < 1 || o.dilation.h < 1 || o.dilation.w < 1 || o.groups < 1)
      error << "Conv2dTranspose needs stride, dilation, and groups of at least 1";
    else if (x[1] != w[0] || x[1] % o.groups)
      error << "Conv2dTranspose got an input of " << x[1] << " channels " << x << ", its weight " << w << " needs "
            << w[0] << ", a multiple of its " << o.groups << " groups";
    else if (o.output_padding.h < 0 || o.output_padding.w < 0 ||
             o.output_padding.h >= (o.stride.h > o.dilation.h ? o.stride.h : o.dilation.h) ||
             o.output_padding.w >= (o.stride.w > o.dilation.w ? o.stride.w : o.dilation.w))
      error << "Conv2dTranspose needs an output_padding below its stride or dilation, got " << o.output_padding.h
            << " x " << o.output_padding.w;
    else if (const Conv2dAttributes c = transposed_attributes(o, x, w); c.first < 1 || c.second < 1)
      error << "Conv2dTranspose of " << x << " pads away its whole result";
  }
};
}  // namespace detail

/// Transposed convolution: what the gradient of a convolution with respect to its input computes.
/// `conv2d_transpose<Conv2dTransposeOptions{.stride = 2}>(x, weight)`.
///
/// x           [n, C, H, W]; floating-point
/// weight      [C, O / groups, kh, kw]
/// result      [n, O, OH, OW]: with `same` H · stride, with `valid` H · stride + max(reach - stride, 0), with `pad`
///             (H - 1) · stride + reach - padding + output_padding, where reach = (kh - 1) · dilation + 1
/// derivative  conv2d and the gradient of its weight
/// source      MindSpore's Conv2DTranspose, PyTorch's conv_transpose2d
template <Conv2dTransposeOptions options = Conv2dTransposeOptions{}, Operand X, Operand W>
constexpr auto conv2d_transpose(const X& x, const W& weight,
                                std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<W>) return weight;
  else
    return where_fits<detail::ConvTransposeRule<W, options>>(at, x, [&](const auto& v) {
      return apply<Conv2dBackwardInput, detail::transposed_attributes(options, X::dims, W::dims)>(at, weight, v);
    });
}
/// Transposed convolution of sequences [n, C, L] with a weight [C, O / groups, 1, k], as conv2d_transpose of images of
/// height 1.
template <Conv1dTransposeOptions options = Conv1dTransposeOptions{}, Operand X, Operand W>
constexpr auto conv1d_transpose(const X& x, const W& weight,
                                std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"Conv1dTranspose", "[n,C,L]", 3>>(at, x, [&](const auto& v) {
    return detail::as_images(v, at,
                             [&](const auto& image) { return conv2d_transpose<options.image()>(image, weight, at); });
  });
}

}  // namespace ops
}  // namespace tenon
