// Direct convolution of NCHW16n images (core/nchw16n.hpp) and its gradient for the input: the same sums as
// conv/conv2d.hpp.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/nchw16n/plan.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Items and bytes of scratch per thread, as for conv2d.
constexpr long nchw16n_conv2d_items(const Conv2dSizes& s);
constexpr std::size_t nchw16n_conv2d_workspace(const Conv2dSizes& s);

/// The functions that compute tiles (nchw16n/tile.hpp), of as many rows as blocks of these result channels of a group
/// have: a program compiles no others. 0 channels: all.
struct Nchw16nTiles;
template <long channels>
const Nchw16nTiles& nchw16n_tiles();
/// The same for a call: the compiled part has those for all sizes.
template <long channels>
const Nchw16nTiles& nchw16n_tiles_for() {
  return nchw16n_tiles<TENON_DEFINES ? channels : 0>();
}

/// Called with the place of the first element, its channel, and the number of elements of the channel that are
/// complete.
using ChannelDone = FunctionRef<long, long, long>;

/// As conv2d, images in NCHW16n. `done` is notified of rows of channels as soon as they are complete.
void nchw16n_conv2d(const Conv2dSizes& s, const float* from, const float* weight, float* to, long begin, long end,
                    void* workspace, ChannelDone done, const Nchw16nTiles& tiles);

#if TENON_DEFINES
namespace detail {

/// What happens to the rows of the result that are complete: (first channel, channels, first pixel, pixels).
using RowsDone = FunctionRef<long, long, long, long>;

class Nchw16nConv {
 public:
  Nchw16nConv(const Nchw16nPlan& c, void* workspace, const Nchw16nTiles& tiles)
      : c_(c), tiles_(tiles), at_(nchw16n_scratch(c, workspace)) {
    at_.starts[0] = 0;
  }
  /// Appends a tap of the phase that is being described.
  void add(long weight, long row, long column) {
    at_.taps[count_++] = {std::int32_t(weight), std::int32_t(row), std::int32_t(column)};
  }
  void end_phase() { at_.starts[++phase_] = count_; }
  /// Of the blocks that are computed next, this many samples are there.
  void take_samples(long count) { lanes_ = block_lanes(count); }

  /// Result channels row0 .. of one block and group. weight: of row0; from: the group's planes; to: plane of row0. Taps
  /// that meet only padding are left out if `finite`: with finite weights they change nothing but the sign of a zero,
  /// which the final + 0 clears.
  [[gnu::noinline]] void run(const float* weight, const float* from, float* to, long rows, bool finite, RowsDone done) {
    const long blocks = ceil_div(rows, block_rows);
    for (long p = 0; p < c_.planes;
         p += c_.pass, weight += c_.pass * c_.plane_step, from += c_.pass * c_.h * c_.w * block_samples) {
      const Planes planes{p > 0, c_.pass < c_.planes - p ? c_.pass : c_.planes - p, finite};
      const RowsDone last = p + c_.pass < c_.planes ? RowsDone() : done;
      for (long i0 = 0; i0 < c_.grid_h; i0 += c_.band) {
        const long band = c_.band < c_.grid_h - i0 ? c_.band : c_.grid_h - i0;
        const float* image = from + i0 * c_.pixel_h * c_.pitch * block_samples;
        if (c_.copied) fill_nchw16n(c_, planes.count, from, i0 * c_.pixel_h - c_.top, at_.image), image = at_.image;
        for (long b = 0; b < blocks; ++b) {
          const long r = border(rows, blocks, b), count = border(rows, blocks, b + 1) - r;
          const float* const weights = packed(weight + r * c_.row_step, planes.count, count);
          for (int phase = 0; phase < c_.phases(); ++phase)
            run_phase(weights, image, to + r * out_plane(), r, int(count), i0, band, phase, planes, last);
        }
      }
    }
  }

