// The gradient of a convolution for its weight, of NCHW16n images (core/nchw16n.hpp).
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/backend/cpu/nchw16n/conv2d.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/weight_tile.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// What a tile has several of: taps of a plane, or planes at a tap (conv/weight_gradient_plan.hpp, WeightPlanes).
enum class Nchw16nWeightWay { any, taps, planes };

/// The functions that compute tiles, of as many rows as blocks of these output channels of a group have, also those of
/// one tap or plane. 0 channels: all.
struct Nchw16nWeightTiles;
template <long channels, bool any_alone = true>
const Nchw16nWeightTiles& nchw16n_weight_tiles();

/// Items are blocks of output channels; a thread should take neighbouring ones.
constexpr long nchw16n_conv2d_backward_weight_items(const Conv2dSizes& s);
constexpr std::size_t nchw16n_conv2d_backward_weight_workspace(const Conv2dSizes& s);

/// dw as by conv2d_backward_weight, x and dy in NCHW16n; padding counts as 0. `way` leaves out the code for
/// other sizes than those of the call.
template <Nchw16nWeightWay way = Nchw16nWeightWay::any>
void nchw16n_conv2d_backward_weight(const Conv2dSizes& s, const float* x, const float* dy, float* dw, long begin,
                                    long end, void* workspace, const Nchw16nWeightTiles& tiles);

