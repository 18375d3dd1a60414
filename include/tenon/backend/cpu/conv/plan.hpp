// How a direct convolution is cut: tiles, bands of rows, and the scratch of a thread, for pixels or channels as lanes.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/geometry.hpp>
#include <tenon/backend/cpu/conv/padded.hpp>
#include <tenon/backend/cpu/gemm/gemm.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/reduce/all_finite.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
inline constexpr long most_pixels = 512, conv_columns = 1152, conv_image_bytes = 512 << 10,
                      conv_weight_bytes = 384 << 10;

// The cost model of tiles, in multiplications of one lane. Its numbers were found by timing convolutions with
// AVX-512 and with AVX2 (what of it is known stands in this file's history): a wrong one costs time, no bit.
struct TileCosts {
  // to pack one weight for channels as lanes: of float32 where a cache holds them and vectors have 64 bytes; where not;
  // where they lie apart and vectors are narrow; of bfloat16
  long packing = 12, packing_far = 24, packing_apart_avx2 = 34, packing_bfloat16 = 4;
  long cached_weight_bytes = 1 << 20;  // what a second-level cache holds
  // Of a product with channels as lanes, sixteenths that come to 16: in tiles narrower than the registers allow; in
  // phases, which have few taps each; where a large kernel meets few planes, so that a tile has few steps.
  long narrow = 1, phases = 4, few_steps = 2, few_steps_avx2 = 4;
  // With narrow vectors: to write a sum that has channels as lanes; with pixels as lanes and a stride, to sort an
  // element of the image by phases. A vector that has a tile for itself takes the time of this many halves of a vector.
  long writing_avx2 = 12, sorting_avx2 = 64, lone_vector_avx2 = 3;
  // of a product with pixels as lanes: everywhere; where its weights lie apart
  long pixels_avx2 = 1, apart_avx2 = 4;
  long few_planes = 32, large_kernel = 9;
  // to copy an element to where a column of taps reads it; by what part of the work a copy must be faster
  long copying = 4, copying_margin = 32;
  // chains that hide the latency of a fused multiply-add; by what part tiles of one row must be faster than others
  long chains = 4, chains_avx2 = 8, by_rows_margin = 16;
};
inline constexpr TileCosts tile_costs{};

// A convolution of rows, cut into tiles.
struct ConvPlan : ConvGeometry {
  Padded image{};              // planes: input channels of one group, of bfloat16 pairs of them
  PlaneSource source{};        // of these planes
  long steps = 0;              // of a chain, of all phases together
  long row_blocks = 0;         // items per sample and group
  long band = 0;               // rows of the grid per pass
  bool by_rows = false;        // a tile for each row of the result
  bool channels_last = false;  // tiles have channels as lanes, not pixels
  bool in_place = false;       // the image is read where it is
  bool product = false;        // a matrix product, which has a plan of its own
};

// Columns of the next tile: whole vectors as long as there are columns for them.
template <class A>
constexpr long next_columns(long left) {
  return left >= simd_width<A> ? covered_columns<A>(left / simd_width<A> * simd_width<A>) : covered_columns<A>(left);
}

template <class A>
constexpr void choose_band(ConvPlan& c) {
  const long more_rows = c.reach_h / c.pixel_h;
  const long row_bytes = c.image.planes * c.image.phases_h * c.image.phases_w * c.image.pitch * long(sizeof(A));
  // few rows of sums may be long: fewer bands
  long band =
      c.channels_last ? most_pixels / c.grid_w : (c.rows <= tile_rows / 4 ? 4 : 1) * conv_columns / c.image.pitch;
  const long fitting = conv_image_bytes / row_bytes - more_rows;
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
  return std::is_same_v<T, Packed<T>> && alike && !c.by_rows && c.grid_w >= tile_step<T>;
}

