// The gradient for a 3 x 3 kernel at stride 1, by Winograd's F(3 x 3, 4 x 4).
#pragma once
#include <tenon/backend/cpu/winograd/conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
inline constexpr long winograd_slab = 32, winograd_chain = 64;

// Images and gradients are taken in tiles, transformed with channels as lanes, and for each of 36 points there is a
// product of matrices:
//   sum(point, o, c) = chain over some tiles and all samples of their block, from +0, and so on: the chains are added
//   one after the other
// Tiles are counted through blocks of 16 samples. This many make a chain that it has 64 steps where blocks are full, or
// in a batch of less than 16 just as many or some more. Longer chains would round more, shorter ones take longer. An
// item is some rows o. As many of them as there is room for sums are computed in one pass over the tiles.
constexpr long winograd_chain_tiles(long n) { return n > 0 ? ceil_div(winograd_chain, tile_of(n)) : 1; }
struct WinogradWeight {
  Conv2dSizes s;
  bool blocks;
  long across, per_image, tiles;              // tiles of a row, of an image, of all blocks of samples
  long chunk, chunks, items, rows, pass;      // rows: of an item, pass: of a pass
  long samples, chain;                        // of a block, at most; tiles of a chain
  long inputs, outputs;                       // channels, and room for those after the last
  long image_step, gradient_step, sums_step;  // from one point to the next

  constexpr long steps() const { return chunk * samples; }
  constexpr bool kept() const { return chunks == 1; }
};
[[gnu::noinline]] constexpr WinogradWeight winograd_weight(const Conv2dSizes& s, bool blocks,
                                                           const WinogradCosts& costs = winograd_costs) {
  constexpr long point = winograd::products * long(sizeof(float));
  WinogradWeight w{};
  w.s = s, w.blocks = blocks;
  w.across = ceil_div(s.ow, winograd::tile), w.per_image = ceil_div(s.oh, winograd::tile) * w.across,
  w.tiles = ceil_div(s.n, block_samples) * w.per_image;
  w.samples = tile_of(s.n), w.chain = winograd_chain_tiles(s.n);
  w.inputs = round_up(s.c, simd_width<float>);
  w.rows = s.o < 2 * tile_rows ? s.o : 2 * tile_rows, w.items = ceil_div(s.o, w.rows);
  w.pass = winograd_fitting(costs.sums, point * w.inputs, w.rows, w.items * w.rows);
  w.outputs = round_up(w.pass, simd_width<float>) + winograd_gap;
  const long each = point * w.samples * (w.inputs + w.outputs);
  w.chunk = w.tiles * each <= costs.kept ? w.tiles : winograd_fitting(costs.image, each, w.chain, w.tiles);
  w.chunks = w.chunk > 0 ? ceil_div(w.tiles, w.chunk) : 0;
  w.image_step = w.steps() * w.inputs + winograd_gap, w.gradient_step = w.steps() * w.outputs + winograd_gap,
  w.sums_step = w.pass * w.inputs + winograd_gap;
  return w;
}

// Parts of the workspace.
struct WinogradWeightScratch {
  Tap* taps;
  float *image, *gradient, *sums, *strip;
  std::size_t total;
};
constexpr WinogradWeightScratch winograd_weight_scratch(const WinogradWeight& w, void* workspace = nullptr) {
  const long widest = w.chunk < w.across ? w.chunk : w.across,
             strip = winograd::points * (widest * winograd::tile + 2) * w.samples * winograd_slab, nine = 9 * w.inputs;
  WorkspaceParts parts(workspace);
  return {parts.take<Tap>(w.steps()),
          parts.take<float>(winograd::products * w.image_step),
          parts.take<float>(winograd::products * w.gradient_step),
          parts.take<float>(winograd::products * w.sums_step),
          parts.take<float>(strip > nine ? strip : nine),
          parts.bytes()};
}
}  // namespace detail

/// Items and bytes of scratch per thread, of NCHW16n images or not.
constexpr long winograd_conv2d_weight_items(const Conv2dSizes& s, bool blocks) {
  return detail::winograd_weight(s, blocks).items;
}
constexpr std::size_t winograd_conv2d_weight_workspace(const Conv2dSizes& s, bool blocks) {
  return detail::winograd_weight_scratch(detail::winograd_weight(s, blocks)).total;
}