#if TENON_DEFINES
namespace detail {
// Input channels of a group whose padded images are held together.
constexpr long nchw16n_weight_planes(const Nchw16nPlan& c, const WeightCosts& costs) {
  if (!c.copied) return c.planes;
  const long fitting = costs.image_bytes / ((c.reach_h + 1 + (c.grid_h - 1) * c.pixel_h) * c.pitch * block_pixel);
  return fitting < 1 ? 1 : fitting < c.planes ? fitting : c.planes;
}
// The same image as the convolution's, but all of its rows at once, and fewer planes.
constexpr Nchw16nPlan nchw16n_weight_image(const Conv2dSizes& s, const WeightCosts& costs = weight_costs) {
  Nchw16nPlan c = nchw16n_plan(forward_geometry(s));
  c.planes = nchw16n_weight_planes(c, costs);
  c.band = c.grid_h;
  if (c.copied) c.image_rows = (c.grid_h - 1) * c.pixel_h + c.reach_h + 1;
  c.row_blocks = ceil_div(c.rows, nchw16n_weight_rows);
  return by_planes(c);
}

// The pixels of dy, and where the first tap meets the image.
inline void list_pixels(const Conv2dSizes& s, const Nchw16nPlan& c, WeightPixel* to) {
  for (long y = 0; y < s.oh; ++y)
    for (long x = 0; x < s.ow; ++x)
      *to++ = {std::int32_t((y * s.ow + x) * block_samples),
               std::int32_t((y * c.pixel_h * c.pitch + x * c.pixel_w) * block_samples)};
}

// The taps of one plane after the other.
struct TapWalk {
  long plane = 0, row = 0, column = 0;
  void step(const Conv2dSizes& s) {
    if (++column < s.kw) return;
    column = 0;
    if (++row < s.kh) return;
    row = 0, ++plane;
  }
};

// Adds the gradient of one block of samples for some planes of the image and some output channels.
inline void add_block(const Conv2dSizes& s, const Nchw16nPlan& c, const float* image, const float* dy, float* dw,
                      long planes, long channels, long count, const WeightPixel* pixels,
                      const Nchw16nWeightTiles& kernels) {
  constexpr int tiles = 4, most = (tiles * nchw16n_weight_rows * nchw16n_weight_taps + block_width - 1) / block_width *
                                  block_width;
  // chains: of a segment that continues
  alignas(64) float lanes[most * block_samples]{}, chains[most * block_samples], sums[most];
  Nchw16nWeightTile tile{dy,    s.oh * s.ow * block_samples, image, {}, pixels, pixels, false, false, nullptr,
                         lanes, block_lanes(count)};
  const WeightPixel* const last = pixels + s.oh * s.ow;
  const PixelSegments segment = pixel_segments(s.oh, s.ow);
  const long taps = planes * s.taps(), width = taps < nchw16n_weight_taps ? 1 : nchw16n_weight_taps,
             row_blocks = ceil_div(channels, nchw16n_weight_rows);
  for (long r = 0; r < row_blocks; ++r) {
    const long row = border(channels, row_blocks, r), rows = border(channels, row_blocks, r + 1) - row;
    float* const to = dw + row * s.group_inputs() * s.taps();
    const Nchw16nWeightKernel kernel = kernels.kernel(width, rows);
    tile.dy = dy + row * tile.dy_plane;
    TapWalk tap;
    for (long begin = 0; begin < taps; begin += tiles * width) {  // the lanes of a few tiles are added up at once
      const long end = begin + tiles * width < taps ? begin + tiles * width : taps,
                 count_here = ceil_div(end - begin, width);
      long at[tiles][nchw16n_weight_taps];
      for (long t = 0; t < count_here; ++t)
        for (long k = 0; k < width; ++k) {  // beyond the last tap it is repeated, for nothing
          at[t][k] = ((tap.plane * c.image_rows + tap.row * s.dilation_h) * c.pitch + tap.column * s.dilation_w) *
                     block_samples;
          if (begin + t * width + k + 1 < taps) tap.step(s);
        }
      bool begun = false, added = false;
      long pass = 0;
      for (const WeightPixel* from = pixels; from != last; from = tile.end) {  // all tiles of the group meet them
        const WeightPixel* const stop = pixels + segment.end(from - pixels);
        if (!begun) pass = weight_pass(stop - from);
        tile.pixels = from, tile.end = stop - from <= pass ? stop : from + pass;
        const bool ends = tile.end == stop;
        tile.begun = begun, tile.added = added && ends;
        for (long t = 0; t < count_here; ++t) {
          for (long k = 0; k < width; ++k) tile.tap[k] = at[t][k];
          const long at_lanes = t * rows * width * block_samples;
          tile.from = chains + at_lanes, tile.to = ends ? lanes + at_lanes : chains + at_lanes;
          kernel(tile);
        }
        begun = !ends, added = added || ends;
      }
      add_samples(lanes, count_here * rows * width, count, sums);
      for (long t = 0; t < count_here; ++t)
        for (long i = 0; i < rows; ++i)
          for (long k = 0, first = begin + t * width; k < width && first + k < end; ++k)
            to[i * s.group_inputs() * s.taps() + first + k] += sums[(t * rows + i) * width + k];
    }
  }
}

// 0 * dy of the pixels that a tap leaves out: NaN or 0, as the chain would have met it.
inline float left_out(const Conv2dSizes& s, const WeightRange& rows, const WeightRange& columns, const float* dy,
                      long count) {
  float sum = 0;
  for (long y = 0; y < s.oh; ++y)
    for (long x = 0; x < s.ow; ++x, dy += block_samples)
      if (y < rows.begin || y >= rows.end || x < columns.begin || x >= columns.end)
        for (long lane = 0; lane < count; ++lane) sum += 0.0f * dy[lane];
  return sum;
}

// The other way, for many planes (WeightPlanes). Adds the gradient of one block of samples for the planes of a group
// and some output channels.
class WeightByPlanes {
 public:
  WeightByPlanes(const Conv2dSizes& s, const WeightPlanes& p, const Nchw16nWeightTiles& kernels, void* workspace)
      : s_(s),
        p_(p),
        kernels_(kernels),
        at_(weight_planes_scratch(s, p)),
        chains_(static_cast<float*>(workspace)),
        pixels_(reinterpret_cast<WeightPixel*>(chains_ + at_.pixels)),
        starts_(reinterpret_cast<long*>(chains_ + at_.starts)) {
    if (p.whole) list({0, s.oh}, {0, s.ow});
  }

