// Which tiles a convolution of rows has: the way that costs the least multiplications, by numbers that
// benchmarks/refit.py measures.
#pragma once
#include <tenon/backend/cpu/conv/geometry.hpp>
#include <tenon/backend/cpu/conv/padded.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

/// What convolutions and their gradients for the input are cut and chosen by, of rows and of NCHW16n images. A wrong
/// number costs time, no bit. `benchmarks/refit.py conv` measures what each loses. Unless a unit is said, one is a
/// multiplication of one lane.
struct ConvCosts {
  // To pack one weight for channels as lanes: of float32 where a cache of cached_weight_bytes holds them and vectors
  // have 64 bytes; where not; where they lie apart and vectors are narrow; of bfloat16.
  long packing = 12, packing_far = 24, packing_apart = 34, packing_bfloat16 = 4;
  long cached_weight_bytes = 1 << 20;
  // Of a product with channels as lanes, sixteenths that come to 16: in tiles narrower than the registers allow; in
  // phases, which have few taps each; where a kernel of more than large_kernel taps meets less than few_planes planes,
  // so that a tile has few steps.
  long narrow = 1, phases = 4, few_steps = simd_bytes < 64 ? 4 : 2, few_planes = 32, large_kernel = 9;
  // With narrow vectors of float32: to write a sum that has channels as lanes; with pixels as lanes and a stride, to
  // sort an element of the image by phases. A vector that has a tile for itself takes the time of this many halves of
  // one. Sixteenths that come to the 16 of a product with pixels as lanes: everywhere; where its weights lie apart.
  long writing = 12, sorting = 64, lone_vector = 3, narrow_pixels = 1, narrow_apart = 4;
  // To copy an element to where a column of taps reads it; by what part of the work a copy must be faster.
  long copying = 4, copying_margin = 32;
  // Bytes of the padded image of a band, and columns of its sums.
  long image_bytes = 512 << 10, sum_columns = 1152;
  // Of NCHW16n: bytes of a copied image; planes from which on a list of taps for the tile at a left or right border
  // pays; pixels up to which it costs less to load and store the result again than to cut the image in bands.
  long block_image_bytes = 512 << 10, worth_listing = 4, small_result = 64;
};
inline constexpr ConvCosts conv_costs{};

// Pixels of the result that are computed together where channels are lanes, at most: their places are on the stack.
inline constexpr long most_tile_pixels = 512;

// A convolution of rows, cut into tiles.
struct ConvPlan : ConvGeometry {
  Padded image{};              // planes: input channels of one group, of bfloat16 pairs of them
  PlaneSource source{};        // of these planes
  long steps = 0;              // of a chain, of all phases together
  long row_blocks = 0;         // items per sample and group
  long band = 0;               // rows of the grid per pass
  bool channels_last = false;  // tiles have channels as lanes, not pixels
  bool in_place = false;       // the image is read where it is
  bool product = false;        // a matrix product, which has a plan of its own
  bool whole_images = false;   // whole images at a time, which have another one
};

// Every pixel meets one tap. Tiles over the planes themselves are slower with narrow vectors, 44 to 77 % of the peak of
// Zen 4 against 60 to 92, as few chains meet many planes that are pages apart.
template <class T>
constexpr bool is_product(const Conv2dSizes& s) {
  return may_add_zeros<T> && s.pointwise() && s.stride_h == 1 && s.stride_w == 1;
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
constexpr bool channels_pay(const ConvPlan& c, const Conv2dSizes& s, long work, const ConvCosts& costs) {
  // the weights of a gradient lie apart for the steps of a chain
  constexpr bool narrow_vectors = std::is_same_v<T, float> && simd_bytes < 64;
  const bool apart = narrow_vectors && c.plane_step > c.row_step;
  const bool far = c.rows * c.steps * long(sizeof(float)) > costs.cached_weight_bytes || simd_bytes < 64;
  const long packing = !std::is_same_v<T, float> ? costs.packing_bfloat16
                       : apart                   ? costs.packing_apart
                       : far                     ? costs.packing_far
                                                 : costs.packing;
  constexpr long least_lanes = narrow_vectors ? 16 : 32, width = simd_width<ProductSum<T>>;
  if (c.grid_w > most_tile_pixels || c.rows < least_lanes) return false;
  const long met = pairs_met(s);
  long lanes = round_up(c.rows, tile_step<ProductSum<T>>);
  const bool narrow = filled_columns<ProductSum<T>>(lanes) < tile_columns<ProductSum<T>>(2), phases = c.phases() > 1,
             few_steps = s.kh * s.kw > costs.large_kernel && c.image.planes < costs.few_planes;
  const long sixteenths = 16 + (narrow ? costs.narrow : 0) + (phases && !narrow_vectors ? costs.phases : 0) +
                          (few_steps ? costs.few_steps : 0);
  // beyond, as many_samples decide: conv_bytes asks for this many
  const long samples = s.n < many_samples ? s.n : many_samples;
  long direct = work * (16 + (narrow_vectors ? costs.narrow_pixels : 0) + (apart ? costs.narrow_apart : 0)) / 16;
  if (narrow_vectors) {
    const long places = c.height * c.width, pixel = c.pixel_h * c.pixel_w;
    if (pixel > 1) direct += costs.sorting * places * (pixel < s.taps() ? pixel : s.taps());
    direct -= costs.writing * places * c.rows / c.image.planes;
    if (lanes / width % 2 == 1) lanes += (costs.lone_vector - 2) * width / 2;
  }
  return (met * lanes * sixteenths / 16 - direct) * samples + packing * s.taps() * c.rows < 0;
}

// Tiles of neighbouring columns continue from row to row, through the columns between rows. There are no such columns
// if the image lies there once for each column of taps. Tiles with channels as lanes leave out padding. What is the
// least work?
template <class T>
constexpr void choose_tiles(ConvPlan& c, const Conv2dSizes& s, const ConvCosts& costs) {
  constexpr long width = simd_width<ProductSum<T>>;
  if (!may_be_channels_last<T>) {
    c.channels_last = false;
    return;
  }
  const long own_zeros = c.image.pitch;
  // one copy per column of taps; those of a gradient may begin anywhere
  const long copy_step = c.tap_w > 0 ? c.tap_w : 1, copies = c.reach_w / copy_step + 1;
  if (c.image.step_w == 1) share_zeros(c.image, c.grid_w);
  const long work = s.taps() * c.rows,
             copied = (copies - c.image.phases_w) * (c.grid_h + c.kernel_h) * round_up(c.grid_w, width) * costs.copying;
  const long together = round_up((c.grid_h - 1) * c.image.pitch + c.grid_w, width) * work,
             exact = round_up(c.grid_h * c.grid_w, width) * work + copied;
  const bool copy = std::is_same_v<T, float> && exact + exact / costs.copying_margin < together;
  c.channels_last = c.channels_last && channels_pay<T>(c, s, copy ? exact : together, costs);
  if (c.channels_last) c.image.pitch = own_zeros;
  else if (copy) c.image.copy_step = copy_step, c.image.phases_w = int(copies), c.image.pitch = c.grid_w;
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
