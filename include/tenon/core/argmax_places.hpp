// Where the pixels of a convolution's result stand in the image that the gradient's kernels make of its input
// (backend/cpu/conv/max_pool/argmax_gradient.hpp).
#pragma once
#include <tenon/core/simd/simd.hpp>

namespace tenon::inline TENON_ABI {

/// The image has zeros around it and its channels last, `channels` of them with those that fill vectors. The patch of
/// the input that belongs to pixel (y, x) of the result begins at element y * row + x * column + (x & split).
struct ArgmaxPlaces {
  int channels, columns;
  int line;  // elements of a row of the image
  int row, column;
  // -8 if the image's rows lie in pieces of 16 pixels, 8 apart: a patch's row of 8 is in one piece, which is a line of
  // the cache; else 0
  int split;
};
/// Whether images of one channel lie so. It pays where a list takes no scalar loop.
inline constexpr bool splits_lines = simd_bytes == 64;
/// For an input of c channels, a kernel of kw columns, and a result of ow.
constexpr ArgmaxPlaces argmax_places(int c, int kw, int ow, int stride_h, int stride_w) {
  const int channels = c == 1 ? 1 : c <= 4 ? 4 : (c + 7) / 8 * 8, columns = (ow - 1) * stride_w + kw;
  const bool splits = splits_lines && c == 1 && kw <= 8 && stride_w == 1;
  const int line = splits ? (ow + 7) / 8 * 16 : columns * channels;
  return {channels, columns, line, stride_h * line, stride_w * channels, splits ? -8 : 0};
}
/// True if pixels are whole vectors: then a patch ends with one, and the gradient of the input can be added up in
/// place.
constexpr bool whole_pixels(const ArgmaxPlaces& places) { return places.channels % 8 == 0; }

}  // namespace tenon
