// Direct convolution of small float32 images, a whole image at a time, with channels as lanes: pixels fill vectors
// badly there, channels often do so well. The weights of all channels are packed once, for all samples of a call or for
// many calls (kept_conv2d.hpp).
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/geometry.hpp>
#include <tenon/backend/cpu/conv/padded.hpp>
#include <tenon/core/memory/arena.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

struct WholeImagesPlan : ConvGeometry {
  bool copied = false;  // with zeros around it; without padding the image is x itself
  Padded image{};
  long pixels = 0, steps = 0, row_blocks = 0;  // row_blocks: items per sample and group
  // What is packed, in bytes: after the plan the pixels, the taps, the weights; all of it.
  std::size_t pixels_at = 0, taps_at = 0, weights_at = 0, packed = 0;
  std::size_t padded_at = 0, workspace = 0;  // the workspace: first the sums
  constexpr long lanes() const { return rows < 3L * simd_width<float> ? rows : 3L * simd_width<float>; }
};
constexpr WholeImagesPlan whole_images_plan(const Conv2dSizes& s) {
  const auto bytes = [](long elements, std::size_t size) { return std::size_t(aligned(elements * long(size))); };
  WholeImagesPlan p{forward_geometry(s)};
  const long rows = (p.height - 1) * p.pixel_h + p.reach_h + 1, columns = (p.width - 1) * p.pixel_w + p.reach_w + 1;
  p.copied = p.top > 0 || p.left > 0 || rows > p.h || columns > p.w;
  p.image = {p.planes, p.h, p.w, p.top, p.left, 1, 1, 1, 1, p.copied ? rows : p.h, p.copied ? columns : p.w};
  p.pixels = p.height * p.width, p.steps = p.planes * p.taps(), p.row_blocks = ceil_div(p.rows, tile_rows);
  p.pixels_at = bytes(1, sizeof(WholeImagesPlan));
  p.taps_at = p.pixels_at + bytes(p.pixels, sizeof(std::int32_t));
  p.weights_at = p.taps_at + bytes(p.steps, sizeof(Tap));
  p.packed = p.weights_at + bytes(s.groups * p.steps * p.rows, sizeof(float));
  p.padded_at = bytes(p.pixels * p.lanes(), sizeof(float));
  p.workspace = p.padded_at + (p.copied ? bytes(p.image.elements(), sizeof(float)) : 0);
  return p;
}

#if TENON_DEFINES
class WholeImages {
 public:
  WholeImages(const WholeImagesPlan& plan, char* packed)
      : c_(plan),
        pixel_(reinterpret_cast<std::int32_t*>(packed + plan.pixels_at)),
        taps_(reinterpret_cast<Tap*>(packed + plan.taps_at)),
        weights_(reinterpret_cast<float*>(packed + plan.weights_at)) {}

  /// Writes where pixels and taps are, and the weights, packed.
  [[gnu::noinline]] void pack(const float* weight, int groups) {
    for (long i = 0, q = 0; i < c_.height; ++i)
      for (long j = 0; j < c_.width; ++j, ++q)
        pixel_[q] = std::int32_t(i * c_.pixel_h * c_.image.pitch + j * c_.pixel_w);
    add_taps(*this, c_);
    for (long group = 0, all = c_.steps * c_.rows; group < groups; ++group)
      copy_matrix(weight + group * all, 1, c_.steps, weights_ + group * all, c_.rows, c_.steps, c_.rows, 0);
  }
  void add(long weight, long y, long x) {
    taps_[weight] = {std::int32_t(c_.image.offset(0, y, x)), std::int32_t(weight * c_.rows)};
  }
  void end_phase() {
    for (long t = c_.taps(); t < c_.steps; ++t)
      taps_[t] = {std::int32_t(taps_[t - c_.taps()].a + c_.image.plane()), std::int32_t(t * c_.rows)};
  }

  /// Channels row0 .. row0 + rows - 1, whole vectors of them, of one sample and group.
  [[gnu::noinline]] void run(const float* x, float* y, long group, long row0, long rows, float* sums,
                             float* padded) const {
    if (c_.copied) fill_padded(c_.image, {c_.h * c_.w}, x, 0, padded), x = padded;
    const float* const weights = weights_ + group * c_.steps * c_.rows + row0;
    for (long j = 0, width; j < rows; j += width) {
      width = filled_columns<float>(rows - j);
      for (long i = 0, count; i < c_.pixels; i += count) {
        const long left = c_.pixels - i;  // few chains at a time would wait for each other
        count = left <= tile_rows ? left : left < tile_rows + 3 ? tile_rows - 2 : tile_rows;
        run_segments(Tile<float>{taps_, c_.steps, x, pixel_ + i, weights + j, sums + i * width, width, false},
                     int(count), width, c_.segment * c_.taps());
      }
      write(sums, width, y + j * c_.pixels);
    }
  }

 private:
  // Planes of `width` channels from sums of pixels; + 0 as everywhere.
  [[gnu::always_inline]] void write(const float* sums, long width, float* y) const {
    constexpr int side = simd_width<float> < 8 ? simd_width<float> : 8;
    using V = Simd<float, side>;
    for (long l = 0; l < width; l += side)
      for (long i = 0; i < c_.pixels; i += side) {
        if (i + side > c_.pixels) i = c_.pixels - side;  // overlaps the ones before
        V square[side];
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) square[s] = V::load(sums + (i + s) * width + l) + V(0.0f);
        transpose_lanes(square);
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) square[s].store(y + (l + s) * c_.pixels + i);
      }
  }
  const WholeImagesPlan& c_;
  std::int32_t* pixel_;
  Tap* taps_;
  float* weights_;
};
#endif  // TENON_DEFINES

}  // namespace tenon::kernel::detail
TENON_EXACT_END
