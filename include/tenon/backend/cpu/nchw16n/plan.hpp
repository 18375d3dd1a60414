// How direct convolution of NCHW16n images is cut: the sizes of both directions, bands of rows, scratch memory.
#pragma once
#include <tenon/backend/cpu/conv/choose.hpp>
#include <tenon/backend/cpu/conv/direct.hpp>
#include <tenon/backend/cpu/nchw16n/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// A tap of a kernel: its weight within one plane, its pixel in the padded image for the first pixel of the result.
struct Nchw16nTap {
  std::int32_t weight, row, column;
};

// A convolution of NCHW16n: rows of the result are computed in bands whose image fits the cache.
struct Nchw16nPlan : ConvGeometry {
  long row_blocks = 0;                       // items per block and group
  bool copied = false;                       // with zeros around it, or since it is larger than the cache
  long band = 0, image_rows = 0, pitch = 0;  // rows of the grid per pass; of the copy
  long image_pixel = 0, image_plane = 0;     // elements from a pixel of the image to the next, and from plane to plane
  long pass = 0;                             // planes at a time; the chains of small results continue from pass to pass
  bool packed = false;                       // weights are copied: those of one row block lie far apart in each plane
  long worth_listing = 0;                    // planes from which on tiles at a border have lists of their own
};

inline constexpr long block_pixel = block_samples * long(sizeof(float));
// The image one plane after the other, as it lies in memory.
constexpr Nchw16nPlan by_planes(Nchw16nPlan c) {
  c.image_pixel = block_samples, c.image_plane = c.image_rows * c.pitch * block_samples;
  return c;
}
// All planes of a pixel side by side: a tile goes through them plane by plane, in a few pages of memory instead of one
// or more per plane. An odd number of cache lines per pixel keeps neighbours from competing for the same places.
constexpr Nchw16nPlan by_pixels(Nchw16nPlan c) {
  c.image_pixel = (c.pass + (c.pass > 1 && c.pass % 2 == 0)) * block_samples, c.image_plane = block_samples;
  return c;
}

[[gnu::noinline]] constexpr Nchw16nPlan nchw16n_plan(const ConvGeometry& g, const ConvCosts& costs = conv_costs) {
  Nchw16nPlan c{g};
  c.worth_listing = costs.worth_listing;
  c.packed = c.plane_step > c.row_step && c.rows > block_rows;
  const long rows = (c.grid_h - 1) * c.pixel_h + c.reach_h + 1, columns = (c.grid_w - 1) * c.pixel_w + c.reach_w + 1;
  c.row_blocks = ceil_div(c.rows, block_rows);
  c.copied = c.top > 0 || c.left > 0 || rows > c.h || columns > c.w ||
             c.planes * c.h * c.w * block_pixel > costs.block_image_bytes;
  c.pitch = c.copied ? columns : c.w;
  c.band = c.grid_h, c.pass = c.planes;
  if (c.copied && c.height * c.width <= costs.small_result)
    c.pass = ceil_div(c.planes, ceil_div(c.planes * rows * c.pitch * block_pixel, costs.block_image_bytes));
  if (c.segments) c.pass = round_up(c.pass, c.segment) < c.planes ? round_up(c.pass, c.segment) : c.planes;
  if (c.copied) {
    const long fitting = (costs.block_image_bytes / (c.pass * c.pitch * block_pixel) - c.reach_h - 1) / c.pixel_h + 1;
    if (fitting < c.band) c.band = fitting > 2 ? fitting / 2 * 2 : c.band < 2 ? c.band : 2;
  }
  c.image_rows = c.copied ? (c.band - 1) * c.pixel_h + c.reach_h + 1 : c.h;
  return c.copied ? by_pixels(c) : by_planes(c);
}

struct Nchw16nScratch {
  Nchw16nTap* taps;
  long* starts;  // of the phases' taps
  Tap* list;
  float *image, *weights;
  std::size_t total;
};
[[gnu::noinline]] constexpr Nchw16nScratch nchw16n_scratch(const Nchw16nPlan& c, void* workspace = nullptr) {
  WorkspaceParts parts(workspace);
  return {parts.take<Nchw16nTap>(c.taps()),
          parts.take<long>(c.phases() + 1),
          parts.take<Tap>(c.taps()),
          parts.take<float>(c.copied ? c.image_rows * c.pitch * c.image_pixel : 0),
          parts.take<float>(c.packed ? block_rows * c.pass * c.taps() : 0),
          parts.bytes()};
}

// The rows of some planes from `first` on, with zeros around, as the convolution wants them.
[[gnu::noinline]] inline void fill_nchw16n(const Nchw16nPlan& c, long planes, const float* from, long first,
                                           float* to) {
  const long right = c.left + c.w < c.pitch ? c.left + c.w : c.pitch;
  for (long y = first; y < first + c.image_rows; ++y, to += c.pitch * c.image_pixel)
    for (long p = 0; p < planes; ++p) {
      const bool inside = y >= 0 && y < c.h;
      float* pixel = to + p * c.image_plane;
      const float* source = from + ((p * c.h + y) * c.w - c.left) * block_samples;
      for (long x = 0; x < c.pitch; ++x, pixel += c.image_pixel, source += block_samples)
        if (inside && x >= c.left && x < right) kernel::copy_row(source, pixel, block_samples);
        else clear(pixel, block_samples);
    }
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