 private:
  // Planes of one pass.
  struct Planes {
    bool begun;
    long count;
    bool finite;
  };
  // The weights of some rows, side by side in each plane and the planes one after the other.
  const float* packed(const float* weight, long planes, long rows) const {
    if (!c_.packed) return weight;
    for (long p = 0; p < planes; ++p)
      kernel::copy_row(weight + p * c_.plane_step, at_.weights + p * rows * c_.taps(), rows * c_.taps());
    return at_.weights;
  }
  long out_plane() const { return c_.height * c_.width * block_samples; }
  struct Range {
    long begin, end;
  };
  // True if both are the same taps.
  static bool same(const Range& a, const Range& b, long reach) {
    const auto clipped = [reach](long v) { return v < 0 ? 0 : v > reach ? reach + 1 : v; };
    return clipped(a.begin) == clipped(b.begin) && clipped(a.end) == clipped(b.end) && b.begin <= b.end;
  }
  // The rows (or columns) of taps of which a tile of pixels begin .. last needs any, in padded coordinates.
  static Range needed(long begin, long last, long pixel, long before, long extent, bool some) {
    return some ? Range{before - last * pixel, before + extent - begin * pixel} : Range{-(1L << 30), 1L << 30};
  }
  // A phase of some rows of the result.
  struct Phase {
    Nchw16nTile tile;
    int rows, phase_h, phase_w;
    long i0;
    bool some;  // only some taps are needed
    Range rows_before, columns_before;
  };
  Range rows_of(const Phase& p, long first, long last) const {
    return needed(p.i0 + first, p.i0 + last, c_.pixel_h, c_.top, c_.h, p.some);
  }
  Range columns_of(const Phase& p, long first, long last) const {
    return needed(first, last, c_.pixel_w, c_.left, c_.w, p.some && p.tile.planes >= c_.worth_listing);
  }

  void run_phase(const float* weight, const float* image, float* to, long channel, int rows, long i0, long band,
                 int phase, const Planes& planes, RowsDone done) {
    const int phase_h = phase / c_.step_w, phase_w = phase % c_.step_w;
    const long grid_h = ceil_div(c_.height - phase_h, c_.step_h), grid_w = ceil_div(c_.width - phase_w, c_.step_w);
    if (band > grid_h - i0) band = grid_h - i0;
    if (band <= 0 || grid_w <= 0) return;
    // Tiles of two rows or of one, whichever wastes less at the borders. Those of one row have taps less at the upper
    // and lower border.
    constexpr long half = block_pixels / 2;
    const long tile_h =
                   grid_h >= 2 && ceil_div(band, 2) * ceil_div(grid_w, half) < band * ceil_div(grid_w, block_pixels)
                       ? 2
                       : 1,
               tile_w = block_pixels / tile_h;
    Phase p{{at_.list,
             0,
             planes.count,
             c_.packed ? rows * c_.taps() : c_.plane_step,
             c_.image_plane,
             weight,
             c_.row_step,
             image,
             to,
             out_plane(),
             {},
             {},
             planes.begun,
             false,
             lanes_,
             1,
             tile_w * c_.pixel_w * c_.image_pixel,
             tile_w * c_.step_w * block_samples},
            rows,
            phase_h,
            phase_w,
            i0,
            planes.finite,
            {0, -1},
            {0, -1}};
    for (long i = 0; i < band; i += tile_h) {
      for (long j = 0; j < grid_w; j += tile_w) {
        // a second pass must meet each pixel once
        const long x0 = j + tile_w <= grid_w || tile_w > grid_w || c_.pass < c_.planes ? j : grid_w - tile_w;
        const long y1 = i + tile_h <= band ? i + tile_h - 1 : band - 1,
                   x1 = x0 + tile_w <= grid_w ? x0 + tile_w - 1 : grid_w - 1;
        const Range columns = columns_of(p, x0, x1);
        list_taps(p.tile, phase, rows_of(p, i, y1), columns, p.rows_before, p.columns_before);
        p.tile.tiles = 1;
        for (; tiles_side_by_side && j + 2 * tile_w <= grid_w; j += tile_w, ++p.tile.tiles)
          if (!same(columns, columns_of(p, j + tile_w, j + 2 * tile_w - 1), c_.reach_w)) break;
        run_pixels(p, i, y1, x0, x1, tile_w);
      }
      const long last = i + tile_h < band ? i + tile_h : band;
      if (done) done(channel, rows, (i0 + i) * c_.width, (last - i) * c_.width);
    }
  }
  // The pixels y0 .. y1 by x0 .. x1 in a tile of 1, 2, or 4 columns; pixels that it lacks are computed twice.
  [[gnu::always_inline]] void run_pixels(Phase& p, long y0, long y1, long x0, long x1, long columns) const {
    for (long q = 0; q < block_pixels; ++q) {
      const long down = q >> columns / 2, right = q & (columns - 1), y = y0 + down < y1 ? y0 + down : y1,
                 x = x0 + right < x1 ? x0 + right : x1;
      p.tile.pixel[q] = (y * c_.pixel_h * c_.pitch + x * c_.pixel_w) * c_.image_pixel;
      p.tile.out_pixel[q] =
          (((p.i0 + y) * c_.step_h + p.phase_h) * c_.width + x * c_.step_w + p.phase_w) * block_samples;
    }
    if (c_.segments) run_planes(p.tile, p.rows);
    else tiles_.run(p.tile, p.rows);
  }
  // A segment of planes after the other.
  [[gnu::noinline]] void run_planes(Nchw16nTile tile, int rows) const {
    tile.added = tile.begun, tile.begun = false;
    for (long left = tile.planes; left > 0; left -= c_.segment, tile.added = true) {
      tile.planes = left < c_.segment ? left : c_.segment;
      tiles_.run(tile, rows);
      tile.weight += tile.planes * tile.weight_plane, tile.image += tile.planes * tile.image_plane;
    }
  }
  static bool is_in(const Nchw16nTap& tap, const Range& rows, const Range& columns) {
    return tap.row >= rows.begin && tap.row < rows.end && tap.column >= columns.begin && tap.column < columns.end;
  }
  // The taps whose rows and columns are needed; most tiles need those of the tile before.
  void list_taps(Nchw16nTile& tile, int phase, const Range& rows, const Range& columns, Range& rows_before,
                 Range& columns_before) const {
    if (same(rows, rows_before, c_.reach_h) && same(columns, columns_before, c_.reach_w)) return;
    rows_before = rows, columns_before = columns;
    tile.count = 0;
    for (const Nchw16nTap *tap = at_.taps + at_.starts[phase], *end = at_.taps + at_.starts[phase + 1]; tap != end;
         ++tap)
      if (is_in(*tap, rows, columns))
        at_.list[tile.count++] = {tap->weight, std::int32_t((tap->row * c_.pitch + tap->column) * c_.image_pixel)};
  }