// Zeros after a row are those before the next one, too.
constexpr void share_zeros(Padded& image, long grid_w) {
  const long behind = image.pitch - image.left - image.w, shared = behind < image.left ? behind : image.left,
             pitch = image.pitch - (shared > 0 ? shared : 0);
  image.pitch = pitch < grid_w ? grid_w : pitch;
}

// Pairs of a place of the result and a tap of the kernel that meet the image, along one axis of a convolution. Its
// gradient has as many.
constexpr long pairs_met(long places, long kernel, long stride, long dilation, long pad, long extent) {
  long met = 0;
  for (long r = 0; r < kernel; ++r) {
    const long at = r * dilation - pad, first = at < 0 ? ceil_div(-at, stride) : 0,
               beyond = at < extent ? ceil_div(extent - at, stride) : 0;
    const long last = beyond < places ? beyond : places;
    met += last > first ? last - first : 0;
  }
  return met;
}
// The same along both axes.
constexpr long pairs_met(const Conv2dSizes& s) {
  return pairs_met(s.oh, s.kh, s.stride_h, s.dilation_h, s.pad_top, s.h) *
         pairs_met(s.ow, s.kw, s.stride_w, s.dilation_w, s.pad_left, s.w);
}

// Small images fill vectors badly, their padding taken along. The result channels become the lanes then, and the pixels
// the rows of a tile: the same chains. Weights are packed for that, which takes about as long as `packing`
// multiplications each, more if no cache holds them.
template <class T>
inline constexpr bool may_be_channels_last = std::is_same_v<T, float> || std::is_same_v<T, bfloat16>;
inline constexpr long many_samples = 1 << 16;
inline constexpr long most_parts = 8;  // of an axis
// Of a tile: the weights stay in the nearest cache beside the pixels of hundreds of planes.
inline constexpr long steps_at_once = simd_bytes < 64 ? 192 : 320;
template <class T>
constexpr bool channels_pay(const ConvPlan& c, const Conv2dSizes& s, long work) {
  // the weights of a gradient lie apart for the steps of a chain
  constexpr bool narrow_vectors = std::is_same_v<T, float> && simd_bytes < 64;
  const bool apart = narrow_vectors && c.plane_step > c.row_step;
  const bool far = c.rows * c.steps * long(sizeof(float)) > tile_costs.cached_weight_bytes || simd_bytes < 64;
  const long packing = !std::is_same_v<T, float> ? tile_costs.packing_bfloat16
                       : apart                   ? tile_costs.packing_apart_avx2
                       : far                     ? tile_costs.packing_far
                                                 : tile_costs.packing;
  constexpr long least_lanes = narrow_vectors ? 16 : 32, width = simd_width<ProductSum<T>>;
  if (c.grid_w > most_pixels || c.rows < least_lanes) return false;
  const long met = pairs_met(s);
  long lanes = round_up(c.rows, tile_step<ProductSum<T>>);
  const bool narrow = filled_columns<ProductSum<T>>(lanes) < tile_columns<ProductSum<T>>(2), phases = c.phases() > 1,
             few_steps = s.kh * s.kw > tile_costs.large_kernel && c.image.planes < tile_costs.few_planes;
  const long sixteenths = 16 + (narrow ? tile_costs.narrow : 0) + (phases && !narrow_vectors ? tile_costs.phases : 0) +
                          (few_steps ? simd_bytes < 64 ? tile_costs.few_steps_avx2 : tile_costs.few_steps : 0);
  // beyond, as many_samples decide: conv_bytes asks for this many
  const long samples = s.n < many_samples ? s.n : many_samples;
  long direct = work * (16 + (narrow_vectors ? tile_costs.pixels_avx2 : 0) + (apart ? tile_costs.apart_avx2 : 0)) / 16;
  if (narrow_vectors) {
    const long places = c.height * c.width, pixel = c.pixel_h * c.pixel_w;
    if (pixel > 1) direct += tile_costs.sorting_avx2 * places * (pixel < s.taps() ? pixel : s.taps());
    direct -= tile_costs.writing_avx2 * places * c.rows / c.image.planes;
    if (lanes / width % 2 == 1) lanes += (tile_costs.lone_vector_avx2 - 2) * width / 2;
  }
  return (met * lanes * sixteenths / 16 - direct) * samples + packing * s.taps() * c.rows < 0;
}

