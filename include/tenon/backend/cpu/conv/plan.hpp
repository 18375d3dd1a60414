// How a direct convolution is cut: tiles, bands of rows, and the scratch of a thread, for pixels or channels as lanes.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/choose.hpp>
#include <tenon/backend/cpu/conv/whole_images.hpp>
#include <tenon/backend/cpu/gemm/gemm.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/reduce/all_finite.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
// Weights that are packed together for all rows of a band: of 16-bit floats and integers, a third of those of channels.
inline constexpr long conv_weight_bytes = 384 << 10;

// Columns of the next tile: whole vectors as long as there are columns for them, and one more for a rest that would
// take a whole one by itself.
template <class A>
constexpr long next_columns(long left) {
  const long rest = left % simd_width<A>;
  const bool half = tile_step<A> < simd_width<A> && left > rest && rest <= tile_step<A>;
  return covered_columns<A>(half && rest > 0 ? left - rest : left);
}

template <class A>
constexpr void choose_band(ConvPlan& c, const ConvCosts& costs) {
  const long more_rows = c.reach_h / c.pixel_h;
  const long row_bytes = c.image.planes * c.image.phases_h * c.image.phases_w * c.image.pitch * long(sizeof(A));
  // few rows of sums may be long: fewer bands
  long band = c.channels_last ? most_tile_pixels / c.grid_w
                              : (c.rows <= tile_rows / 4 ? 4 : 1) * costs.sum_columns / c.image.pitch;
  const long fitting = costs.image_bytes / row_bytes - more_rows;
  if (band > fitting) band = fitting;
  if (band > c.grid_h) band = c.grid_h;
  c.band = band < 1 ? 1 : c.channels_last ? ceil_div(c.grid_h, ceil_div(c.grid_h, band)) : band;
  c.image.rows = c.in_place ? c.image.h : c.band + more_rows;
}

// Without padding and columns that are no result there is nothing to copy. Tiles must not read beyond them.
template <class T>
constexpr bool can_be_in_place(const ConvPlan& c) {
  const bool alike = c.dense() && c.top == 0 && c.left == 0 && c.image.pitch == c.grid_w && c.w == c.grid_w &&
                     c.grid_h + c.reach_h <= c.h;
  return std::is_same_v<T, Packed<T>> && alike && c.grid_w >= tile_step<T>;
}

// The remainders by the stride that the taps of a kernel meet are less than this.
constexpr int phases(int kernel, int stride, int dilation) {
  int most = 0;
  for (int k = 1; k < kernel && k < stride; ++k) most = k * dilation % stride > most ? k * dilation % stride : most;
  return most + 1;
}

// The padded image that the taps read, without its number of rows.
template <class T>
constexpr Padded padded_image(const ConvGeometry& g) {
  const auto distance = [](long tap) { return int(tap < 0 ? -tap : tap); };
  return {ceil_div(g.planes, steps_per_unit<T>),
          g.h,
          g.w,
          g.top,
          g.left,
          int(g.pixel_h),
          int(g.pixel_w),
          phases(g.kernel_h, int(g.pixel_h), distance(g.tap_h)),
          phases(g.kernel_w, int(g.pixel_w), distance(g.tap_w)),
          0,
          g.grid_w + g.reach_w / g.pixel_w};
}

// The product for one sample and group, without addresses.
template <class T>
constexpr Gemm<T> pointwise_product(const ConvGeometry& g) {
  const long pixels = g.height * g.width;
  return {g.rows, pixels, g.planes, nullptr, g.row_step, g.plane_step, nullptr, pixels, 1, nullptr, pixels, true};
}

constexpr bool packing_pays(const Conv2dSizes& s);

// any_way: false if a program has code for pixels as lanes only.
template <class T>
[[gnu::noinline]] constexpr ConvPlan conv_plan(const Conv2dSizes& s, bool any_way = true,
                                               const ConvCosts& costs = conv_costs) {
  ConvPlan c{geometry_of(s)};
  c.row_blocks = ceil_div(c.rows, tile_rows);
  c.product = any_way && is_product<T>(s);
  if constexpr (std::is_same_v<T, float>) c.whole_images = any_way && packing_pays(s);
  if (c.product || c.whole_images) return c;
  c.channels_last = any_way;
  c.segments = c.segments && std::is_same_v<T, float>;
  c.image = padded_image<T>(c);
  c.source = {c.h * c.w * steps_per_unit<T>, c.h * c.w, c.planes / 2};
  c.steps = c.image.planes * c.taps();
  choose_tiles<T>(c, s, costs);
  c.in_place = can_be_in_place<T>(c);
  choose_band<ProductSum<T>>(c, costs);
  return c;
}

// Elements that a tile may read beyond the last column, and the columns of the sums of one band.
template <class A>
inline constexpr long conv_slack = tile_columns<A>(1);
template <class A>
constexpr long sums_pitch(const ConvPlan& c) {
  return round_up((c.band - 1) * c.image.pitch + c.grid_w + simd_width<A>, tile_columns<A>(1));
}

// Row blocks whose weights are packed together, where weights are: 16-bit floats and integers, and channels as lanes.
template <class T>
constexpr long packed_blocks(const ConvPlan& c) {
  // three tiles: the image is packed again for the next ones
  constexpr long most_lanes = 3 * tile_columns<ProductSum<T>>(2) / tile_rows;
  const long bytes = c.channels_last ? 3 * conv_weight_bytes : conv_weight_bytes,
             most = c.channels_last ? most_lanes : c.row_blocks;
  const long fitting = bytes / long(sizeof(float)) / tile_rows / (c.steps > 0 ? c.steps : 1);
  return fitting < 1 ? 1 : fitting < most ? fitting : most;
}

