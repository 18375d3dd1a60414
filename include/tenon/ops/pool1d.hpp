// Maximum and average pooling over windows of a sequence.
#pragma once
#include <tenon/ops/conv1d.hpp>
#include <tenon/ops/pool2d.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a pooling window of sequences. A stride of 0 means the size of the window.
struct Pool1dOptions {
  int kernel = 1;
  int stride = 0;
  PadMode pad_mode = PadMode::valid;
  Padding1d padding = 0;
  bool count_include_pad = true;  // of an average with PadMode::pad: zeros of the padding count
  /// The same of images of height 1.
  constexpr Pool2dOptions image() const {
    return {.kernel = Pair(1, kernel),
            .stride = Pair(1, stride ? stride : kernel),
            .pad_mode = pad_mode,
            .padding = Padding(0, 0, padding.before, padding.after),
            .count_include_pad = count_include_pad};
  }
};

namespace ops {

/// The largest element of each window: `max_pool1d<Pool1dOptions{.kernel = 3, .stride = 2}>(x)`, or `max_pool1d<2>(x)`
/// for window and stride 2.
///
/// x           [n, C, L]
/// result      [n, C, M], extents by pad_mode
/// source      MindSpore's MaxPool1d; computed as max_pool2d of images of height 1
template <Pool1dOptions options, Operand X>
constexpr auto max_pool1d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"MaxPool1d", "[n,C,L]", 3>>(at, x, [&](const auto& v) {
    return detail::as_images(v, at, [&](const auto& image) { return max_pool2d<options.image()>(image, at); });
  });
}
template <int window, int stride = window>
constexpr auto max_pool1d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return max_pool1d<Pool1dOptions{.kernel = window, .stride = stride}>(x, at);
}
/// The mean of each window, as max_pool1d.
template <Pool1dOptions options, Operand X>
constexpr auto avg_pool1d(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<InputRule<"AvgPool1d", "[n,C,L]", 3>>(at, x, [&](const auto& v) {
    return detail::as_images(v, at, [&](const auto& image) { return avg_pool2d<options.image()>(image, at); });
  });
}
template <int window, int stride = window>
constexpr auto avg_pool1d(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return avg_pool1d<Pool1dOptions{.kernel = window, .stride = stride}>(x, at);
}

}  // namespace ops
}  // namespace tenon