// Tiles of neighbouring columns continue from row to row, through the columns between rows. There are no such columns
// if the image lies there once for each column of taps. Tiles of one row each waste other lanes, but leave out the taps
// that meet only rows of padding. Tiles with channels as lanes leave out all of padding. What is the least work?
template <class T>
constexpr void choose_tiles(ConvPlan& c, const Conv2dSizes& s) {
  constexpr long width = simd_width<ProductSum<T>>, step = tile_step<ProductSum<T>>;
  if (!may_be_channels_last<T>) {
    c.channels_last = false;
    return;
  }
  const long own_zeros = c.image.pitch;
  // one copy per column of taps; those of a gradient may begin anywhere
  const long copy_step = c.tap_w > 0 ? c.tap_w : 1, copies = c.reach_w / copy_step + 1;
  if (c.image.step_w == 1) share_zeros(c.image, c.grid_w);
  const long work = s.taps() * c.rows, copied = (copies - c.image.phases_w) * (c.grid_h + c.kernel_h) *
                                                round_up(c.grid_w, width) * tile_costs.copying;
  const long together = round_up((c.grid_h - 1) * c.image.pitch + c.grid_w, width) * work,
             exact = round_up(c.grid_h * c.grid_w, width) * work + copied;
  const bool copy = std::is_same_v<T, float> && exact + exact / tile_costs.copying_margin < together;
  long least = copy ? exact : together;
  // narrow tiles are slow
  if (std::is_same_v<T, float> && c.grid_w <= width && c.grid_w > step && c.dense()) {
    long met = 0;  // rows of taps that meet the image, for all rows of the result
    for (long r = 0; r < c.kernel_h; ++r) {
      const long first = c.image.top - c.first_h - r * c.tap_h, begin = first > 0 ? first : 0, last = first + c.image.h,
                 end = last < c.grid_h ? last : c.grid_h;
      met += end > begin ? end - begin : 0;
    }
    const long chains = ceil_div(c.rows, c.row_blocks),
               needed = simd_bytes == 64 ? tile_costs.chains : tile_costs.chains_avx2;
    const long rows = width * met * c.kernel_w * c.rows / chains * (chains < needed ? needed : chains);
    c.by_rows = rows < least;
    if (c.by_rows) least = rows + rows / tile_costs.by_rows_margin;
  }
  c.channels_last = c.channels_last && channels_pay<T>(c, s, least);
  if (c.channels_last) c.by_rows = false, c.image.pitch = own_zeros;
  else if (copy && !c.by_rows) c.image.copy_step = copy_step, c.image.phases_w = int(copies), c.image.pitch = c.grid_w;
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

// Every pixel meets one tap. Tiles over the planes themselves are slower with narrow vectors, 44 to 77 % of the peak of
// Zen 4 against 60 to 92, as few chains meet many planes that are pages apart.
template <class T>
constexpr bool is_product(const Conv2dSizes& s) {
  return may_add_zeros<T> && s.pointwise() && s.stride_h == 1 && s.stride_w == 1;
}
// The product for one sample and group, without addresses.
template <class T>
constexpr Gemm<T> pointwise_product(const ConvGeometry& g) {
  const long pixels = g.height * g.width;
  return {g.rows, pixels, g.planes, nullptr, g.row_step, g.plane_step, nullptr, pixels, 1, nullptr, pixels, true};
}

// any_way: false if a program has code for pixels as lanes only.
template <class T>
[[gnu::noinline]] constexpr ConvPlan conv_plan(const Conv2dSizes& s, bool any_way = true) {
  ConvPlan c{geometry_of(s)};
  c.row_blocks = ceil_div(c.rows, tile_rows);
  c.product = any_way && is_product<T>(s);
  if (c.product) return c;
  c.channels_last = any_way;
  c.segments = c.segments && std::is_same_v<T, float>;
  c.image = padded_image<T>(c);
  c.source = {c.h * c.w * steps_per_unit<T>, c.h * c.w, c.planes / 2};
  c.steps = c.image.planes * c.taps();
  choose_tiles<T>(c, s);
  c.in_place = can_be_in_place<T>(c);
  choose_band<ProductSum<T>>(c);
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

// Parts of the workspace, in bytes from its start.
struct ConvScratch {
  std::size_t starts, list, source, sums, weight, image, total;
};
constexpr std::size_t scratch_bytes(long elements, std::size_t size) {
  return std::size_t(round_up(elements * long(size), 64));
}
template <class T>
[[gnu::noinline]] constexpr ConvScratch conv_scratch(const ConvPlan& c) {
  using A = ProductSum<T>;
  constexpr bool widen = !std::is_same_v<A, T>;
  ConvScratch s{};
  s.starts = scratch_bytes(c.steps, sizeof(Tap));
  s.list = s.starts + scratch_bytes(c.phases() + 1, sizeof(long));
  s.source = s.list + (c.by_rows ? scratch_bytes(c.steps, sizeof(Tap)) : 0);
  s.sums = s.source + (widen ? scratch_bytes(c.steps, sizeof(std::int32_t)) : 0);
  s.weight = s.sums + scratch_bytes((c.rows < tile_rows ? c.rows : tile_rows) * sums_pitch<A>(c), sizeof(A));
  s.image = s.weight + (widen ? scratch_bytes(packed_blocks<T>(c) * tile_rows * c.steps, sizeof(A)) : 0);
  s.total = s.image + (c.in_place ? 0 : scratch_bytes(c.image.elements() + conv_slack<A>, sizeof(A)));
  return s;
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
  static_assert(enough <= most_pixels);
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
struct ChannelsLastScratch {
  std::size_t starts, list, sums, weight, rows, image, total;
};
template <class T>
[[gnu::noinline]] constexpr ChannelsLastScratch channels_last_scratch(const ConvPlan& c) {
  using A = ProductSum<T>;
  const long pixels = samples_together(c) * c.band * c.grid_w, lanes = packed_blocks<T>(c) * tile_rows;
  ChannelsLastScratch s{};
  s.starts = scratch_bytes(c.steps / c.image.planes, sizeof(PlaneTap));
  s.list = s.starts + scratch_bytes(c.phases() + 1, sizeof(long));
  s.sums = s.list + scratch_bytes(channels_last_list(c), sizeof(Tap));
  s.weight = s.sums + scratch_bytes(pixels * lane_pitch<A>, sizeof(A));
  s.rows = s.weight + scratch_bytes((lanes / lane_pitch<A> + 2) * c.steps * lane_pitch<A>, sizeof(A));
  const std::size_t packing = scratch_bytes(packed_rows * c.steps, sizeof(A)),
                    transposed = scratch_bytes(pixels * lane_pitch<A>, sizeof(T));
  s.image = s.rows + (packing > transposed ? packing : transposed);
  s.total = s.image + (c.in_place ? 0 : scratch_bytes(samples_together(c) * c.image.elements(), sizeof(A)));
  return s;
}

// Bytes of workspace, with and without channels as lanes, which depends on the number of samples.
template <class T>
constexpr std::size_t conv_bytes(const ConvPlan& without, const ConvPlan& with) {
  if constexpr (may_add_zeros<T>)
    if (with.product) return gemm_workspace<T>(with.rows, with.height * with.width, with.planes);
  const std::size_t pixels = conv_scratch<T>(without).total,
                    lanes = with.channels_last ? channels_last_scratch<T>(with).total : 0;
  return pixels < lanes ? lanes : pixels;
}

}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
