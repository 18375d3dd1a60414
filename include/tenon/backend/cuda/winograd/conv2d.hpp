// Convolution by Winograd's F(4 x 4, 3 x 3), and its gradient for the input: images and weights at 36 points, a product
// of matrices at each, tiles of results from these.
#pragma once
#include <tenon/backend/cpu/winograd/conv2d_kernel.hpp>
#include <tenon/backend/cpu/winograd/transform.hpp>
#include <tenon/backend/cuda/conv/fast_conv.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The tiles of a convolution and where the parts of its workspace are, in floats: the image [point][plane][tile], the
/// weights [point][row][plane], the products [point][row][tile].
template <class C, ConvTensors at>
struct WinogradParts {
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, at>;
  static constexpr kernel::detail::WinogradPlan plan = kernel::detail::winograd_plan(sizes, false);
  static constexpr bool flipped = plan.flipped;
  static constexpr long planes = plan.planes, rows = plan.rows, across = plan.across, per_image = plan.per_image,
                        weights = winograd::products * rows * planes;

  TENON_DEVICE static constexpr long tiles(long n) { return call_samples<C, at>(n) * per_image; }
  TENON_DEVICE static constexpr long image_at() { return weights; }
  TENON_DEVICE static constexpr long products_at(long n) { return weights + winograd::products * planes * tiles(n); }
  static constexpr long bytes(long n) {
    return (products_at(n) + winograd::products * rows * tiles(n)) * long(sizeof(float));
  }
};

/// A thread per tile of a plane.
template <class C, ConvTensors at>
struct WinogradImages {
  using Parts = WinogradParts<C, at>;
  static constexpr int threads = 128;
  static long blocks(long n) { return blocks_for(Parts::planes * Parts::tiles(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr kernel::detail::WinogradPlan c = Parts::plan;
    const long i = thread_of_grid(), tiles = Parts::tiles(a.n);
    if (i >= c.planes * tiles) return;
    const long tile = i % tiles, plane = i / tiles, sample = tile / c.per_image, in_image = tile % c.per_image,
               y = in_image / c.across * winograd::tile - c.top, x = in_image % c.across * winograd::tile - c.left;
    const float* const from = a.operand<float>(Parts::flipped ? 1 : 0) + (sample * c.planes + plane) * c.h * c.w;
    float* const to = reinterpret_cast<float*>(a.workspace) + Parts::image_at() + i;
    winograd::both_ways_of<winograd::OfImage, float>(
        [=](int r, int k) {
          const bool inside = y + r >= 0 && y + r < c.h && x + k >= 0 && x + k < c.w;
          return inside ? from[(y + r) * c.w + x + k] : 0.0f;
        },
        [=](int r, int k, float v) { to[(r * winograd::points + k) * c.planes * tiles] = v; });
  }
};
/// A thread per kernel, which the gradient turns around.
template <class C, ConvTensors at>
struct WinogradWeights {
  using Parts = WinogradParts<C, at>;
  static constexpr int threads = 128;
  static long blocks(long) { return blocks_for(Parts::rows * Parts::planes, threads); }
  __device__ static void block(const Arguments& a) {
    constexpr kernel::detail::WinogradPlan c = Parts::plan;
    constexpr int side = winograd::kernel;
    const long i = thread_of_grid(), row = i / c.planes, plane = i % c.planes;
    if (i >= c.rows * c.planes) return;
    const float* const from = a.operand<float>(Parts::flipped ? 0 : 1) + row * c.row_step + plane * c.plane_step;
    float* const to = reinterpret_cast<float*>(a.workspace) + i;
    winograd::both_ways_of<winograd::OfKernel, float>(
        [=](int r, int k) { return from[c.flipped ? side * side - 1 - r * side - k : r * side + k]; },
        [=](int r, int k, float v) { to[(r * winograd::points + k) * c.rows * c.planes] = v; });
  }
};
/// The products: one chain over the planes.
template <class C, ConvTensors at>
struct WinogradProduct {
  using T = float;
  using Parts = WinogradParts<C, at>;
  using Left = MatrixLines<float, true>;
  using Right = MatrixLines<float, false>;
  TENON_DEVICE static constexpr ProductExtent extent(long n) {
    return {Parts::rows, Parts::tiles(n), winograd::products};
  }

  Left left;
  Right right;
  long rows = Parts::rows, columns, steps = Parts::planes;
  float* to;

  __device__ WinogradProduct(const Arguments& a, long point) : columns(Parts::tiles(a.n)) {
    float* const work = reinterpret_cast<float*>(a.workspace);
    left = {work + point * rows * steps, int(rows), int(steps)};
    right = {work + Parts::image_at() + point * steps * columns, int(columns), int(columns)};
    to = work + Parts::products_at(a.n) + point * rows * columns;
  }
  __device__ long segments() const { return 1; }
  __device__ long segment_begin(long i) const { return i * steps; }
  __device__ void put(const Arguments&, long row, long column, float value) const {
    to[row * columns + column] = value;
  }
};
/// A thread per tile of a result's channel.
template <class C, ConvTensors at>
struct WinogradResults {
  using Parts = WinogradParts<C, at>;
  static constexpr int threads = 128;
  static long blocks(long n) { return blocks_for(Parts::rows * Parts::tiles(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr kernel::detail::WinogradPlan c = Parts::plan;
    const long i = thread_of_grid(), tiles = Parts::tiles(a.n);
    if (i >= c.rows * tiles) return;
    const long tile = i % tiles, row = i / tiles, sample = tile / c.per_image, in_image = tile % c.per_image,
               y = in_image / c.across * winograd::tile, x = in_image % c.across * winograd::tile;
    const float* const from = reinterpret_cast<const float*>(a.workspace) + Parts::products_at(a.n) + i;
    const long first = ((sample * c.rows + row) * c.height + y) * c.width + x;
    winograd::both_ways_of<winograd::ToTile, float>(
        [=](int r, int k) { return from[(r * winograd::points + k) * c.rows * tiles]; },
        [=, &a](int r, int k, float v) {
          if (y + r < c.height && x + k < c.width) store_result<C>(a, first + r * c.width + k, row, v);
        });
  }
};

template <ConvTensors at>
struct WinogradKernel : Whole {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
  template <class C>
  static constexpr long workspace(long n) {
    return WinogradParts<C, at>::bytes(n);
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (convolve_fast<C, at>(a)) return;
    using Parts = WinogradParts<C, at>;
    launch_blocks<WinogradImages<C, at>>(a);
    launch_blocks<WinogradWeights<C, at>>(a);
    launch_product<WinogradProduct<C, at>, Parts::rows, 0, winograd::products, 0>(a);
    launch_blocks<WinogradResults<C, at>>(a);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::WinogradConv2d> : kernel::cuda::WinogradKernel<kernel::gives_y> {};
template <>
struct Kernel<Cuda, ops::WinogradConv2dInput> : kernel::cuda::WinogradKernel<kernel::gives_dx> {};

}  // namespace tenon
TENON_EXACT_END
