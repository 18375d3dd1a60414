// Winograd's minimal filtering: 4 x 4 results of a 3 x 3 kernel, or 3 x 3 of one of 4 x 4, by 36 products instead of
// 144. The points at which it evaluates, how a convolution is cut, and its scratch memory.
#pragma once
#include <tenon/backend/cpu/conv/geometry.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cpu/gemm/workspace_parts.hpp>
#include <tenon/core/nchw16n.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace winograd {
// A correlation of 6 numbers with 3 (or 4) is evaluated at the points 0, +-a, +-b, and infinity, multiplied there, and
// interpolated. 5/8 and 3/2 are exact with their squares and cubes, and round far less than the usual 1 and 2: the
// error of a convolution of normal numbers is 1.7 times that of a direct one instead of 4.1 times.
inline constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b;
inline constexpr int points = 6, products = points * points, tile = 4, kernel = 3;
inline constexpr double scale_0 = 1 / (double(a2) * b2), scale_a = 1 / (2.0 * a2 * (a2 - b2)),
                        scale_b = 1 / (2.0 * b2 * (b2 - a2));
}  // namespace winograd

namespace detail {
// Floats between what would meet in a cache; rows of sums that wait for their transform; kernels that are transposed at
// once.
inline constexpr long winograd_gap = 16, winograd_rows = 32, winograd_together = 8;
/// Bytes by which Winograd's convolutions are cut: what lies in a cache at once. A wrong number costs time, no bit.
/// `benchmarks/refit.py winograd` measures what each loses.
struct WinogradCosts {
  // Transformed images of a chunk: in NCHW16n, where few tiles fit, of rows. Transformed weights of a group: in
  // NCHW16n, of rows.
  long image = 1200 << 10, most_image = 2304 << 10, few_image = 576 << 10, group = 1200 << 10, few_group = 400 << 10;
  // Transformed weights that are used at once: half of a second level cache of 1 MB.
  long near = 512 << 10;
  // Of the gradient for the weight: sums of a pass; images and gradients that are transformed once for all passes.
  long sums = 2400 << 10, kept = 4800 << 10;
};
inline constexpr WinogradCosts winograd_costs{};
// Vectors of kept weights that are fetched ahead: their streams are too short for a processor to follow by itself.
inline constexpr long winograd_ahead = 8;

// Convolution of an image with a result of 4 x 4 tiles. Tiles of all samples are counted through; where images are in
// NCHW16n, a tile is that of 16 samples. For each of 36 points there is a product of
// matrices, whose columns are lanes: samples of tiles where images are NCHW16n, else result channels. An item is some
// tiles (a chunk) and some result channels (a group).
//   sum(point, channel, tile) = chain over the planes of the image, from +0
struct WinogradPlan : ConvGeometry {
  long n = 0;
  bool flipped = false, blocks = false;
  long across = 0, per_image = 0, tiles = 0;  // tiles of a row, of an image, of all images
  long chunks = 0, chunk = 0, groups = 0, group = 0;
  long tall = 0, wide = 0;  // rows of a product, most columns of it
  long near_bytes = 0;

  // From one row to the next.
  constexpr long depth() const { return round_up(planes, simd_width<float>) + winograd_gap; }
  constexpr long tall_step() const { return tall * depth(); }  // from one point to the next
  constexpr long wide_step() const { return planes * wide + winograd_gap; }
  constexpr long image_floats() const { return winograd::products * (blocks ? wide_step() : tall_step()); }
  constexpr long group_floats() const { return winograd::products * (blocks ? tall_step() : wide_step()); }
  constexpr long items() const { return chunks * groups; }
};

constexpr long winograd_fitting(long bytes, long each, long least, long most) {
  const long fitting = bytes / each / least * least;
  return fitting < most ? (fitting > least ? fitting : least) : most > 0 ? most : 1;
}
[[gnu::noinline]] constexpr WinogradPlan winograd_plan(const Conv2dSizes& s, bool blocks,
                                                       const WinogradCosts& costs = winograd_costs) {
  constexpr long pixel = winograd::products * long(sizeof(float)), channels = 8, few = 4;
  WinogradPlan c{geometry_of(s)};
  c.n = s.n, c.flipped = s.input_gradient, c.blocks = blocks, c.near_bytes = costs.near;
  // a kernel that is turned around may begin within the image
  if (c.flipped) c.top = 2 - s.pad_top, c.left = 2 - s.pad_left;
  c.across = ceil_div(c.width, winograd::tile), c.per_image = ceil_div(c.height, winograd::tile) * c.across;
  c.tiles = (c.blocks ? ceil_div(c.n, block_samples) : c.n) * c.per_image;
  const long image = pixel * c.planes * (c.blocks ? block_samples : 1);
  long fitting = winograd_fitting(c.blocks ? costs.image : costs.few_image, image, 1, c.tiles);
  // or weights are transformed for too little
  if (c.blocks && fitting < few) fitting = winograd_fitting(costs.most_image, image, 1, few < c.tiles ? few : c.tiles);
  c.chunk = c.tiles > 0 ? ceil_div(c.tiles, ceil_div(c.tiles, fitting)) : 1, c.chunks = ceil_div(c.tiles, c.chunk);
  c.group = c.blocks ? winograd_fitting(costs.group, pixel * c.planes, channels, winograd_rows)
                     : winograd_fitting(costs.few_group, pixel * c.planes, tile_columns<float>(2),
                                        2 * tile_columns<float>(2));
  c.groups = ceil_div(c.rows, c.group),
  c.group = round_up(ceil_div(c.rows, c.groups), c.blocks ? channels : simd_width<float>),
  c.groups = ceil_div(c.rows, c.group);
  c.tall = c.blocks ? c.group : c.chunk, c.wide = c.blocks ? c.chunk * block_samples : c.group;
  return c;
}
// Parts of the workspace.
struct WinogradScratch {
  Tap* taps;
  float *image, *group, *sums, *pixels;
  std::size_t total;
};
constexpr WinogradScratch winograd_scratch(const WinogradPlan& c, void* workspace = nullptr) {
  const long weights =
      9 * ((c.blocks ? c.row_step : c.plane_step) == 9 ? winograd_together : 1) * (c.blocks ? c.depth() : c.wide);
  const long patch =
      c.blocks ? winograd::products * block_samples : winograd::points * (c.chunk * winograd::tile + 2) * c.depth();
  const long strip = c.blocks ? 0 : winograd_rows * winograd::tile * winograd::tile * tile_columns<float>(2);
  const long pixels = patch > strip ? patch : strip;
  WorkspaceParts parts(workspace);
  return {parts.take<Tap>(c.planes),
          parts.take<float>(c.image_floats()),
          parts.take<float>(c.group_floats()),
          parts.take<float>(winograd::products * winograd_rows * tile_columns<float>(2)),
          parts.take<float>(pixels > weights ? pixels : weights),
          parts.bytes()};
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
