// How the gradient of a convolution for its weight is cut: into chains, blocks for caches, and the scratch of a thread.
#pragma once
#include <cstddef>
#include <utility>

#include <tenon/backend/cpu/conv/plan.hpp>
#include <tenon/core/nchw16n.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
/// What gradients of weights are cut and chosen by, of rows and of NCHW16n images. A wrong number costs time, no bit.
/// `benchmarks/refit.py weight` measures what each loses.
struct WeightCosts {
  // Rows (a plane's taps) that are computed together.
  long rows = 576;
  // It pays to leave out the pixels for which a tap meets padding if they are one of this many (on Zen 4: with fewer,
  // works without a stride take up to 14 % longer).
  long most_per_padding = 34;
  // Steps of a chain of pairs of samples that are enough.
  long pair_steps = 128;
  // Of NCHW16n: bytes of padded planes; of chains that are held; the percent of the multiplications of all taps up to
  // which tiles of planes are better than tiles of taps; planes that take as long as one alone, whose few chains wait
  // for each other (with wide vectors a tile of neighbouring taps is the faster one, where planes are few).
  long image_bytes = 256 << 10, held_bytes = 384 << 10, planes_percent = 103, alone = simd_bytes == 64 ? 5 : 2;
};
inline constexpr WeightCosts weight_costs{};

// Output channels of an item; bytes of its panel of dy, and of the padded image.
inline constexpr long weight_columns = 64, weight_panel = 128 << 10, weight_image_bytes = 256 << 10;
inline constexpr long most_lists = 32;

// The gradient as a product [taps of the kernels of a group] x [output channels of the group], the chain running over
// pixels.
struct WeightPlan {
  Padded image;                    // planes: as many input channels as one pass needs at most
  long rows, columns;              // c * kh * kw and o of one group
  long row_blocks, column_blocks;  // items per group
  long pass;                       // row blocks that are computed together
  long band;                       // output rows per visit of an image
  long together;                   // column blocks that are computed together: an image is packed once for them
  long images;                     // visited at once: several pairs of small images make longer chains
  // of dy, chains of float32 that are added one after the other (backend/order.hpp); a band ends where one ends
  PixelSegments segment;
  bool segments;    // there are several
  bool in_place;    // no tap meets padding: the image is read where it is, all of its rows
  bool leaves_out;  // rows of the same tap go together and leave out pixels for which it meets padding, if dy is finite
};

// Of a pointwise convolution x and dy lie alike and may change places: lanes are those channels that are fewer, because
// they are transposed.
[[gnu::noinline]] constexpr Conv2dSizes fewer_lanes(Conv2dSizes s) {
  const bool alike = s.taps() == 1 && s.oh == s.h && s.ow == s.w && s.stride_h * s.stride_w == 1;
  const long lanes = s.group_inputs();
  if (alike && lanes < s.group_outputs() && lanes <= weight_columns && lanes % simd_width<float> == 0)
    std::swap(s.c, s.o);
  return s;
}

template <class T>
constexpr Conv2dSizes weight_sizes(const Conv2dSizes& s) {
  return fewer_lanes(s);
}

// The planes of a group where they lie.
constexpr Padded unpadded(const Conv2dSizes& s) { return {s.group_inputs(), s.h, s.w, 0, 0, 1, 1, 1, 1, s.h, s.w}; }
// Whether nothing is copied where pixels in the padding are left out. Planes that are whole pages apart compete for the
// same lines of the first-level cache, which takes more than a copy without a stride: 3 to 7 % of all on Zen 4.
template <class T>
constexpr bool better_in_place(const Conv2dSizes& s) {
  constexpr long page = 4096;
  return std::is_same_v<T, Packed<T>> && (s.stride_h * s.stride_w > 1 || s.h * s.w * long(sizeof(T)) % page != 0);
}
// Whether it pays to leave out the pixels for which a tap meets padding: if they are many, or if a copy would take
// columns one by one, as it does with a stride of 3 or more.
template <class T>
constexpr bool better_left_out(const Conv2dSizes& s, const WeightCosts& costs) {
  const long all = s.oh * s.ow * s.taps();
  return (all - pairs_met(s)) * costs.most_per_padding > all || (s.stride_w > 2 && std::is_same_v<T, Packed<T>>);
}

