// The gradient of a convolution for its weight: chains over the pixels of a sample, then sums over samples. In float32
// sums of 1 to 16 samples go to the workspace, and a second kernel adds them up.
#pragma once
#include <bit>

#include <tenon/backend/cpu/conv/conv2d_kernel.hpp>
#include <tenon/backend/cuda/conv/conv_call.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

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

/// The weight's gradient in float32 as products: rows are output channels, columns input channels and taps, steps the
/// pixels of some samples.
template <class C>
struct WeightProduct {
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_dw>;
  static constexpr long outputs = sizes.group_outputs(), inputs = sizes.group_inputs(), groups = sizes.groups,
                        columns = inputs * sizes.taps(), pixels = sizes.oh * sizes.ow;
  using T = float;
  using Tile = std::conditional_t<(outputs > 32), MediumTile, SmallTile<1>>;

  /// Samples whose sums a block adds up: as many as leave blocks enough, at most 16.
  TENON_DEVICE static constexpr long samples_together(long n) {
    const long tiles =
        groups * ((outputs + Tile::rows - 1) / Tile::rows) * ((columns + Tile::columns - 1) / Tile::columns);
    long together = block_samples;
    while (together > 1 && tiles * ((n + together - 1) / together) < multiprocessors) together /= 2;
    return together;
  }
  TENON_DEVICE static constexpr ProductExtent extent(long batch) {
    const long n = call_samples<C, gives_dw>(batch), together = samples_together(n);
    return {outputs, columns, groups * ((n + together - 1) / together)};
  }

  /// Channels of dy; a step is a pixel of a sample.
  struct Left {
    static constexpr bool steps_are_neighbours = true;
    const float* from;
    struct Line {
      const float* from;
      bool there;
    };
    using Step = long;
    __device__ Line line(long l) const { return {from + l * pixels, l < outputs}; }
    __device__ Step step(long s) const {
      const int sample = int(s) / int(pixels);
      return sample * (groups * outputs * pixels) + (int(s) - sample * int(pixels));
    }
    __device__ float at(const Line& l, Step s) const { return l.there ? l.from[s] : 0.0f; }
  };
  /// The image at the taps.
  struct Right {
    static constexpr bool steps_are_neighbours = true;
    const float* from;
    struct Line {
      int plane, y, x;
      bool there;
    };
    struct Step {
      const float* from;
      int y, x;
    };
    __device__ Line line(long l) const {
      constexpr Conv2dSizes s = sizes;
      const int place = int(l), k = place % s.kw, r = place / s.kw % s.kh;
      return {place / s.kw / s.kh * int(s.h * s.w), r * s.dilation_h, k * s.dilation_w, l < columns};
    }
    __device__ Step step(long all) const {
      constexpr Conv2dSizes s = sizes;
      const int sample = int(all) / int(pixels), pixel = int(all) - sample * int(pixels), j = pixel % int(s.ow),
                i = pixel / int(s.ow);
      return {from + sample * (s.c * s.h * s.w), i * s.stride_h - s.pad_top, j * s.stride_w - s.pad_left};
    }
    __device__ float at(const Line& l, const Step& step) const {
      constexpr Conv2dSizes s = sizes;
      constexpr int h = int(s.h), w = int(s.w);
      const int y = step.y + l.y, x = step.x + l.x;
      const bool inside = l.there && unsigned(y) < unsigned(h) && unsigned(x) < unsigned(w);
      return inside ? step.from[l.plane + y * w + x] : 0.0f;
    }
  };

  Left left;
  Right right;
  long rows = outputs, group, part, samples, existing;

