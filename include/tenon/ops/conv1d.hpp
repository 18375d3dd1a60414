// One-dimensional convolution.
#pragma once
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI {

/// Padding of a sequence; one number sets both ends.
struct Padding1d {
  int before = 0, after = 0;
  constexpr Padding1d() = default;
  constexpr Padding1d(std::integral auto both) : before(int(both)), after(int(both)) {}
  constexpr Padding1d(int b, int a) : before(b), after(a) {}
  constexpr bool operator==(const Padding1d&) const = default;
};

/// Settings of a one-dimensional convolution. `padding` counts only with PadMode::pad.
struct Conv1dOptions {
  int stride = 1;
  PadMode pad_mode = PadMode::same;
  Padding1d padding = 0;
  int dilation = 1;
  int groups = 1;
  /// The same of images of height 1.
  constexpr Conv2dOptions image() const {
    return {.stride = Pair(1, stride),
            .pad_mode = pad_mode,
            .padding = Padding(0, 0, padding.before, padding.after),
            .dilation = Pair(1, dilation),
            .groups = groups};
  }
};

namespace ops {

namespace detail {
using SequenceRule = InputRule<"Conv1d", "[n,C,L]", 3>;
/// f of sequences [n,C,L] as images [n,C,1,L], and its result [n,O,1,M] as [n,O,M].
template <class X, class F>
constexpr auto as_images(const X& x, const std::source_location& at, const F& f) {
  const auto y = f(expand_dims<2>(x, at));
  if constexpr (is_broken<decltype(y)>) return y;
  else return squeeze<2>(y, at);
}
}  // namespace detail

/// Convolves sequences: `conv1d<Conv1dOptions{.stride = 2}>(x, weight)`.
///
/// x           [n, C, L]
/// weight      [O, C / groups, 1, k], MindSpore's shape; PyTorch's has no extent of 1
/// result      [n, O, M], extents by pad_mode
/// source      MindSpore's and PyTorch's conv1d; computed as conv2d of images of height 1
template <Conv1dOptions options = Conv1dOptions{}, Operand X, Operand W>
constexpr auto conv1d(const X& x, const W& weight, std::source_location at = std::source_location::current()) {
  return where_fits<detail::SequenceRule>(at, x, [&](const auto& v) {
    return detail::as_images(v, at, [&](const auto& image) { return conv2d<options.image()>(image, weight, at); });
  });
}

}  // namespace ops
}  // namespace tenon
