// The gradient for a 3 x 3 kernel by Winograd's F(3 x 3, 4 x 4): images and gradients at 36 points, a product of
// matrices at each, whose steps are tiles and samples.
#pragma once
#include <tenon/backend/cuda/winograd/conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Steps of the chains (cpu/winograd/weight_gradient.hpp): blocks of 16 samples, of each its tiles, of each its
/// samples. Parts of the workspace, in floats: images [point][c][step], gradients [point][o][step], products
/// [point][o][c].
template <class C>
struct WinogradSteps {
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_dw>;
  static constexpr long across = ceil_div(sizes.ow, winograd::tile),
                        per_image = ceil_div(sizes.oh, winograd::tile) * across, inputs = sizes.c, outputs = sizes.o;

  TENON_DEVICE static constexpr long samples(long n) { return call_samples<C, gives_dw>(n); }
  TENON_DEVICE static constexpr long steps(long n) { return samples(n) * per_image; }
  TENON_DEVICE static constexpr long gradients_at(long n) { return winograd::products * inputs * steps(n); }
  TENON_DEVICE static constexpr long products_at(long n) {
    return gradients_at(n) + winograd::products * outputs * steps(n);
  }
  static constexpr long bytes(long n) {
    return (products_at(n) + winograd::products * inputs * outputs) * long(sizeof(float));
  }
  /// The steps before a tile, counted through all blocks.
  TENON_DEVICE static constexpr long steps_before(long tile, long n) {
    const long first = tile / per_image * block_samples, left = samples(n) - first;
    return left < 0 ? steps(n)
                    : first * per_image + tile % per_image * (left < block_samples ? left : long(block_samples));
  }
};

/// Transforms of tiles of operand `which`: a thread per step of a channel.
template <class C, int which>
struct WinogradStepTiles {
  using Steps = WinogradSteps<C>;
  using Transform = std::conditional_t<which == 0, winograd::OfImage, winograd::OfGradient>;
  static constexpr int threads = 128;
  static constexpr long channels = which == 0 ? Steps::inputs : Steps::outputs;
  static long blocks(long n) { return blocks_for(channels * Steps::steps(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr Conv2dSizes s = Steps::sizes;
    constexpr long h = which == 0 ? s.h : s.oh, w = which == 0 ? s.w : s.ow, top = which == 0 ? s.pad_top : 0,
                   left = which == 0 ? s.pad_left : 0, per_block = block_samples * Steps::per_image;
    const long i = thread_of_grid(), steps = Steps::steps(a.n);
    if (i >= channels * steps) return;
    const long step = i % steps, first = step / per_block * block_samples, behind = Steps::samples(a.n) - first,
               own = behind < block_samples ? behind : long(block_samples), tile = step % per_block / own,
               sample = first + step % per_block % own;
    const long y = tile / Steps::across * winograd::tile - top, x = tile % Steps::across * winograd::tile - left;
    const float* const from = a.operand<float>(which) + (sample * channels + i / steps) * h * w;
    float* const to = reinterpret_cast<float*>(a.workspace) + (which == 0 ? 0 : Steps::gradients_at(a.n)) + i;
    winograd::both_ways_of<Transform, float>(
        [=](int r, int k) {
          const bool inside = y + r >= 0 && y + r < h && x + k >= 0 && x + k < w;
          return inside ? from[(y + r) * w + x + k] : 0.0f;
        },
        [=](int r, int k, float v) { to[(r * winograd::points + k) * channels * steps] = v; });
  }
};
/// Per point [o, c]: chains over some tiles, one after the other.
template <class C>
struct WinogradWeightProduct {
  using T = float;
  using Steps = WinogradSteps<C>;
  using Left = MatrixLines<float, true>;
  using Right = MatrixLines<float, true>;
  TENON_DEVICE static constexpr ProductExtent extent(long) {
    return {Steps::outputs, Steps::inputs, winograd::products};
  }

  Left left;
  Right right;
  long rows = Steps::outputs, columns = Steps::inputs, steps, n, tiles, chain;
  float* to;

  __device__ WinogradWeightProduct(const Arguments& a, long point)
      : steps(Steps::steps(a.n)),
        n(a.n),
        tiles((Steps::samples(a.n) + block_samples - 1) / block_samples * Steps::per_image),
        chain(kernel::detail::winograd_chain_tiles(Steps::samples(a.n))) {
    float* const work = reinterpret_cast<float*>(a.workspace);
    left = {work + Steps::gradients_at(a.n) + point * rows * steps, int(rows), int(steps)};
    right = {work + point * columns * steps, int(columns), int(steps)};
    to = work + Steps::products_at(a.n) + point * rows * columns;
  }
  __device__ long segments() const { return (tiles + chain - 1) / chain; }
  __device__ long segment_begin(long i) const { return i * chain < tiles ? Steps::steps_before(i * chain, n) : steps; }
  __device__ void put(const Arguments&, long row, long column, float value) const {
    to[row * columns + column] = value;
  }
};
/// A thread per kernel.
template <class C>
struct WinogradKernels {
  using Steps = WinogradSteps<C>;
  static constexpr int threads = 128;
  static long blocks(long) { return blocks_for(Steps::inputs * Steps::outputs, threads); }
  __device__ static void block(const Arguments& a) {
    constexpr long count = Steps::inputs * Steps::outputs;
    const long i = thread_of_grid();
    if (i >= count) return;
    const float* const from = reinterpret_cast<const float*>(a.workspace) + Steps::products_at(a.n) + i;
    float* const to = a.result<float>() + i * winograd::kernel * winograd::kernel;
    winograd::both_ways_of<winograd::ToKernel, float>(
        [=](int r, int k) { return from[(r * winograd::points + k) * count]; },
        [=](int r, int k, float v) { to[r * winograd::kernel + k] = v; });
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::WinogradConv2dWeight> : kernel::cuda::Whole {
  template <class C>
  static constexpr long workspace(long n) {
    return kernel::cuda::WinogradSteps<C>::bytes(n);
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::convolve_fast<C, kernel::gives_dw>(a)) return;
    using Steps = kernel::cuda::WinogradSteps<C>;
    kernel::cuda::launch_blocks<kernel::cuda::WinogradStepTiles<C, 0>>(a);
    kernel::cuda::launch_blocks<kernel::cuda::WinogradStepTiles<C, 1>>(a);
    kernel::cuda::launch_product<kernel::cuda::WinogradWeightProduct<C>, Steps::outputs, Steps::inputs,
                                 kernel::winograd::products, 0>(a);
    kernel::cuda::launch_blocks<kernel::cuda::WinogradKernels<C>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
