// The gradient of a convolution for its weight: chains over the pixels of a sample, then sums over samples. In float32
// sums of segments or of 1 to 16 samples go to the workspace, and a second kernel adds them up.
#pragma once
#include <tenon/backend/cpu/conv/conv2d_kernel.hpp>
#include <tenon/backend/cuda/conv/fast_conv.hpp>
#include <tenon/backend/cuda/conv/weight_plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// One element of the weight's gradient: the products of x at one tap and dy.
template <class C>
struct WeightElement {
  using T = typename C::Result;
  using A = ProductSum<T>;
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_dw>;
  static constexpr long count = sizes.o * sizes.group_inputs() * sizes.taps();

  const T *x, *dy;  // of sample 0: the channel's plane
  int row, column;  // of the tap, for pixel 0 of dy

  __device__ WeightElement(const Arguments& a, long i) {
    constexpr Conv2dSizes s = sizes;
    constexpr int inputs = int(s.group_inputs()), outputs = int(s.group_outputs()), taps = s.kh * s.kw;
    const int tap = int(i % taps), c = int(i / taps) % inputs, o = int(i / taps) / inputs;
    x = a.template operand<T>(0) + (o / outputs * inputs + c) * s.h * s.w;
    dy = a.template operand<T>(1) + o * s.oh * s.ow;
    row = tap / s.kw * s.dilation_h - s.pad_top, column = tap % s.kw * s.dilation_w - s.pad_left;
  }
  __device__ A image(long sample, int i, int j) const {
    constexpr Conv2dSizes s = sizes;
    constexpr int h = int(s.h), w = int(s.w);
    const int y = i * s.stride_h + row, at = j * s.stride_w + column;
    const bool inside = unsigned(y) < unsigned(h) && unsigned(at) < unsigned(w);
    return inside ? widened(x[sample * (s.c * s.h * s.w) + y * w + at]) : A(0);
  }
  __device__ A gradient(long sample, int i, int j) const {
    constexpr Conv2dSizes s = sizes;
    return widened(dy[sample * (s.o * s.oh * s.ow) + i * int(s.ow) + j]);
  }
  /// The chain of a segment of the pixels of a sample.
  __device__ A of_segment(long sample, long segment) const {
    constexpr Conv2dSizes s = sizes;
    constexpr PixelSegments segments = pixel_segments(s.oh, s.ow);
    constexpr long across = segments.side_by_side();
    const int i0 = int(segment / across * segments.rows), j0 = int(segment % across * segments.columns),
              rows = int(i0 + segments.rows < s.oh ? i0 + segments.rows : s.oh),
              columns = int(j0 + segments.columns < s.ow ? j0 + segments.columns : s.ow);
    A sum(0);
    for (int i = i0; i < rows; ++i)
#pragma unroll 4
      for (int j = j0; j < columns; ++j) sum = fmadd(image(sample, i, j), gradient(sample, i, j), sum);
    return sum;
  }
};

/// Chains of segments, a thread each: [sample][segment][element].
template <class C>
struct WeightSegments {
  using W = WeightElement<C>;
  static constexpr int threads = 128;
  static constexpr long segments = pixel_segments(W::sizes.oh, W::sizes.ow).count();
  static constexpr long slot = (W::count + 3) / 4 * 4;  // of the workspace
  static constexpr long count(long n) { return call_samples<C, gives_dw>(n) * segments * slot; }
  static long blocks(long n) { return blocks_for(count(n), threads); }
  __device__ static void block(const Arguments& a) {
    const long i = thread_of_grid(), samples = call_samples<C, gives_dw>(a.n);
    if (i >= samples * segments * slot || i % slot >= W::count) return;
    const long segment = i / slot % segments, sample = i / slot / segments;
    reinterpret_cast<float*>(a.workspace)[i] = W(a, i % slot).of_segment(sample, segment);
  }
};

/// Other types: one chain over all samples. bfloat16 takes them in pairs, of which the second comes first.
struct ConvWeightElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = ProductSum<T>;
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dw>;
    constexpr int unit = steps_per_unit<T>;
    constexpr TensorType images = C::operand(0);
    constexpr bool plus_zero = kernel::detail::weight_plan<T>(kernel::detail::weight_sizes<T>(s)).leaves_out;
    const long samples = images.size(0, a.n);
    const WeightElement<C> of(a, i);
    A sum(0);
    for (long sample = 0; sample < samples; sample += unit)
      for (int y = 0; y < s.oh; ++y)
        for (int x = 0; x < s.ow; ++x)
#pragma unroll
          for (int u = unit - 1; u >= 0; --u) {
            const bool there = sample + u < samples;
            sum = fmadd(there ? of.image(sample + u, y, x) : A(0), there ? of.gradient(sample + u, y, x) : A(0), sum);
          }
    a.template result<T>()[i] = narrowed<T>(plus_zero ? sum + A(0) : sum);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Conv2dBackwardWeight> : kernel::cuda::Whole {
  template <class C>
  static constexpr kernel::Conv2dSizes sizes(long n) {
    return kernel::cuda::conv_call_sizes<C, kernel::gives_dw>.of(kernel::cuda::call_samples<C, kernel::gives_dw>(n));
  }
  template <class C>
  static constexpr bool in_tiles =
      std::is_same_v<typename C::Result, float> && kernel::cuda::weight_in_tiles(sizes<C>(1));

  template <class C>
  using Ways = kernel::cuda::WeightWaysOf<kernel::cuda::weight_tile_set(sizes<C>(1))>;

  template <class C>
  static constexpr long workspace(long n) {
    using Segments = kernel::cuda::WeightSegments<C>;
    if constexpr (!std::is_same_v<typename C::Result, float>) return 0;
    else if constexpr (in_tiles<C>) {
      const kernel::cuda::WeightPlan plan = Ways<C>::choice(sizes<C>(n)).first;
      return plan.slots() * plan.slot() * long(sizeof(float));
    } else return Segments::count(n) * long(sizeof(float));
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (kernel::cuda::convolve_fast<C, kernel::gives_dw>(a)) return;
    using kernel::cuda::launch_blocks;
    if constexpr (!std::is_same_v<typename C::Result, float>)
      launch_blocks<kernel::cuda::PerElement<kernel::cuda::ConvWeightElement, C>>(a);
    else if constexpr (in_tiles<C>) Ways<C>::run(a, sizes<C>(a.n));
    else {
      using Segments = kernel::cuda::WeightSegments<C>;
      launch_blocks<Segments>(a);
      kernel::cuda::launch_weight_sums(a, int(sizes<C>(a.n).n), 1, int(Segments::segments),
                                       kernel::cuda::WeightElement<C>::count);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
