// Where the pixels of a convolution's result stand in the image that the gradient's kernels make of its input (kernel/cpu/winner_conv2d.hpp).
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// The image has zeros around it and its channels last, `channels` of them with those that fill vectors. The patch of the input that belongs
/// to pixel (y, x) of the result begins at element y * row + x * column.
struct WinnerPlaces {
  int channels, columns, row, column;
};
/// For an input of c channels, a kernel of kw columns, and a result of ow.
constexpr WinnerPlaces winner_places(int c, int kw, int ow, int stride_h, int stride_w) {
  const int channels = c == 1 ? 1 : c <= 4 ? 4 : (c + 7) / 8 * 8, columns = (ow - 1) * stride_w + kw;
  return {channels, columns, stride_h * columns * channels, stride_w * channels};
}
/// True if pixels are whole vectors: then a patch ends with one, and the gradient of the input can be added up in place.
constexpr bool whole_pixels(const WinnerPlaces& places) { return places.channels % 8 == 0; }

}  // namespace tenon
