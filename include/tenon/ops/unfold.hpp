// The windows of images as columns, and sums of such columns: unfold (im2col), fold (col2im).
#pragma once
#include <tenon/ops/accumulate.hpp>
#include <tenon/ops/window.hpp>

namespace tenon::inline TENON_ABI {

/// How windows move over an image.
struct UnfoldConfig {
  Pair stride = 1, dilation = 1;
  Padding padding = 0;
};

namespace ops {

/// Windows of kh times kw elements at rows times columns positions of an image of height times width pixels.
struct WindowsConfig {
  int kh = 1, kw = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  int rows = 0, columns = 0, height = 0, width = 0;

  /// Pixels of element k of the window at a position.
  constexpr long row(long k, long position) const { return position * stride_h + k / kw * dilation_h - top; }
  constexpr long column(long k, long position) const { return position * stride_w + k % kw * dilation_w - left; }
  /// The position of the window whose row, or column, k is that of a pixel; -1: there is none.
  constexpr long window_row(long k, long pixel) const { return position(pixel + top - k * dilation_h, stride_h, rows); }
  constexpr long window_column(long k, long pixel) const {
    return position(pixel + left - k * dilation_w, stride_w, columns);
  }

 private:
  static constexpr long position(long distance, long stride, long count) {
    return distance < 0 || distance % stride || distance / stride >= count ? -1 : distance / stride;
  }
};

namespace detail {
constexpr WindowsConfig windows_of(Pair image, Pair kernel, const UnfoldConfig& c) {
  const Padding& p = c.padding;
  const int rows = window_axis(PadMode::pad, image.h, kernel.h, c.stride.h, c.dilation.h, p.top, p.bottom).extent,
            columns = window_axis(PadMode::pad, image.w, kernel.w, c.stride.w, c.dilation.w, p.left, p.right).extent;
  return {kernel.h, kernel.w, c.stride.h, c.stride.w, c.dilation.h, c.dilation.w,
          p.top,    p.left,   rows,       columns,    image.h,      image.w};
}
}  // namespace detail

struct Col2Im;

/// Each window of images [n, C, H, W] as a column of [n, C kh kw, positions]: unfold. Not for users.
struct Im2Col : Operator<Im2Col, "Im2Col"> {
  using Config = WindowsConfig;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[0][0], in[0][1] * c.kh * c.kw, c.rows * c.columns}, 3, in[0].dtype};
  }
  static constexpr void derivative(Derivative& d);
};
/// Sums of such columns, as images: fold. Not for users.
struct Col2Im : Operator<Col2Im, "Col2Im"> {
  using Config = WindowsConfig;
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    return {{in[0][0], in[0][1] / (c.kh * c.kw), c.height, c.width}, 4, in[0].dtype};
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<Im2Col>(d.config<Col2Im>(), d.gradient()));
  }
};
constexpr void Im2Col::derivative(Derivative& d) {
  d.flows_to(0, d.call_with<Col2Im>(d.config<Im2Col>(), d.gradient()));
}

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
    constexpr WindowsConfig windows = detail::windows_of({t[2], t[3]}, kernel, c);
    static_assert(windows.rows > 0 && windows.columns > 0,
                  "unfold: the window is larger than the image with its padding");
    return apply<Im2Col, windows>(at, x);
  }
}

/// Images of which each pixel is the sum of all elements of windows that lie on it: `fold<Pair{6, 5}, Pair{3}>(x)`.
///
/// x           [n, C kh kw, positions], as of unfold
/// result      [n, C, height, width]
/// derivative  unfold of dy
/// order       the sum of each row of the window, which is rounded, in ascending order of its place in the window; then
///             the sum of these, likewise
/// source      MindSpore's and PyTorch's fold
template <Pair image, Pair kernel, UnfoldConfig c = UnfoldConfig{}, Operand X>
constexpr auto fold(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr TensorType t = X::dims;
    constexpr WindowsConfig windows = detail::windows_of(image, kernel, c);
    static_assert(t.rank == 3 && t[1] % (kernel.h * kernel.w) == 0 && t[2] == windows.rows * windows.columns,
                  "fold needs columns [n, C kh kw, positions] of as many positions as the windows have in the image");
    return apply<Col2Im, windows>(at, x);
  }
}

}  // namespace ops
}  // namespace tenon