  [[gnu::noinline]] void add(const float* x, const float* dy, float* dw, long channels, long count) {
    const long row_blocks = ceil_div(channels, nchw16n_weight_rows),
               tiles = ceil_div(s_.group_inputs(), nchw16n_weight_taps);
    for (long r = 0; r < row_blocks; r += p_.row_blocks)
      for (long t = 0; t < tiles; t += p_.tiles) {
        const long rows = row_blocks - r < p_.row_blocks ? row_blocks - r : p_.row_blocks,
                   columns = tiles - t < p_.tiles ? tiles - t : p_.tiles;
        const long row = border(channels, row_blocks, r), first = t * nchw16n_weight_taps;
        add_group(x + first * s_.h * s_.w * block_samples, dy + row * s_.oh * s_.ow * block_samples,
                  dw + (row * s_.group_inputs() + first) * s_.taps(), border(channels, row_blocks, r + rows) - row,
                  rows, s_.group_inputs() - first, columns, count);
      }
    add_left_out(dy, dw, channels, count);
  }

 private:
  // The pixels of some rows and columns of dy that each tap meets, in order.
  void list(const WeightRange& band, const WeightRange& part) {
    WeightPixel* to = pixels_;
    long* start = starts_;
    for (long r = 0; r < s_.kh; ++r)
      for (long k = 0; k < s_.kw; ++k) {
        *start++ = to - pixels_;
        const WeightRange rows = meets_image(r * s_.dilation_h, s_.stride_h, s_.pad_top, s_.h, s_.oh),
                          columns = meets_image(k * s_.dilation_w, s_.stride_w, s_.pad_left, s_.w, s_.ow);
        const auto within = [](const WeightRange& met, const WeightRange& range) -> WeightRange {
          return {met.begin > range.begin ? met.begin : range.begin, met.end < range.end ? met.end : range.end};
        };
        const WeightRange own_rows = within(rows, band), own_columns = within(columns, part);
        for (long y = own_rows.begin; y < own_rows.end; ++y) {
          const long image =
              (y * s_.stride_h - s_.pad_top + r * s_.dilation_h) * s_.w - s_.pad_left + k * s_.dilation_w;
          for (long x = own_columns.begin; x < own_columns.end; ++x)
            *to++ = {std::int32_t(((y - band.begin) * s_.ow + x) * block_samples),
                     std::int32_t((image + x * s_.stride_w) * block_samples)};
        }
      }
    *start = to - pixels_;
  }
  // The rows and columns of dy that are visited next, no more than one segment has; false: all were.
  bool next_visit(WeightRange& band, WeightRange& part) const {
    const PixelSegments& segment = p_.segment;
    if (part.begin = part.end; part.begin == s_.ow) part.begin = 0, band.begin = band.end;
    if (band.begin == s_.oh) return false;
    const long stop = (band.begin / segment.rows + 1) * segment.rows, most = stop < s_.oh ? stop : s_.oh;
    band.end = most - band.begin < p_.band ? most : band.begin + p_.band;
    part.end = s_.ow - part.begin < segment.columns ? s_.ow : part.begin + segment.columns;
    return true;
  }
  // `channels` of dy in row blocks, and `planes` of the image, of which this many tiles are taken.
  void add_group(const float* x, const float* dy, float* dw, long channels, long row_blocks, long planes, long tiles,
                 long count) {
    const long plane = s_.h * s_.w * block_samples, gradient = s_.oh * s_.ow * block_samples, taps = s_.taps();
    Nchw16nWeightTile tile{dy, gradient, x, {}, nullptr, nullptr, false, false, nullptr, nullptr, block_lanes(count)};
    for (WeightRange band{0, 0}, part{0, s_.ow}; next_visit(band, part);) {
      if (!p_.whole) {  // rows of dy side by side: planes whose distance is a power of two would meet in the cache
        tile.dy_plane = p_.band * s_.ow * block_samples;
        for (long o = 0; o < channels && part.begin == 0; ++o)
          kernel::copy_row(dy + (o * s_.oh + band.begin) * s_.ow * block_samples, chains_ + at_.dy + o * tile.dy_plane,
                           (band.end - band.begin) * s_.ow * block_samples);
        list(band, part);
      }
      const long rows_of_segment = p_.segment.rows;
      const bool ends = band.end % rows_of_segment == 0 || band.end == s_.oh;
      tile.begun = band.begin % rows_of_segment > 0;
      tile.added = ends && (band.begin >= rows_of_segment || part.begin > 0);
      for (long r = 0; r < row_blocks; ++r) {
        const long row = border(channels, row_blocks, r), rows = border(channels, row_blocks, r + 1) - row;
        tile.dy = (p_.whole ? dy : chains_ + at_.dy) + row * tile.dy_plane;
        for (long t = 0; t < tiles; ++t) {
          const long first = t * nchw16n_weight_taps, width = weight_tile_planes(planes - first);
          // beyond the last plane, for nothing
          for (long k = 0; k < width; ++k) tile.tap[k] = first + k < planes ? k * plane : 0;
          tile.image = x + first * plane;
          float* const held = chains_ + (r * tiles + t) * p_.tile_lanes;
          float* const chains = p_.continues ? held + p_.sums() : held;
          const Nchw16nWeightKernel kernel = kernels_.kernel(width, rows);
          for (long i = 0, lanes = 0; i < taps; ++i, lanes += rows * width * block_samples) {
            tile.from = chains + lanes, tile.to = (ends ? held : chains) + lanes;
            tile.pixels = pixels_ + starts_[i], tile.end = pixels_ + starts_[i + 1];
            kernel(tile);
          }
        }
      }
    }
    float* const sums = chains_ + at_.sums;
    for (long r = 0; r < row_blocks; ++r) {
      const long row = border(channels, row_blocks, r), rows = border(channels, row_blocks, r + 1) - row;
      for (long t = 0; t < tiles; ++t) {
        const long first = t * nchw16n_weight_taps,
                   left = planes - first < nchw16n_weight_taps ? planes - first : nchw16n_weight_taps,
                   width = weight_tile_planes(left), step = rows * width;
        add_samples(chains_ + (r * tiles + t) * p_.tile_lanes, taps * step, count, sums);
        for (long i = 0; i < rows; ++i) {
          float* to = dw + ((row + i) * s_.group_inputs() + first) * taps;
          for (long k = 0; k < left; ++k)
            for (long tap = 0, from = i * width + k; tap < taps; ++tap, from += step) *to++ += sums[from];
        }
      }
    }
  }
  void add_left_out(const float* dy, float* dw, long channels, long count) const {
    const long inputs = s_.group_inputs(), gradient = s_.oh * s_.ow * block_samples, taps = s_.taps();
    if (all_finite(dy, channels * gradient)) return;
    for (long r = 0, t = 0; r < s_.kh; ++r)
      for (long k = 0; k < s_.kw; ++k, ++t)
        for (long o = 0; o < channels; ++o) {
          const float rest =
              left_out(s_, meets_image(r * s_.dilation_h, s_.stride_h, s_.pad_top, s_.h, s_.oh),
                       meets_image(k * s_.dilation_w, s_.stride_w, s_.pad_left, s_.w, s_.ow), dy + o * gradient, count);
          for (long c = 0; c < inputs; ++c) dw[(o * inputs + c) * taps + t] += rest;
        }
  }

