// The inner loops of convolutions of NCHW16n images: lanes are samples, so every pixel is a vector and no tap needs
// a shuffle.
#pragma once
#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/backend/cpu/gemm/register_tile.hpp>
#include <tenon/backend/cpu/nchw16n/layout.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Result channels and pixels of one tile: 24 chains with 32 registers of 512 bits, 12 with 16 registers.
inline constexpr int block_rows = 6, block_pixels = simd_bytes == 64 ? 4 : 2;
// Small tiles are computed several at a time: to begin one takes a tenth of the time of 25 taps. With wide vectors it
// takes 3 %, and their programs stay small instead.
inline constexpr bool tiles_side_by_side = simd_bytes < 64;

/// Tiles side by side: out[i][q] = chain of fmadd over planes, then taps, of weight * image, from +0 or from what is
/// there, at last + 0.
struct Nchw16nTile {
  const Tap* taps;  // of one plane; a: weight, b: element of the image
  long count, planes;
  long weight_plane, image_plane;  // from one plane to the next
  const float* weight;
  long weight_row;
  const float* image;
  float* out;
  long out_row;
  long pixel[block_pixels], out_pixel[block_pixels];
  bool begun;
  bool added = false;  // a chain from +0 is added to what stands there
  long lanes = block_samples;
  long tiles = 1, next_image = 0, next_out = 0;  // from one tile to the next
};

namespace detail {
template <int Rows, int Pixels>
[[gnu::noinline]] void run_nchw16n_tile(const Nchw16nTile& t) {
  using V = Simd<float, block_width>;
  const long lanes = block_vectors == 1 ? block_width : t.lanes;
  const float* first_image = t.image;
  float* out = t.out;
  for (long left = (tiles_side_by_side ? t.tiles : 1) * lanes, lane = 0; left > 0;
       left -= block_width, lane += block_width) {
    if (tiles_side_by_side && lane == lanes) lane = 0, first_image += t.next_image, out += t.next_out;
    RegisterTile<V, Rows, Pixels> sums;
    const float *row[Rows], *image = first_image + lane;
    long pixel[Pixels], out_pixel[Pixels];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) row[i] = t.weight + i * t.weight_row;
#pragma GCC unroll 8
    for (int q = 0; q < Pixels; ++q) pixel[q] = t.pixel[q], out_pixel[q] = t.out_pixel[q];
    const auto place = [&](int i, int q)
                           __attribute__((always_inline)) { return out + lane + i * t.out_row + out_pixel[q]; };
    if (t.begun) sums.load(place);
    else sums.begin();
    const Tap *const first = t.taps, *const end = t.taps + t.count;
    for (long p = 0; p < t.planes; ++p) {
      for (const Tap* tap = first; tap != end; ++tap) {
        const float* const at = image + tap->b;
        const long w = tap->a;
        sums.multiply([&](int i) __attribute__((always_inline)) { return V(row[i][w]); },
                      [&](int q) __attribute__((always_inline)) { return V::load(at + pixel[q]); });
      }
      image += t.image_plane;
#pragma GCC unroll 8
      for (int i = 0; i < Rows; ++i) row[i] += t.weight_plane;
    }
    if (t.added) sums.add_to(place);  // before anything is stored: a pixel may be there twice
    sums.each([](V& sum, int, int) __attribute__((always_inline)) { sum = sum + V(0.0f); });
    sums.store(place);
  }
}

using Nchw16nTileKernel = void (*)(const Nchw16nTile&);
template <long channels, int... Row>
constexpr void fill_nchw16n_tiles(Nchw16nTileKernel (&kernel)[block_rows], std::integer_sequence<int, Row...>) {
  const auto fill = [&]<int row>(std::integral_constant<int, row>) {
    if constexpr (is_cut_into(channels, block_rows, row + 1)) kernel[row] = &run_nchw16n_tile<row + 1, block_pixels>;
  };
  (fill(std::integral_constant<int, Row>()), ...);
}
}  // namespace detail

struct Nchw16nTiles {
  detail::Nchw16nTileKernel kernel[block_rows]{};

  /// Runs a tile of 1 .. block_rows rows.
  void run(const Nchw16nTile& tile, int rows) const { kernel[rows - 1](tile); }
};

namespace detail {
template <long channels>
inline constexpr Nchw16nTiles tiles_of_channels = [] {
  Nchw16nTiles tiles;
  fill_nchw16n_tiles<channels>(tiles.kernel, std::make_integer_sequence<int, block_rows>());
  return tiles;
}();
}  // namespace detail
template <long channels>
const Nchw16nTiles& nchw16n_tiles() {
  return detail::tiles_of_channels<channels>;
}

}  // namespace tenon::kernel
TENON_EXACT_END