  const Nchw16nPlan& c_;
  const Nchw16nTiles& tiles_;
  const Nchw16nScratch at_;
  long count_ = 0, lanes_ = block_samples;
  int phase_ = 0;
};

}  // namespace detail

constexpr long nchw16n_conv2d_items(const Conv2dSizes& s) {
  return ceil_div(s.n, block_samples) * s.groups * ceil_div(s.group_results(), block_rows);
}
constexpr std::size_t nchw16n_conv2d_workspace(const Conv2dSizes& s) {
  return detail::nchw16n_scratch(detail::nchw16n_plan(detail::geometry_of(s))).total;
}

namespace detail {
// Tells of each channel of the rows that the conv has finished.
struct EachChannel {
  ChannelDone done;
  long plane, first, channel;  // elements of a channel; of the first channel: the first element, its number

  void operator()(long row, long rows, long pixel, long pixels) const {
    for (long r = row; r < row + rows; ++r)
      done(first + r * plane + pixel * block_samples, channel + r, pixels * block_samples);
  }
};
// As nchw16n_conv2d, by a plan.
[[gnu::always_inline]] inline void nchw16n_convolve(const Nchw16nPlan& c, const Conv2dSizes& s, const float* from,
                                                    const float* weight, float* to, long begin, long end,
                                                    void* workspace, ChannelDone done, const Nchw16nTiles& tiles) {
  Nchw16nConv conv(c, workspace, tiles);
  add_taps(conv, c);
  const long planes = c.planes * c.h * c.w * block_samples, plane = c.height * c.width * block_samples;
  const bool finite = all_finite(weight, s.groups * c.group_weights()), by_rows = c.phases() == 1;
  each_run(c, s.groups, begin, end, [&](long block, long group, long row0, long rows) {
    const long first = group * c.rows + row0;
    const EachChannel channels{done, plane, (block * s.groups * c.rows + first) * plane, first};
    conv.take_samples(s.n - block * block_samples);
    conv.run(weight + group * c.group_weights() + row0 * c.row_step, from + (block * s.groups + group) * planes,
             to + channels.first, rows, finite, done && by_rows ? RowsDone(channels) : RowsDone());
    if (done && !by_rows) channels(0, rows, 0, c.height * c.width);
  });
}
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void nchw16n_conv2d(const Conv2dSizes& s, const float* from, const float* weight,
                                                   float* to, long begin, long end, void* workspace, ChannelDone done,
                                                   const Nchw16nTiles& tiles) {
  detail::nchw16n_convolve(detail::nchw16n_plan(detail::geometry_of(s)), s, from, weight, to, begin, end, workspace,
                           done, tiles);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