template <class T>
[[gnu::noinline]] constexpr WeightPlan weight_plan(const Conv2dSizes& s, const WeightCosts& costs = weight_costs) {
  using A = ProductSum<T>;
  WeightPlan p{};
  p.image = padded_image<A>(forward_geometry(s));
  p.rows = s.group_inputs() * s.taps(), p.columns = s.group_outputs();
  p.row_blocks = ceil_div(p.rows, tile_rows), p.column_blocks = ceil_div(p.columns, weight_columns);
  p.together = steps_per_unit<T> > 1 ? 3 : 1;
  p.together = p.together < p.column_blocks ? p.together : p.column_blocks;
  p.pass = costs.rows / tile_rows < p.row_blocks ? costs.rows / tile_rows : p.row_blocks;
  const long planes = (p.pass * tile_rows - 1) / s.taps() + 2;
  p.image.planes = planes < s.group_inputs() ? planes : s.group_inputs();
  const long more = (s.kh - 1) * long(s.dilation_h) / s.stride_h;
  const long row_bytes = p.image.planes * p.image.phases_h * p.image.phases_w * p.image.pitch * long(sizeof(A));
  const long panel_row =
      round_up(p.columns < weight_columns ? p.columns : weight_columns, tile_step<A>) * long(sizeof(A));
  long band = weight_panel / panel_row / s.ow;
  if (const long fitting = weight_image_bytes / row_bytes - more; band > fitting) band = fitting;
  if (band > s.oh) band = s.oh;
  p.band = band < 1 ? 1 : ceil_div(s.oh, ceil_div(s.oh, band));
  p.segment = pixel_segments(s.oh, s.ow), p.segments = std::is_same_v<T, float> && p.segment.several();
  if (p.segments && (p.band < s.oh || s.pointwise())) {
    const long fitting = s.pointwise() || band < p.segment.rows ? 1 : band / p.segment.rows;
    p.band = fitting * p.segment.rows < s.oh ? fitting * p.segment.rows : s.oh;
  }
  p.image.rows = p.band + more;
  p.images = 1;
  if (steps_per_unit<T> > 1 && p.band == s.oh) {
    const long fitting = weight_panel / 2 / (p.image.elements() * long(sizeof(A))),
               wanted = costs.pair_steps / (s.oh * s.ow), most = fitting < wanted ? fitting : wanted;
    p.images = most < 1 ? 1 : most;
  }
  const long below = (s.oh - 1) * s.stride_h + long(s.kh - 1) * s.dilation_h - s.pad_top,
             right = (s.ow - 1) * s.stride_w + long(s.kw - 1) * s.dilation_w - s.pad_left;
  p.in_place = std::is_same_v<T, Packed<T>> && s.pad_top == 0 && s.pad_left == 0 && below < s.h && right < s.w;
  if (p.in_place) p.image = unpadded(s);
  p.leaves_out = may_be_channels_last<T> && !p.in_place && p.image.planes >= 2 * tile_rows && s.taps() <= most_lists &&
                 better_left_out<T>(s, costs);
  return p;
}

// Partial sums of float32: those of 1, 2, 4, ... samples as long as they are less than 16, and those of all blocks.
inline constexpr int sample_levels = 6;
template <class A>
constexpr int weight_levels(long n) {
  return std::is_same_v<A, float> && n > 1 ? sample_levels : 1;
}

// Where the chains of a band begin and end in a list of its pixels.
constexpr long weight_borders(const WeightPlan& p) {
  return p.segments ? ceil_div(p.band, p.segment.rows) * p.segment.side_by_side() + 1 : 0;
}

template <class T>
struct WeightScratch {
  Tap* taps;
  std::int32_t* border;
  std::int32_t* row;
  ProductSum<T>* level[sample_levels];
  Packed<T>*panel, *image;
  std::size_t total;
};
template <class T>
constexpr WeightScratch<T> weight_scratch(const WeightPlan& p, const Conv2dSizes& sizes, void* workspace = nullptr) {
  using A = ProductSum<T>;
  const long widest = p.together * weight_columns,
             columns = round_up(p.columns < widest ? p.columns : widest, tile_columns<A>(1));
  WorkspaceParts parts(workspace);
  WeightScratch<T> s{};
  s.taps = parts.take<Tap>((p.leaves_out ? sizes.taps() : 1) * p.images * p.band * sizes.ow);
  s.border = parts.take<std::int32_t>((p.leaves_out ? sizes.taps() : 1) * weight_borders(p));
  s.row = parts.take<std::int32_t>((p.leaves_out ? 2 : 1) * p.pass * tile_rows);
  for (int level = 0; level < weight_levels<A>(sizes.n); ++level)
    s.level[level] = parts.take<A>(p.pass * tile_rows * columns);
  s.panel = parts.take<Packed<T>>(p.images * p.band * sizes.ow * columns);
  s.image = parts.take<Packed<T>>(p.in_place ? 0 : p.images * p.image.elements() + conv_slack<A>);
  s.total = parts.bytes();
  return s;
}
}  // namespace detail

