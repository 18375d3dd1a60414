// Convolution and its gradient for the input: in tiles, or a thread per element with chains over channels and taps.
#pragma once
#include <tenon/backend/cpu/conv/conv2d_kernel.hpp>
#include <tenon/backend/cuda/conv/conv_plan.hpp>
#include <tenon/backend/cuda/conv/fast_conv.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Channels of a segment; of other types than float32 all are one chain.
template <class T>
constexpr long conv_chain(const Conv2dSizes& s) {
  const long all = s.input_gradient ? s.group_outputs() : s.group_inputs();
  return !std::is_same_v<T, float> ? all : s.input_gradient ? s.input_segment() : s.segment();
}

/// A sum over the channels and taps of a group: `add(sum, c, r, k)` adds the product of a channel and a tap. bfloat16
/// takes channels in pairs, of which the second comes first (cpu/conv/conv2d.hpp).
template <class T, int channels, int segment, int kh, int kw, class Add>
__device__ ProductSum<T> sum_of_taps(Add add) {
  using A = ProductSum<T>;
  constexpr int unit = steps_per_unit<T>;
  A total(0);
  for (int c0 = 0; c0 < channels; c0 += segment) {
    A sum(0);
    const int end = c0 + segment < channels ? c0 + segment : channels;
    for (int c = c0; c < end; c += unit)
#pragma unroll 5
      for (int r = 0; r < kh; ++r)
#pragma unroll
        for (int k = 0; k < kw; ++k)
#pragma unroll
          for (int u = unit - 1; u >= 0; --u) add(sum, c + u, r, k);
    total = c0 == 0 ? sum : total + sum;
  }
  return std::is_same_v<T, float> ? total + A(0) : total;
}

/// y from x and w, operands 0 and 1.
struct ConvolvedElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = ProductSum<T>;
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_y>;
    constexpr int planes = int(s.group_inputs()), outputs = int(s.group_outputs()), segment = int(conv_chain<T>(s)),
                  h = int(s.h), w_x = int(s.w), oh = int(s.oh), ow = int(s.ow);
    const long sample = i / (s.ow * s.oh * s.o);
    const int own = int(i - sample * (s.ow * s.oh * s.o)), column = own % ow * s.stride_w - s.pad_left,
              row = own / ow % oh * s.stride_h - s.pad_top, channel = own / (ow * oh);
    const T* const x = a.template operand<T>(0) + (sample * s.c + channel / outputs * planes) * s.h * s.w;
    const T* const w = a.template operand<T>(1) + long(channel) * planes * s.kh * s.kw;
    const A y = sum_of_taps<T, planes, segment, s.kh, s.kw>([&](A& sum, int c, int r, int k) {
      const int at_y = row + r * s.dilation_h, at_x = column + k * s.dilation_w;
      const bool there = c < planes, inside = there && unsigned(at_y) < unsigned(h) && unsigned(at_x) < unsigned(w_x);
      sum = fmadd(there ? widened(w[(c * s.kh + r) * s.kw + k]) : A(0),
                  inside ? widened(x[(c * h + at_y) * w_x + at_x]) : A(0), sum);
    });
    store_result<C>(a, i, channel, narrowed<T>(y));
  }
};

/// dx from w and dy, operands 0 and 1. A tap that meets one of the zeros that a stride inserts into dy is left out.
struct ConvInputElement {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    using A = ProductSum<T>;
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dx>;
    constexpr int planes = int(s.group_outputs()), inputs = int(s.group_inputs()), segment = int(conv_chain<T>(s)),
                  h = int(s.h), w_x = int(s.w), oh = int(s.oh), ow = int(s.ow);
    const long sample = i / (s.w * s.h * s.c);
    const int own = int(i - sample * (s.w * s.h * s.c)), column = own % w_x + s.pad_left,
              row = own / w_x % h + s.pad_top, channel = own / (w_x * h), group = channel / inputs;
    const T* const w =  // of o = 0
        a.template operand<T>(0) + (long(group) * planes * inputs + channel % inputs) * s.kh * s.kw;
    const T* const dy = a.template operand<T>(1) + (sample * s.o + group * planes) * s.oh * s.ow;
    const A dx = sum_of_taps<T, planes, segment, s.kh, s.kw>([&](A& sum, int o, int r, int k) {
      const int y = row - r * s.dilation_h, x = column - k * s.dilation_w;
      if (y % s.stride_h != 0 || x % s.stride_w != 0) return;
      const int at_y = y / s.stride_h, at_x = x / s.stride_w;
      const bool there = o < planes, inside = there && y >= 0 && at_y < oh && x >= 0 && at_x < ow;
      sum = fmadd(there ? widened(w[(o * inputs * s.kh + r) * s.kw + k]) : A(0),
                  inside ? widened(dy[(o * oh + at_y) * ow + at_x]) : A(0), sum);
    });
    store_result<C>(a, i, channel, narrowed<T>(dx));
  }
};

/// A convolution in tiles where that pays, else element by element.
template <ConvTensors at, class Element>
struct ConvWays : Whole {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
  template <class C>
  static constexpr ConvSides sides() {  // no variable: nvcc loses the lambda in it
    constexpr Conv2dSizes one = conv_call_sizes<C, at>;
    return ConvSides::of(one);
  }

  template <class C>
  static constexpr long workspace(long n) {
    if constexpr (in_tiles<C>()) return InTiles<C>::floats(sides<C>(), call_samples<C, at>(n)) * long(sizeof(float));
    else return 0;
  }
  template <class C>
  static void run(const Arguments& a, long, long) {
    if (convolve_fast<C, at>(a)) return;
    if constexpr (in_tiles<C>())
      InTiles<C>::template run<Taps<C>, may_be_wide(sides<C>())>(a, sides<C>(), call_samples<C, at>(a.n));
    else launch_blocks<PerElement<Element, C>>(a);
  }
  /// The epilogue in a launch of its own: the program then has no further kernels in tiles for it.
  template <class C>
  static constexpr bool runs_rarely() {
    return C::steps > 0;
  }
  template <class C>
  static void run_rarely(const Arguments& a, long begin, long end) {
    run<WithoutSteps<C>>(a, begin, end);
    launch_blocks<FinishImages<C>>(a);
  }

 private:
  template <class C>
  using InTiles = ConvInTiles<EpilogueOf<C>>;
  template <class C>
  static constexpr bool in_tiles() {
    if constexpr (!std::is_same_v<typename C::Result, float>) return false;
    else return pays_in_tiles(sides<C>()) && fits_in_tiles(sides<C>());
  }
  template <class C>
  using Taps = ConvTaps<sides<C>().side(), (sides<C>().input_gradient && sides<C>().side() > 1),
                        sides<C>().side() == 3 ? sides<C>().stride_h : 1>;
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Conv2d> : kernel::cuda::ConvWays<kernel::gives_y, kernel::cuda::ConvolvedElement> {};
template <>
struct Kernel<Cuda, ops::Conv2dBackwardInput>
    : kernel::cuda::ConvWays<kernel::gives_dx, kernel::cuda::ConvInputElement> {};

}  // namespace tenon
TENON_EXACT_END
