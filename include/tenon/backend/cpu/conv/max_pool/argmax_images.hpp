// Images with zeros around them and their channels last, one per sample: every patch of one is a few vectors
// (places.hpp).
#pragma once
#include <tenon/backend/cpu/conv/max_pool/places.hpp>
#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
inline constexpr int patch_lanes = simd_width<float> < 8 ? simd_width<float> : 8;
/// Samples whose images are there at once: as many as a square of lanes has.
inline constexpr int side_samples = 8;
/// Rows and vectors of a tile of a patch: 25 sums with 32 registers, 10 with 16.
inline constexpr int patch_rows = 5, patch_vectors = simd_bytes == 64 ? 5 : 2;

/// The images of a convolution, and how tiles cover a patch. What a tile reads beyond its patch has to be there, too.
struct PatchImages {
  ArgmaxPlaces places;
  long rows, row;  // of an image: rows, elements of one
  long patch;      // elements of a patch's row
  int tile_rows, tile_vectors;
  long row_tiles, vector_tiles;
  long elements;  // of an image, with what is read in vain
  constexpr long tile() const { return long(tile_rows) * tile_vectors * patch_lanes; }
  constexpr long lanes() const { return row_tiles * vector_tiles * tile(); }
};
constexpr PatchImages patch_images(const Conv2dSizes& s) {
  PatchImages p{};
  p.places = argmax_places(int(s.c), s.kw, int(s.ow), s.stride_h, s.stride_w);
  p.rows = (s.oh - 1) * s.stride_h + s.kh, p.row = p.places.line, p.patch = long(s.kw) * p.places.channels;
  const long vectors = ceil_div(p.patch, patch_lanes);
  p.row_tiles = ceil_div(s.kh, patch_rows), p.vector_tiles = ceil_div(vectors, patch_vectors);
  p.tile_rows = int(ceil_div(s.kh, p.row_tiles)), p.tile_vectors = int(ceil_div(vectors, p.vector_tiles));
  p.elements =
      round_up((p.rows + p.row_tiles * p.tile_rows - s.kh) * p.row + p.vector_tiles * p.tile_vectors * patch_lanes, 16);
  return p;
}

#if TENON_DEFINES
// to[j * to_row + i] = from[i * from_row + j] + 0 for a square of 8. Of `from` some rows are there, of `to` some rows
// are written.
[[gnu::noinline]] inline void transpose_square(const float* from, long from_row, long from_rows, float* to, long to_row,
                                               long to_rows, bool half) {
  using V = Simd<float, 8>;
  V square[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) square[i] = (i < from_rows ? V::load(from + i * from_row) : V(0.0f)) + V(0.0f);
  transpose_lanes(square);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    if (j == to_rows) break;
    if (half) lower_half(square[j]).store(to + j * to_row);
    else square[j].store(to + j * to_row);
  }
}

/// Brings samples of [n, c, h, w], row-major or NCHW16n, to such images and back.
class SampleImages {
 public:
  SampleImages(const Conv2dSizes& s, const PatchImages& p, bool blocks, float* images)
      : s_(s), p_(p), blocks_(blocks), images_(images) {
    const long right = p.places.columns - s.pad_left, below = p.rows - s.pad_top;
    width_ = right < s.w ? right : s.w, height_ = below < s.h ? below : s.h;
  }
  void clear_all() const { clear(images_, (s_.n < side_samples ? s_.n : side_samples) * p_.elements); }
  float* image(long sample) const { return images_ + sample % side_samples * p_.elements; }

  /// The images of up to 8 samples from a multiple of 8 on; where they overlap no vectors, zeros around them stay as
  /// they were.
  [[gnu::noinline]] void fill(const float* x, long sample, long samples) const {
    const long channels = p_.places.channels;
    if (channels == 1) return fill_lines(x, sample, samples);
    for (long c = 0; c < s_.c; c += 8) {
      const long rows = s_.c - c < 8 ? s_.c - c : 8;
      each_square(sample, samples, c, [&](long at, long image, long pixels) {
        if (blocks_) transpose_square(x + at, plane(), rows, images_ + image, p_.elements, side_samples, channels == 4);
        else if (pixels == 8) transpose_square(x + at, plane(), rows, images_ + image, channels, 8, channels == 4);
        else
          for (long q = 0; q < pixels; ++q)
            for (long i = 0; i < rows; ++i) images_[image + q * channels + i] = x[at + i * plane() + q];
      });
    }
  }
  /// The way back, row-major, for whole_pixels.
  [[gnu::noinline]] void drain(float* x, long sample, long samples) const {
    const long channels = p_.places.channels;
    if (width_ < s_.w || height_ < s_.h) clear(x + first_of(sample, 0), samples * s_.c * plane());
    for (long c = 0; c < s_.c; c += 8) {
      const long rows = s_.c - c < 8 ? s_.c - c : 8;
      each_square(sample, samples, c, [&](long at, long image, long pixels) {
        if (pixels == 8) transpose_square(images_ + image, channels, 8, x + at, plane(), rows, false);
        else
          for (long q = 0; q < pixels; ++q)
            for (long i = 0; i < rows; ++i) x[at + i * plane() + q] = images_[image + q * channels + i] + 0.0f;
      });
    }
  }

 private:
  long plane() const { return s_.h * s_.w * (blocks_ ? block_samples : 1); }
  long first_of(long sample, long c) const {
    return blocks_ ? (sample / block_samples * s_.c + c) * plane() + sample % block_samples
                   : (sample * s_.c + c) * plane();
  }
  // The images of one channel.
  void fill_lines(const float* x, long sample, long samples) const {
    const long lanes = blocks_ ? block_samples : 1;
    for (long s = 0; s < samples; ++s)
      for (long y = 0; y < height_; ++y) {
        const float* const from = x + first_of(sample + s, 0) + y * s_.w * lanes;
        float* const to = images_ + s * p_.elements + (y + s_.pad_top) * p_.row + s_.pad_left;
        if (lanes == 1) copy_row(from, to, width_);
        else
          for (long q = 0; q < width_; ++q) to[q] = from[q * lanes];
      }
  }
  // body(first element of x, of the images, pixels) for the squares of 8 channels from c on: of blocks 8 samples of a
  // pixel; of row-major samples 8 pixels, or less if a row has less.
  template <class Body>
  [[gnu::always_inline]] void each_square(long sample, long samples, long c, Body body) const {
    const long step = blocks_ ? 1 : width_ < 8 ? width_ : 8, lanes = blocks_ ? block_samples : 1;
    for (long s = 0; s < (blocks_ ? 1 : samples); ++s)
      for (long y = 0; y < height_; ++y)
        for (long j = 0; j < width_; j += step) {
          const long x = j + step <= width_ ? j : width_ - step;  // overlaps the ones before
          body(first_of(sample + s, c) + (y * s_.w + x) * lanes,
               s * p_.elements + (y + s_.pad_top) * p_.row + (x + s_.pad_left) * p_.places.channels + c, step);
        }
  }
  const Conv2dSizes& s_;
  const PatchImages& p_;
  bool blocks_;
  float* images_;
  long width_, height_;
};
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
