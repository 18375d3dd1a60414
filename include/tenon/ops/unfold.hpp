// The windows of images as columns, and sums of such columns: unfold (im2col), fold (col2im).
#pragma once
#include <tenon/ops/resample.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/window.hpp>

namespace tenon::inline TENON_ABI {

/// How windows move over an image.
struct UnfoldConfig {
  Pair stride = 1, dilation = 1;
  Padding padding = 0;
};

namespace ops {

namespace detail {
/// Positions of windows over an axis.
constexpr int positions(int extent, int kernel, int stride, int dilation, int before, int after) {
  return window_axis(PadMode::pad, extent, kernel, stride, dilation, before, after).extent;
}
constexpr Pair positions(Pair image, Pair kernel, const UnfoldConfig& c) {
  return {positions(image.h, kernel.h, c.stride.h, c.dilation.h, c.padding.top, c.padding.bottom),
          positions(image.w, kernel.w, c.stride.w, c.dilation.w, c.padding.left, c.padding.right)};
}
constexpr ResampleConfig rows_of_windows(int extent, Pair kernel, const UnfoldConfig& c) {
  return {2, extent, Resampling::windows, kernel.h, c.stride.h, c.dilation.h, c.padding.top};
}
constexpr ResampleConfig columns_of_windows(int extent, Pair kernel, const UnfoldConfig& c) {
  return {3, extent, Resampling::windows, kernel.w, c.stride.w, c.dilation.w, c.padding.left};
}
}  // namespace detail

/// Each window of images as a column: `unfold<Pair{3}, UnfoldConfig{.stride = 2, .padding = 1}>(x)`.
///
/// x           [n, C, H, W]; any dtype
/// result      [n, C kh kw, positions]; 0 where a window reaches into the padding
/// derivative  fold of dy
/// source      MindSpore's and PyTorch's unfold
template <Pair kernel, UnfoldConfig c = UnfoldConfig{}, Operand X>
constexpr auto unfold(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    static_assert(t.rank == 4, "unfold needs images [n, C, H, W]");
    constexpr Pair count = detail::positions({t[2], t[3]}, kernel, c);
    static_assert(count.h > 0 && count.w > 0, "unfold: the window is larger than the image with its padding");
    const auto rows = apply<Resample, detail::rows_of_windows(kernel.h * count.h, kernel, c)>(at, x);
    const auto all = apply<Resample, detail::columns_of_windows(kernel.w * count.w, kernel, c)>(at, rows);
    const auto windows = reshape<Shape<t[0], t[1], kernel.h, count.h, kernel.w, count.w>>(all, at);
    return reshape<Shape<t[0], t[1] * kernel.h * kernel.w, count.h * count.w>>(transpose<0, 1, 2, 4, 3, 5>(windows, at),
                                                                               at);
  }
}

/// Images of which each pixel is the sum of all elements of windows that lie on it: `fold<Pair{6, 5}, Pair{3}>(x)`.
///
/// x           [n, C kh kw, positions], as of unfold
/// result      [n, C, height, width]
/// derivative  unfold of dy
/// order       along each axis in ascending order of the place in the window, then of the position
/// source      MindSpore's and PyTorch's fold
template <Pair image, Pair kernel, UnfoldConfig c = UnfoldConfig{}, Operand X>
constexpr auto fold(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    constexpr Pair count = detail::positions(image, kernel, c);
    static_assert(t.rank == 3 && t[1] % (kernel.h * kernel.w) == 0 && t[2] == count.h * count.w,
                  "fold needs columns [n, C kh kw, positions] of as many positions as the windows have in the image");
    constexpr int channels = t[1] / (kernel.h * kernel.w);
    const auto windows = reshape<Shape<t[0], channels, kernel.h, kernel.w, count.h, count.w>>(x, at);
    const auto all = reshape<Shape<t[0], channels, kernel.h * count.h, kernel.w * count.w>>(
        transpose<0, 1, 2, 4, 3, 5>(windows, at), at);
    const auto rows = apply<ResampleGrad, detail::columns_of_windows(image.w, kernel, c)>(at, all);
    return apply<ResampleGrad, detail::rows_of_windows(image.h, kernel, c)>(at, rows);
  }
}

}  // namespace ops
}  // namespace tenon