#if TENON_DEFINES
namespace detail {
/// Output channels and taps of a tile of the weight's gradient: 20 chains with 32 registers, 12 with 16 registers.
inline constexpr int nchw16n_weight_rows = 4, nchw16n_weight_taps = simd_bytes == 64 ? 5 : 3;
/// Pixels of dy that tiles visit together. A narrower vector than a block visits them once for each part of it: the
/// lines of all rows of a tile must stay in the first-level cache of 32 KB until then.
inline constexpr long nchw16n_weight_pixels = simd_bytes == 64 ? 256 : 64;
/// The same for a list of `pixels`, which are cut evenly.
constexpr long weight_pass(long pixels) {
  const long passes = (pixels + nchw16n_weight_pixels / 2) / nchw16n_weight_pixels;
  return passes > 1 ? ceil_div(pixels, passes) : pixels;
}

// Of NCHW16n images, for many planes: a tile has the same tap of several planes, so it leaves out the pixels of dy
// for which the tap meets padding, and nothing is copied. Rows of dy are walked in bands; the chains of several tiles
// continue from band to band, or end with them, so that large planes come from memory once for all of them.
struct WeightPlanes {
  bool used;
  PixelSegments segment;  // of dy
  bool whole;             // there is one band, and one segment
  bool continues;         // there are several segments, whose chains continue from band to band
  long band;              // rows of dy
  long tiles;             // of neighbouring planes, whose chains are held
  long row_blocks;        // that share them
  long tile_lanes;        // numbers of one tile, all taps of it
  // Sums that are held, and as many again for chains that continue.
  constexpr long sums() const { return tiles * row_blocks * tile_lanes; }
  constexpr long held() const { return continues ? 2 * sums() : sums(); }
};
struct WeightRange {
  long begin, end;
};
// The rows (or columns) of dy for which a tap at `offset` meets the image.
constexpr WeightRange meets_image(long offset, long stride, long before, long extent, long outputs) {
  const long low = before - offset, high = extent - 1 + before - offset;
  const long begin = low > 0 ? ceil_div(low, stride) : 0, end = high < 0 ? 0 : high / stride + 1;
  return {begin, end < begin ? begin : end < outputs ? end : outputs};
}
// Planes of a tile: one plane alone is not computed as if there were more.
constexpr long weight_tile_planes(long left) { return left == 1 ? 1 : nchw16n_weight_taps; }
constexpr WeightPlanes weight_planes(const Conv2dSizes& s, const WeightCosts& costs = weight_costs) {
  const long all = ceil_div(s.group_inputs(), nchw16n_weight_taps), rest = s.group_inputs() % nchw16n_weight_taps;
  const long computed = rest == 1 ? s.group_inputs() - 1 + costs.alone : all * nchw16n_weight_taps;
  long pixels = 0;
  for (long r = 0; r < s.kh; ++r)
    for (long k = 0; k < s.kw; ++k) {
      const WeightRange y = meets_image(r * s.dilation_h, s.stride_h, s.pad_top, s.h, s.oh),
                        x = meets_image(k * s.dilation_w, s.stride_w, s.pad_left, s.w, s.ow);
      pixels += (y.end - y.begin) * (x.end - x.begin);
    }
  WeightPlanes p{};
  p.used = 100 * computed * pixels <= costs.planes_percent * s.group_inputs() * s.taps() * s.oh * s.ow;
  p.tile_lanes = nchw16n_weight_rows * nchw16n_weight_taps * s.taps() * block_samples;
  p.segment = pixel_segments(s.oh, s.ow);
  const long rows = nchw16n_weight_pixels / s.ow;
  p.band = rows < 1 ? 1 : rows < p.segment.rows ? rows : p.segment.rows;
  p.whole = p.band >= s.oh && !p.segment.several();
  p.continues = p.segment.several() && p.band < p.segment.rows;
  p.tiles = p.row_blocks = 1;
  if (!p.whole) {
    const long fitting = costs.held_bytes / (p.tile_lanes * long(sizeof(float)) * (p.continues ? 2 : 1));
    while ((p.tiles + 1) * (p.tiles + 1) <= fitting && p.tiles < all) ++p.tiles;
    p.row_blocks = fitting / p.tiles > 1 ? fitting / p.tiles : 1;
  }
  return p;
}
// Where they stand in the scratch memory of a thread, in floats; add_samples goes through whole groups of block_width
// vectors.
struct WeightPlanesScratch {
  long sums, dy, pixels, starts, total;
};
constexpr WeightPlanesScratch weight_planes_scratch(const Conv2dSizes& s, const WeightPlanes& p) {
  const long band = p.band * s.ow;
  WeightPlanesScratch w{};
  w.sums = p.held() + block_width * block_samples;
  w.dy = w.sums + round_up(p.tile_lanes / block_samples, block_samples);
  w.pixels = w.dy + (!p.whole ? p.row_blocks * nchw16n_weight_rows * band * block_samples : 0);
  w.starts = w.pixels + s.taps() * band * 2;
  w.total = w.starts + (s.taps() + 1) * 2;
  return w;
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
