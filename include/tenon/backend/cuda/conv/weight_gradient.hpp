// The gradient of a convolution for its weight: chains over the pixels of a sample, then sums over samples.
#pragma once
#include <tenon/backend/cuda/conv/conv2d.hpp>

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

  const T *x, *dy;   // of sample 0: the channel's plane
  long row, column;  // of the tap, for pixel 0 of dy

  __device__ WeightElement(const Arguments& a, long i) {
    constexpr Conv2dSizes s = sizes;
    constexpr long inputs = s.group_inputs(), outputs = s.group_outputs();
    const long tap = i % (s.kh * s.kw), c = i / (s.kh * s.kw) % inputs, o = i / (s.kh * s.kw) / inputs;
    x = a.template operand<T>(0) + (o / outputs * inputs + c) * s.h * s.w;
    dy = a.template operand<T>(1) + o * s.oh * s.ow;
    row = tap / s.kw * s.dilation_h - s.pad_top, column = tap % s.kw * s.dilation_w - s.pad_left;
  }
  __device__ A image(long sample, long i, long j) const {
    constexpr Conv2dSizes s = sizes;
    const long y = i * s.stride_h + row, at = j * s.stride_w + column;
    return y >= 0 && y < s.h && at >= 0 && at < s.w ? widened(x[sample * s.c * s.h * s.w + y * s.w + at]) : A(0);
  }
  __device__ A gradient(long sample, long i, long j) const {
    constexpr Conv2dSizes s = sizes;
    return widened(dy[(sample * s.o * s.oh + i) * s.ow + j]);
  }
  /// The sum over the pixels of a sample: segments, one after the other.
  __device__ A of_sample(long sample) const {
    constexpr Conv2dSizes s = sizes;
    constexpr PixelSegments segment = pixel_segments(s.oh, s.ow);
    A total(0);
    for (long i0 = 0; i0 < s.oh; i0 += segment.rows)
      for (long j0 = 0; j0 < s.ow; j0 += segment.columns) {
        const long rows = i0 + segment.rows < s.oh ? i0 + segment.rows : s.oh,
                   columns = j0 + segment.columns < s.ow ? j0 + segment.columns : s.ow;
        A sum(0);
        for (long i = i0; i < rows; ++i)
          for (long j = j0; j < columns; ++j) sum = fmadd(image(sample, i, j), gradient(sample, i, j), sum);
        total = i0 + j0 == 0 ? sum : total + sum;
      }
    return total;
  }
};

/// float32: threads are samples of a block of 16 times elements.
template <class C>
struct ConvWeightBlocks {
  static constexpr int elements = 16, threads = elements * block_samples;
  static long blocks(long) { return blocks_for(WeightElement<C>::count, elements); }

  __device__ static void block(const Arguments& a) {
    const int element = int(threadIdx.x) % elements, own = int(threadIdx.x) / elements;
    const long i = long(blockIdx.x) * elements + element;
    constexpr TensorType images = C::operand(0);
    const long samples = images.size(0, a.n);
    const bool there = i < WeightElement<C>::count;
    const WeightElement<C> of(a, there ? i : 0);
    __shared__ float sums[block_samples][elements];
    float total = 0;
    for (long first = 0; first < samples; first += block_samples) {
      sums[own][element] = there && first + own < samples ? of.of_sample(first + own) : 0.0f;
      for (int step = 1; step < block_samples; step *= 2) {
        __syncthreads();
        if (own % (2 * step) == 0) sums[own][element] += sums[own + step][element];
      }
      if (own == 0) total = first == 0 ? sums[0][element] : total + sums[0][element];
      __syncthreads();
    }
    if (own == 0 && there) a.template result<float>()[i] = total + 0.0f;
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
      for (long y = 0; y < s.oh; ++y)
        for (long x = 0; x < s.ow; ++x)
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
  static void run(const Arguments& a, long, long) {
    if constexpr (std::is_same_v<typename C::Result, float>)
      kernel::cuda::launch_blocks<kernel::cuda::ConvWeightBlocks<C>>(a);
    else kernel::cuda::launch_blocks<kernel::cuda::PerElement<kernel::cuda::ConvWeightElement, C>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
