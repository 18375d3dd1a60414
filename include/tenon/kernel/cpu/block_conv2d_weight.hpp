// The gradient of a convolution for its weight on blocks of samples (core/sample_blocks.hpp).
#pragma once
#include <tenon/kernel/cpu/block_conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
/// Output channels and taps of a tile of the weight's gradient.
inline constexpr int block_weight_rows = 4, block_weight_taps = simd_bytes == 64 ? 5 : 2;

// One tile: lanes[i * taps + k] = for each sample of a block the chain over pixels of dy(channel i) * image(tap k).
struct BlockWeightTile {
  const float* dy;
  long dy_plane;
  const float* image;
  long tap[block_weight_taps];
  long height, width, row, column;  // pixels of dy; distances in the image of neighbouring rows and columns
  float* lanes;
};

template <int Rows, int Taps>
[[gnu::noinline]] void run_block_weight_tile(const BlockWeightTile& t) {
  using V = Simd<float, block_width>;
  for (int lane = 0; lane < block_samples; lane += block_width) {
    V sum[Rows][Taps];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
      for (int k = 0; k < Taps; ++k) sum[i][k] = V(0.0f);
    const float *dy = t.dy + lane, *image_row = t.image + lane;
    for (long y = 0; y < t.height; ++y, image_row += t.row) {
      const float* image = image_row;
      for (long x = 0; x < t.width; ++x, image += t.column, dy += block_samples) {
        V pixel[Taps];
#pragma GCC unroll 8
        for (int k = 0; k < Taps; ++k) pixel[k] = V::load(image + t.tap[k]);
#pragma GCC unroll 8
        for (int i = 0; i < Rows; ++i) {
          const V gradient = V::load(dy + i * t.dy_plane);
#pragma GCC unroll 8
          for (int k = 0; k < Taps; ++k) sum[i][k] = fmadd(gradient, pixel[k], sum[i][k]);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
      for (int k = 0; k < Taps; ++k) sum[i][k].store(t.lanes + (i * Taps + k) * block_samples + lane);
  }
}

using BlockWeightKernel = void (*)(const BlockWeightTile&);
// One tap, or all of a tile; 1 .. block_weight_rows rows.
template <int Taps, int... Row>
constexpr auto block_weight_tiles(std::integer_sequence<int, Row...>) {
  struct Table {
    BlockWeightKernel kernel[block_weight_rows];
  };
  return Table{{&run_block_weight_tile<Row + 1, Taps>...}};
}
template <int Taps>
inline constexpr auto block_weight_table = block_weight_tiles<Taps>(std::make_integer_sequence<int, block_weight_rows>());

// Input channels of a group whose padded images are held together.
constexpr long block_weight_planes(const BlockCorrelation& c) {
  if (!c.copied) return c.planes;
  const long fitting = block_image_bytes / 2 / ((c.reach_h + 1 + (c.grid_h - 1) * c.pixel_h) * c.pitch * block_pixel);
  return fitting < 1 ? 1 : fitting < c.planes ? fitting : c.planes;
}
// The same image as the convolution's, but all of its rows at once, and fewer planes.
constexpr BlockCorrelation block_weight_image(const Conv2dSizes& s) {
  BlockCorrelation c = block_forward(s);
  c.planes = block_weight_planes(c);
  c.band = c.grid_h;
  if (c.copied) c.image_rows = (c.grid_h - 1) * c.pixel_h + c.reach_h + 1;
  c.row_blocks = ceil_div(c.rows, block_weight_rows);
  return c;
}

// Adds the gradient of one block of samples for some planes of the image and some output channels.
inline void add_block(const Conv2dSizes& s, const BlockCorrelation& c, const float* image, const float* dy, float* dw, long planes, long channels, long count) {
  constexpr int most = (block_weight_rows * block_weight_taps + block_width - 1) / block_width * block_width;
  alignas(64) float lanes[most * block_samples]{}, sums[most];
  BlockWeightTile tile{dy, s.oh * s.ow * block_samples, image, {}, s.oh, s.ow, c.pixel_h * c.pitch * block_samples, c.pixel_w * block_samples, lanes};
  const long taps = planes * s.taps(), width = taps < block_weight_taps ? 1 : block_weight_taps, row_blocks = ceil_div(channels, block_weight_rows);
  const auto& table = width == 1 ? block_weight_table<1>.kernel : block_weight_table<block_weight_taps>.kernel;
  for (long r = 0; r < row_blocks; ++r) {
    const long row = border(channels, row_blocks, r), rows = border(channels, row_blocks, r + 1) - row;
    tile.dy = dy + row * tile.dy_plane;
    for (long first = 0; first < taps; first += width) {
      for (long k = 0; k < width; ++k) {  // beyond the last tap it is repeated, for nothing
        const long at = first + k < taps ? first + k : taps - 1, plane = at / s.taps(), tap = at % s.taps();
        tile.tap[k] = ((plane * c.image_rows + tap / s.kw * s.dilation_h) * c.pitch + tap % s.kw * s.dilation_w) * block_samples;
      }
      table[rows - 1](tile);
      add_samples(lanes, rows * width, count, sums);
      for (long i = 0; i < rows; ++i)
        for (long k = 0; k < width && first + k < taps; ++k) dw[(row + i) * s.group_inputs() * s.taps() + first + k] += sums[i * width + k];
    }
  }
}
}  // namespace detail

/// Items are blocks of output channels; a thread should take neighbouring ones.
constexpr long block_conv2d_backward_weight_items(const Conv2dSizes& s) { return s.groups * ceil_div(s.group_outputs(), detail::block_weight_rows); }
constexpr std::size_t block_conv2d_backward_weight_workspace(const Conv2dSizes& s) {
  const detail::BlockCorrelation c = detail::block_weight_image(s);
  return c.copied ? std::size_t(c.planes * c.image_rows * c.pitch * detail::block_pixel) : 0;
}

/// dw as by conv2d_backward_weight, x and dy in blocks: in each sample a chain of fmadd over its pixels from +0, padding counts as 0;
/// the samples of a block as a tree, then the blocks (kernel/cpu/sample_blocks.hpp).
[[gnu::noinline]] inline void block_conv2d_backward_weight(const Conv2dSizes& s, const float* x, const float* dy, float* dw, long begin, long end, void* workspace) {
  const detail::BlockCorrelation c = detail::block_weight_image(s);
  const long inputs = s.group_inputs(), weights = inputs * s.taps(), image = s.h * s.w * block_samples, gradient = s.oh * s.ow * block_samples;
  detail::each_block_run(c, s.groups, begin, end, [&](long, long group, long first, long channels) {
    const long o = group * c.rows + first;
    float* const to = dw + o * weights;
    for (long i = 0; i < channels * weights; ++i) to[i] = 0;
    for (long b = 0; b < ceil_div(s.n, block_samples); ++b)
      for (long p = 0; p < inputs; p += c.planes) {
        const long planes = c.planes < inputs - p ? c.planes : inputs - p;
        const float* from = x + (b * s.c + group * inputs + p) * image;
        if (c.copied) detail::fill_blocks(c, planes, from, -c.top, static_cast<float*>(workspace)), from = static_cast<float*>(workspace);
        const long count = s.n - b * block_samples;
        detail::add_block(s, c, from, dy + (b * s.o + o) * gradient, to + p * s.taps(), planes, channels, count < block_samples ? count : block_samples);
      }
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