constexpr std::size_t scratch_bytes(long elements, std::size_t size) {
  return std::size_t(round_up(elements * long(size), 64));
}
// Parts of the workspace.
template <class T>
struct ConvScratch {
  Tap* taps;
  long* starts;  // of the phases' taps
  std::int32_t* source;
  ProductSum<T>* sums;
  Packed<T>*weight, *image;
  std::size_t total;
};
template <class T>
[[gnu::noinline]] constexpr ConvScratch<T> conv_scratch(const ConvPlan& c, void* workspace = nullptr) {
  using A = ProductSum<T>;
  constexpr bool widen = !std::is_same_v<A, T>;
  WorkspaceParts parts(workspace);
  return {parts.take<Tap>(c.steps),
          parts.take<long>(c.phases() + 1),
          parts.take<std::int32_t>(widen ? c.steps : 0),
          parts.take<A>((c.rows < tile_rows ? c.rows : tile_rows) * sums_pitch<A>(c)),
          parts.take<Packed<T>>(widen ? packed_blocks<T>(c) * tile_rows * c.steps : 0),
          parts.take<Packed<T>>(c.in_place ? 0 : c.image.elements() + conv_slack<A>),
          parts.bytes()};
}

// Where a tap of plane 0 has its weight, and the pixel that it meets for pixel 0 of the result: as an element, as row
// and column. Its step among the packed weights, and how many steps later that of the next plane comes.
struct PlaneTap {
  std::int32_t weight, pixel, y, x, step, steps;
};
// Samples that are computed together where channels are lanes: the weights of a tile are read once for their pixels,
// and corners, each with its own taps, make tiles of several pixels.
constexpr long samples_together(const ConvPlan& c) {
  constexpr long enough = 400, most = 4;  // pixels, samples
  static_assert(enough <= most_tile_pixels);
  const long fitting = c.band < c.grid_h ? 1 : enough / (c.grid_h * c.grid_w);
  return !c.channels_last || fitting < 1 ? 1 : fitting < most ? fitting : most;
}
// Lanes from one step to the next, and the most taps of one plane that lists for different pixels have.
template <class A>
inline constexpr long lane_pitch = tile_columns<A>(2) < packed_rows ? packed_rows : tile_columns<A>(2);
constexpr long channels_last_list(const ConvPlan& c) {
  constexpr long enough = 4096;
  const long taps = c.steps / c.image.planes;
  return taps < enough ? enough : taps;
}
template <class T>
struct ChannelsLastScratch {
  PlaneTap* taps;
  long* starts;  // of the phases' taps
  Tap* list;
  ProductSum<T>* sums;
  Packed<T>*weight, *rows, *image;
  std::size_t total;
};
template <class T>
[[gnu::noinline]] constexpr ChannelsLastScratch<T> channels_last_scratch(const ConvPlan& c, void* workspace = nullptr) {
  using A = ProductSum<T>;
  using P = Packed<T>;
  const long pixels = samples_together(c) * c.band * c.grid_w, lanes = packed_blocks<T>(c) * tile_rows,
             packing = packed_rows * c.steps,
             transposed = ceil_div(pixels * lane_pitch<A> * long(sizeof(T)), long(sizeof(P)));
  WorkspaceParts parts(workspace);
  return {parts.take<PlaneTap>(c.steps / c.image.planes),
          parts.take<long>(c.phases() + 1),
          parts.take<Tap>(channels_last_list(c)),
          parts.take<A>(pixels * lane_pitch<A>),
          parts.take<P>((lanes / lane_pitch<A> + 2) * c.steps * lane_pitch<A>),
          parts.take<P>(packing > transposed ? packing : transposed),
          parts.take<P>(c.in_place ? 0 : samples_together(c) * c.image.elements()),
          parts.bytes()};
}

/// Whether keeping the packed weights of whole images saves time, whatever the number of samples: with pixels as lanes,
/// those at the ends of rows would be computed in vain, or the image copied for each column of taps.
constexpr bool kept_conv_pays(const Conv2dSizes& s) {
  constexpr long width = simd_width<float>, least_pixels = 16, most_pixels = 256, most_weights = 128 << 10;
  if (s.input_gradient || s.group_outputs() % width != 0 || s.oh * s.ow < least_pixels || s.oh * s.ow > most_pixels ||
      s.pointwise() || s.o * s.group_inputs() * s.taps() * long(sizeof(float)) > most_weights)
    return false;
  const ConvPlan by_pixels = conv_plan<float>(s.of(1), false);
  const long covered = round_up((by_pixels.grid_h - 1) * by_pixels.image.pitch + by_pixels.grid_w, width);
  return (by_pixels.image.copy_step > 0 || s.oh * s.ow * 10 < covered * 9) &&
         aligned(long(whole_images_plan(s).workspace)) <= long(conv_scratch<float>(by_pixels).total);
}
/// Whether they are even worth packing for a call: each is packed in about the time of one or two products.
constexpr bool packing_pays(const Conv2dSizes& s) {
  constexpr long least_pixels = 64;
  return s.oh * s.ow >= least_pixels && kept_conv_pays(s);
}

// Bytes of workspace, with pixels as lanes and with the channels that another way has as lanes, which depends on the
// number of samples.
template <class T>
constexpr std::size_t conv_bytes(const Conv2dSizes& s, const ConvPlan& without, const ConvPlan& with) {
  if constexpr (may_add_zeros<T>)
    if (with.product) return gemm_workspace<T>(with.rows, with.height * with.width, with.planes);
  const std::size_t pixels = conv_scratch<T>(without).total,
                    lanes = with.whole_images    ? whole_images_plan(s).packed + whole_images_plan(s).workspace
                            : with.channels_last ? channels_last_scratch<T>(with).total
                                                 : 0;
  return pixels < lanes ? lanes : pixels;
}

}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