  __device__ WeightProduct(const Arguments& a, long product) : group(product % groups), part(product / groups) {
    constexpr Conv2dSizes s = sizes;
    const long n = call_samples<C, gives_dw>(a.n);
    samples = samples_together(n);
    const long first = part * samples;
    existing = n - first < samples ? n - first : samples;
    left = {a.operand<float>(1) + (first * s.o + group * outputs) * pixels};
    right = {a.operand<float>(0) + (first * s.c + group * inputs) * s.h * s.w};
  }
  static constexpr int segments_of_sample = int(pixel_segments(sizes.oh, sizes.ow).count());
  __device__ static int of_sample() { return segments_of_sample; }
  __device__ long segments() const { return existing * of_sample(); }
  __device__ long segment_begin(long i) const {
    constexpr Conv2dSizes s = sizes;
    constexpr PixelSegments of = pixel_segments(s.oh, s.ow);
    constexpr long across = of.side_by_side(), count = of.count();
    const long own = i % count;
    return i / count * pixels + own / across * of.rows * s.ow + own % across * of.columns;
  }
  __device__ void put(const Arguments& a, long row, long column, float value) const {
    reinterpret_cast<float*>(a.workspace)[((part * groups + group) * outputs + row) * columns + column] = value;
  }
};
/// Chains of segments, a thread each: [sample][segment][element].
template <class C>
struct WeightSegments {
  using W = WeightElement<C>;
  static constexpr int threads = 128;
  static constexpr long segments = pixel_segments(W::sizes.oh, W::sizes.ow).count();
  static long count(long n) { return call_samples<C, gives_dw>(n) * segments * W::count; }
  static long blocks(long n) { return blocks_for(count(n), threads); }
  __device__ static void block(const Arguments& a) {
    const long i = thread_of_grid(), samples = call_samples<C, gives_dw>(a.n);
    if (i >= samples * segments * W::count) return;
    const long segment = i / W::count % segments, sample = i / W::count / segments;
    reinterpret_cast<float*>(a.workspace)[i] = W(a, i % W::count).of_segment(sample, segment);
  }
};

/// How float32 is computed: as products where tiles have channels enough.
template <class C>
struct WeightWay {
  using P = WeightProduct<C>;
  static constexpr bool as_product = P::outputs >= 16 && P::columns >= 32;
  static constexpr long count = WeightElement<C>::count, segments = as_product ? 1 : WeightSegments<C>::segments;
  TENON_DEVICE static constexpr long samples_together(long n) { return as_product ? P::samples_together(n) : 1; }
};
/// From the sums of segments and of some samples to those of all: the 16 of a block as a tree, then the blocks.
template <class C>
struct WeightSums {
  using W = WeightWay<C>;
  static constexpr int threads = 128;
  static long blocks(long) { return blocks_for(W::count, threads); }
  __device__ static void block(const Arguments& a) {
    const long i = thread_of_grid();
    if (i >= W::count) return;
    const long n = call_samples<C, gives_dw>(a.n), together = W::samples_together(n),
               all = (n + together - 1) / together;
    const int of_block = block_samples / int(together);
    const float* const sums = reinterpret_cast<const float*>(a.workspace) + i;
    float total = 0;
    for (long first = 0; first < all; first += of_block) {
      float sample[block_samples];
#pragma unroll
      for (int k = 0; k < block_samples; ++k) {
        sample[k] = 0;
        if (k >= of_block || first + k >= all) continue;
        const float* const own = sums + (first + k) * W::segments * W::count;
        sample[k] = own[0];
        for (long segment = 1; segment < W::segments; ++segment) sample[k] = sample[k] + own[segment * W::count];
      }
#pragma unroll
      for (int step = 1; step < block_samples; step *= 2)
#pragma unroll
        for (int k = 0; k < block_samples; k += 2 * step) sample[k] = sample[k] + sample[k + step];
      total = first == 0 ? sample[0] : total + sample[0];
    }
    a.result<float>()[i] = total + 0.0f;
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
  static constexpr long workspace(long n) {
    if constexpr (!std::is_same_v<typename C::Result, float>) return 0;
    else {
      using W = kernel::cuda::WeightWay<C>;
      const long samples = kernel::cuda::call_samples<C, kernel::gives_dw>(n), together = W::samples_together(samples);
      return (samples + together - 1) / together * W::segments * W::count * long(sizeof(float));
    }
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    if constexpr (!std::is_same_v<typename C::Result, float>)
      kernel::cuda::launch_blocks<kernel::cuda::PerElement<kernel::cuda::ConvWeightElement, C>>(a);
    else {
      using W = kernel::cuda::WeightWay<C>;
      const long samples = kernel::cuda::call_samples<C, kernel::gives_dw>(a.n);
      if constexpr (W::as_product)
        kernel::cuda::ProductBlocks<typename W::P, typename W::P::Tile>::launch(
            a, std::bit_width(unsigned(W::samples_together(samples))) - 1);
      else kernel::cuda::launch_blocks<kernel::cuda::WeightSegments<C>>(a);
      kernel::cuda::launch_blocks<kernel::cuda::WeightSums<C>>(a);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