  const Conv2dSizes& s_;
  const WeightPlanes& p_;
  const Nchw16nWeightTiles& kernels_;
  WeightPlanesScratch at_;
  float* chains_;
  WeightPixel* pixels_;
  long* starts_;
};
}  // namespace detail

constexpr long nchw16n_conv2d_backward_weight_items(const Conv2dSizes& s) {
  return s.groups * ceil_div(s.group_outputs(), detail::nchw16n_weight_rows);
}
constexpr std::size_t nchw16n_conv2d_backward_weight_workspace(const Conv2dSizes& s) {
  if (const detail::WeightPlanes p = detail::weight_planes(s); p.used)
    return std::size_t(detail::weight_planes_scratch(s, p).total) * sizeof(float);
  const detail::Nchw16nPlan c = detail::nchw16n_weight_image(s);
  return std::size_t(s.oh * s.ow) * sizeof(detail::WeightPixel) +
         (c.copied ? std::size_t(c.planes * c.image_rows * c.pitch * detail::block_pixel) : 0);
}

constexpr Nchw16nWeightWay nchw16n_weight_way(const Conv2dSizes& s) {
  return detail::weight_planes(s).used ? Nchw16nWeightWay::planes : Nchw16nWeightWay::taps;
}

namespace detail {
// As nchw16n_conv2d_backward_weight, by plans.
template <Nchw16nWeightWay way>
[[gnu::always_inline]] inline void nchw16n_weight_by(const Conv2dSizes& s, const Nchw16nPlan& c,
                                                     const WeightPlanes& by_planes, const float* x, const float* dy,
                                                     float* dw, long begin, long end, void* workspace,
                                                     const Nchw16nWeightTiles& tiles) {
  const long inputs = s.group_inputs(), weights = inputs * s.taps(), image = s.h * s.w * block_samples,
             gradient = s.oh * s.ow * block_samples;
  const auto each_block = [&](auto body) {  // body(image of the group, dy and dw of some channels, channels, samples)
    each_run(c, s.groups, begin, end, [&](long, long group, long first, long channels) {
      const long o = group * c.rows + first;
      for (long i = 0; i < channels * weights; ++i) dw[o * weights + i] = 0;
      for (long b = 0; b < ceil_div(s.n, block_samples); ++b) {
        const long left = s.n - b * block_samples;
        body(x + (b * s.c + group * inputs) * image, dy + (b * s.o + o) * gradient, dw + o * weights, channels,
             left < block_samples ? left : block_samples);
      }
    });
  };
  if constexpr (way != Nchw16nWeightWay::taps)
    if (by_planes.used) {
      WeightByPlanes sums(s, by_planes, tiles, workspace);
      each_block([&sums](const float* from, const float* gradients, float* to, long channels, long count) {
        sums.add(from, gradients, to, channels, count);
      });
      return;
    }
  if constexpr (way == Nchw16nWeightWay::planes) return;  // which the sizes have decided
  WeightPixel* const pixels = static_cast<WeightPixel*>(workspace);
  list_pixels(s, c, pixels);
  float* const copy = reinterpret_cast<float*>(pixels + s.oh * s.ow);
  each_block([&](const float* from, const float* gradients, float* to, long channels, long count) {
    for (long p = 0; p < inputs; p += c.planes, from += c.planes * image) {
      const long planes = c.planes < inputs - p ? c.planes : inputs - p;
      if (c.copied) fill_nchw16n(c, planes, from, -c.top, copy);
      add_block(s, c, c.copied ? copy : from, gradients, to + p * s.taps(), planes, channels, count, pixels, tiles);
    }
  });
}
}  // namespace detail

template <Nchw16nWeightWay way>
[[gnu::noinline]] void nchw16n_conv2d_backward_weight(const Conv2dSizes& s, const float* x, const float* dy, float* dw,
                                                      long begin, long end, void* workspace,
                                                      const Nchw16nWeightTiles& tiles) {
  detail::nchw16n_weight_by<way>(s, detail::nchw16n_weight_image(s), detail::weight_planes(s), x, dy, dw, begin, end,
                                 workspace, tiles);
}
/// Whether a tile may be one tap, or one plane.
constexpr bool any_weight_alone(const Conv2dSizes& s) {
  return nchw16n_weight_way(s) == Nchw16nWeightWay::planes || s.taps() < detail::nchw16n_weight_taps;
}
#else
// The compiled part has the code for all sizes.
constexpr bool any_weight_alone(const Conv2dSizes&) { return true; }
constexpr Nchw16nWeightWay nchw16n_weight_way(const Conv2dSizes&) { return Nchw16nWeightWay::any; }
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