/// dweight from x and dy for a 3 x 3 kernel, stride and dilation 1, one group. A value that is not finite reaches all
/// weights of its channel.
void winograd_conv2d_weight(const Conv2dSizes& s, bool blocks, const float* x, const float* dy, float* dw, long begin,
                            long end, void* workspace);

#if TENON_DEFINES
namespace detail {
class WinogradWeightProducts {
  using V = Simd<float>;
  static constexpr int products = winograd::products, points = winograd::points, side = winograd::tile,
                       width = V::width;

 public:
  WinogradWeightProducts(const WinogradWeight& w, const float* x, const float* dy, float* dw, void* workspace)
      : w_(w), x_(x), dy_(dy), dw_(dw), at_(winograd_weight_scratch(w, workspace)) {
    for (int i = 0; i < tile_rows; ++i) row_[i] = i;
  }

  void run(long begin, long end) {
    const long last = end * w_.rows < w_.s.o ? end * w_.rows : w_.s.o;
    bool kept = false;
    for (long row = begin * w_.rows; row < last; row += w_.pass) {
      const long rows = last - row < w_.pass ? last - row : w_.pass;
      if (w_.chunks == 0) clear(at_.sums, products * w_.sums_step);
      for (long chunk = 0; chunk < w_.chunks; ++chunk) {
        const long tile0 = chunk * w_.chunk, tiles = w_.tiles - tile0 < w_.chunk ? w_.tiles - tile0 : w_.chunk;
        if (!kept)
          transform<winograd::OfImage>({x_, w_.s.c, 0, w_.s.c, w_.s.h, w_.s.w, w_.s.pad_top, w_.s.pad_left}, tile0,
                                       tiles);
        kept = w_.kept();
        transform<winograd::OfGradient>({dy_, w_.s.o, row, rows, w_.s.oh, w_.s.ow, 0, 0}, tile0, tiles);
        multiply(rows, tile0, tiles);
      }
      store(row, rows);
    }
  }

 private:
  // Some channels of images, and how far above and left of the first tile they begin.
  struct Planes {
    const float* from;
    long channels, first, count, h, w, top, left;
  };
  // Transforms of neighbouring tiles. Those of images have the columns of the products as
  // lanes, in panels, those of gradients their rows.
  template <class Transform>
  [[gnu::noinline]] void transform(const Planes& planes, long tile0, long tiles) {
    constexpr bool image = std::is_same_v<Transform, winograd::OfImage>;
    long step = 0;
    for (long tile = tile0, count; tile < tile0 + tiles; tile += count) {
      const long in_image = tile % w_.per_image, column = in_image % w_.across, block = tile / w_.per_image,
                 left = w_.across - column;
      const long samples =
          w_.s.n - block * block_samples < block_samples ? w_.s.n - block * block_samples : block_samples;
      count = tile0 + tiles - tile < left ? tile0 + tiles - tile : left;
      const long pixels = (count - 1) * side + Transform::in;
      for (long c = 0; c < planes.count; c += winograd_slab) {
        const long own = planes.count - c < winograd_slab ? planes.count - c : winograd_slab,
                   lanes = round_up(own, width);
        fill_strip(planes, planes.first + c, own, block, samples, in_image / w_.across * side - planes.top,
                   column * side - planes.left, Transform::in, pixels);
        long first = 0, panel = covered_columns<float>(w_.inputs);
        for (long lane = 0; lane < lanes; lane += width) {
          while (image && c + lane >= first + panel) first += panel, panel = covered_columns<float>(w_.inputs - first);
          float* const to = image ? at_.image + first * w_.steps() + step * panel + c + lane - first
                                  : at_.gradient + step * w_.outputs + c + lane;
          const long next = image ? panel : w_.outputs, point = image ? w_.image_step : w_.gradient_step,
                     pixel = samples * winograd_slab;
          for (long t = 0; t < count; ++t)
            for (long s = 0; s < samples; ++s)
              winograd::both_ways<Transform, V>(
                  at_.strip + t * side * pixel + s * winograd_slab + lane, pixels * pixel, pixel,
                  winograd::StoreAt{to + (t * samples + s) * next, points * point, point});
        }
      }
      step += count * samples;
    }
  }
  // strip[row][column][sample][channel] of some rows and columns of a block's images, with zeros around them and after
  // the last channel.
  [[gnu::noinline]] void fill_strip(const Planes& p, long c, long own, long block, long samples, long y0, long x0,
                                    long rows, long columns) {
    const long begin = x0 < 0 ? -x0 : 0, end = p.w - x0 < columns ? p.w - x0 : columns, plane = p.h * p.w,
               pixel = samples * winograd_slab;
    const bool inside = begin == 0 && end == columns && y0 >= 0 && y0 + rows <= p.h;
    if (!inside) clear(at_.strip, rows * columns * pixel);
    for (long i = 0; i < rows; ++i) {
      if (y0 + i < 0 || y0 + i >= p.h || begin >= end) continue;
      const long at = (y0 + i) * p.w + x0;
      float* const to = at_.strip + i * columns * pixel;
      if (w_.blocks) {
        for (long j = begin; j < end; ++j)
          copy_matrix(p.from + ((block * p.channels + c) * plane + at + j) * block_samples, 1, plane * block_samples,
                      to + j * pixel, winograd_slab, samples, own, round_up(own, width));
      } else {
        for (long s = 0; s < samples; ++s)
          copy_matrix(p.from + ((block * block_samples + s) * p.channels + c) * plane + at + begin, 1, plane,
                      to + begin * pixel + s * winograd_slab, pixel, end - begin, own, round_up(own, width));
      }
    }
  }

  [[gnu::noinline]] void multiply(long rows, long tile0, long tiles) {
    alignas(64) float chain[tile_rows * tile_columns<float>(2)];
    each_panel(w_.inputs, [&](long first, long columns) {
      for (long k = 0; k < w_.steps(); ++k) at_.taps[k] = {std::int32_t(k * w_.outputs), std::int32_t(k * columns)};
      for (long p = 0; p < products; ++p)
        for (long i = 0; i < rows; i += tile_rows) {
          const int count = int(rows - i < tile_rows ? rows - i : tile_rows);
          Tile<float> tile{at_.taps,
                           0,
                           at_.gradient + p * w_.gradient_step + i,
                           row_,
                           at_.image + p * w_.image_step + first * w_.steps(),
                           nullptr,
                           0,
                           false};
          float* const to = at_.sums + p * w_.sums_step + i * w_.inputs + first;
          for (long t = 0; t < tiles; t += w_.chain, tile.taps += tile.count) {
            const long end = t + w_.chain < tiles ? t + w_.chain : tiles;
            const bool begun = tile0 + t > 0;
            tile.count = steps_before(tile0 + end) - steps_before(tile0 + t);
            tile.out = begun ? chain : to, tile.out_row = begun ? columns : w_.inputs;
            run_tile(tile, count, columns);
            if (begun) add(chain, to, count, columns);
          }
        }
    });
  }
  // Samples of all tiles before this one.
  long steps_before(long tile) const {
    const long first = tile / w_.per_image * block_samples, left = w_.s.n - first,
               samples = left < block_samples ? left : block_samples;
    return (left < 0 ? w_.s.n : first) * w_.per_image + tile % w_.per_image * samples;
  }
  void add(const float* from, float* to, int rows, long columns) const {
    for (int i = 0; i < rows; ++i, from += columns, to += w_.inputs)
      for (long j = 0; j < columns; j += width) (V::load(to + j) + V::load(from + j)).store(to + j);
  }
  [[gnu::noinline]] void store(long row, long rows) {
    for (long i = 0; i < rows; ++i) {
      for (long c = 0; c < w_.inputs; c += width)
        winograd::both_ways<winograd::ToKernel, V>(
            at_.sums + i * w_.inputs + c, points * w_.sums_step, w_.sums_step,
            winograd::StoreAt{at_.strip + c, winograd::kernel * w_.inputs, w_.inputs});
      copy_matrix(at_.strip, 1, w_.inputs, dw_ + (row + i) * w_.s.c * 9, 9, w_.s.c, 9, 0);
    }
  }

  const WinogradWeight& w_;
  const float *x_, *dy_;
  float* dw_;
  const WinogradWeightScratch at_;
  std::int32_t row_[tile_rows];
};
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void winograd_conv2d_weight(const Conv2dSizes& s, bool blocks, const float* x,
                                                           const float* dy, float* dw, long begin, long end,
                                                           void* workspace) {
  const detail::WinogradWeight w = detail::winograd_weight(s, blocks);
  detail::WinogradWeightProducts(w, x, dy, dw, workspace).run(begin, end);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
