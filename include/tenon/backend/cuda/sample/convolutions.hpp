// Convolutions of one sample and their gradients, by the threads of a block.
#pragma once
#include <tenon/backend/cuda/conv/weight_gradient.hpp>
#include <tenon/backend/cuda/sample/strips.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How many bytes the floats have; 0 if a step may not use so much shared memory.
constexpr int bytes_to_stage(long floats) {
  return floats * long(sizeof(float)) <= most_staged_bytes ? int(floats * long(sizeof(float))) : 0;
}

/// A convolution by strips where they are written for it, else by elements.
template <class Element, ConvTensors at>
struct SampleConvolution : SampleElements<Element> {
  template <class C>
  static constexpr SampleRole role() {
    constexpr Conv2dSizes s = conv_call_sizes<C, at>;
    const long work = s.o * s.oh * s.ow * s.group_inputs() * s.taps();
    const bool fits = std::is_same_v<typename C::Result, float> && work <= most_sample_work &&
                      call_samples<C, at>(1) == 1 && C::operand(at.weight).bytes(1) <= most_sample_weight;
    return fits ? SampleElements<Element>::template role<C>() : SampleRole::none;
  }
  template <class C>
  static constexpr bool is_shared = [] {
    constexpr Conv2dSizes s = conv_call_sizes<C, at>;
    return StripSizes<C, at>::fits && s.o * s.oh * s.ow * s.group_inputs() * s.taps() >= least_shared_work;
  }();
  template <class C>
  static constexpr int threads = [] {
    using Sizes = StripSizes<C, at>;
    if constexpr (Sizes::fits) return SegmentLanes<Sizes::segments>::width * Sizes::count;
    else return sample_threads;
  }();
  template <class C>
  static constexpr int staged_bytes = [] {
    if constexpr (StripSizes<C, at>::fits) return bytes_to_stage(StripSizes<C, at>::floats);
    return 0;
  }();
  template <class C>
  static constexpr bool has_barrier = true;
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which, std::byte* staged) {
    using Sizes = StripSizes<C, at>;
    const StagedStrips<Sizes> source(image(a), weight(a), reinterpret_cast<float*>(staged), which.thread);
    strips<C>(a, which, source);
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    using Sizes = StripSizes<C, at>;
    if constexpr (Sizes::fits) strips<C>(a, which, DirectStrips<Sizes>{image(a), weight(a)});
    else SampleElements<Element>::template sample<C>(a, which);
  }

 private:
  __device__ static const float* image(const Arguments& a) { return a.operand<float>(at.x < 0 ? at.y : at.x); }
  __device__ static const float* weight(const Arguments& a) { return a.operand<float>(at.weight); }
  template <class C, class Source>
  __device__ static void strips(const Arguments& a, SampleOfBatch which, const Source& source) {
    using Sizes = StripSizes<C, at>;
    each_in_segments<Sizes::segments, Sizes::count>(
        which, [&](int i, int segment) { return Strip<Sizes>(i).of_segment(source, segment); },
        [&](int i, const StripSums<Sizes::length>& total) {
          const Strip<Sizes> own(i);
          put_results<C, Sizes::length>(a, which, (own.channel * Sizes::rows + own.row) * Sizes::columns + own.first,
                                        Sizes::columns - own.first, own.channel,
                                        [&](int q) { return total.sum[q] + 0.0f; });
        });
  }
};
template <>
struct SampleWork<ops::Conv2d> : SampleConvolution<ConvolvedElement, gives_y> {};
template <>
struct SampleWork<ops::Conv2dBackwardInput> : SampleConvolution<ConvInputElement, gives_dx> {};

/// The gradient of a weight: a thread has a row of taps and a segment of the pixels of dy.
template <class C>
struct WeightRows {
  static constexpr Conv2dSizes s = conv_call_sizes<C, gives_dw>;
  static constexpr PixelSegments pixels = pixel_segments(s.oh, s.ow);
  static constexpr int segments = int(pixels.count()), across = int(pixels.side_by_side()), rows = int(pixels.rows),
                       planes = int(s.c), height = int(s.h), width = int(s.w), outputs = int(s.o), oh = int(s.oh),
                       ow = int(s.ow), kh = int(s.kh), kw = int(s.kw), stride = int(s.stride_w),
                       dilation = int(s.dilation_w), left = int(s.pad_left),
                       count = outputs * int(s.group_inputs()) * kh;
  static constexpr bool rows_inside = s.pad_top == 0 && (s.oh - 1) * s.stride_h + (s.kh - 1) * s.dilation_h < s.h;
  // In shared memory: the image with zeros on both sides, and dy, both in whole fours.
  static constexpr int window = whole_fours(3 * stride + (kw - 1) * dilation + 1),
                       pitch = odd_fours((whole_fours(ow) - 4) * stride + window), dy_pitch = whole_fours(ow),
                       dy_plane = odd_fours(oh * dy_pitch), dy_at = planes * height * pitch,
                       floats = dy_at + outputs * dy_plane;
  static constexpr bool can_be_staged = across == 1;
};
/// Item i of them: neighbouring items are neighbouring output channels, which read the same pixels.
template <class C>
struct RowOfTaps {
  using W = WeightRows<C>;
  int output, input, r;
  __device__ explicit RowOfTaps(int i)
      : output(i % W::outputs), input(i / W::outputs / W::kh), r(i / W::outputs % W::kh) {}
  __device__ int first() const { return ((output * int(W::s.group_inputs()) + input) * W::kh + r) * W::kw; }
  template <class Source>
  __device__ StripSums<W::kw> of_segment(const Source& source, int segment) const {
    constexpr int oh = W::oh, ow = W::ow, columns = int(W::pixels.columns);
    const int plane = output / int(W::s.group_outputs()) * int(W::s.group_inputs()) + input,
              top = segment / W::across * W::rows, begin = segment % W::across * columns,
              bottom = top + W::rows < oh ? top + W::rows : oh, end = begin + columns < ow ? begin + columns : ow;
    StripSums<W::kw> own;
#pragma unroll 1
    for (int y = top; y < bottom; ++y) {
      const int from = y * int(W::s.stride_h) + r * int(W::s.dilation_h) - int(W::s.pad_top);
      if (!W::rows_inside && unsigned(from) >= unsigned(W::height)) continue;
#pragma unroll(W::across == 1 && ow <= 32 ? 8 : 1)
      for (int first = begin; first < end; first += 4) {
        float pixel[W::window], gradient[4];
        source.pixels(plane, from, first, pixel);
        source.gradients(output, y, first, end, gradient);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (first + j >= end) continue;
#pragma unroll
          for (int k = 0; k < W::kw; ++k)
            own.sum[k] = fmadd(pixel[j * W::stride + k * W::dilation], gradient[j], own.sum[k]);
        }
      }
    }
    return own;
  }
};
template <class C>
struct DirectRows {
  using W = WeightRows<C>;
  const float *image, *dy;
  __device__ void pixels(int plane, int y, int first, float (&to)[W::window]) const {
#pragma unroll
    for (int p = 0; p < W::window; ++p) {
      const int column = first * W::stride - W::left + p;
      to[p] = unsigned(column) < unsigned(W::width) ? image[(plane * W::height + y) * W::width + column] : 0.0f;
    }
  }
  __device__ void gradients(int output, int y, int first, int end, float (&to)[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) to[j] = first + j < end ? dy[(output * W::oh + y) * W::ow + first + j] : 0.0f;
  }
};
template <class C>
struct StagedRowsOfPixels {
  using W = WeightRows<C>;
  const float* staged;
  /// The block brings them there.
  __device__ StagedRowsOfPixels(const float* image, const float* dy, float* to, int thread) : staged(to) {
    stage_planes<W::planes, W::height, W::width, 0, W::height, W::left, W::pitch>(image, to, thread);
    stage_planes<W::outputs, W::oh, W::ow, 0, W::oh, 0, W::dy_pitch, W::dy_plane>(dy, to + W::dy_at, thread);
    __syncthreads();
  }
  __device__ void pixels(int plane, int y, int first, float (&to)[W::window]) const {
    load_fours(staged + (plane * W::height + y) * W::pitch + first * W::stride, to);
  }
  __device__ void gradients(int output, int y, int first, int, float (&to)[4]) const {
    load_fours(staged + W::dy_at + output * W::dy_plane + y * W::dy_pitch + first, to);
  }
};
template <>
struct SampleWork<ops::Conv2dBackwardWeight> {
  template <class C>
  static constexpr SampleRole role() {
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dw>;
    const long work = s.oh * s.ow * C::result.count(1);
    const bool fits = std::is_same_v<typename C::Result, float> && C::steps == 0 && C::operand(0).batched() &&
                      C::operand(1).batched() && call_samples<C, gives_dw>(1) == 1 && work <= most_sample_work;
    return fits ? SampleRole::part : SampleRole::none;
  }
  template <class C>
  static constexpr int threads = SegmentLanes<WeightRows<C>::segments>::width * WeightRows<C>::count;
  template <class C>
  static constexpr int staged_bytes = WeightRows<C>::can_be_staged ? bytes_to_stage(WeightRows<C>::floats) : 0;
  template <class C>
  static constexpr bool has_barrier = true;
  template <class C>
  __device__ static void part(const Arguments& a, SampleOfBatch which, float* to, std::byte* staged) {
    rows<C>(which, to,
            StagedRowsOfPixels<C>(a.operand<float>(0), a.operand<float>(1), reinterpret_cast<float*>(staged),
                                  which.thread));
  }
  template <class C>
  __device__ static void part(const Arguments& a, SampleOfBatch which, float* to) {
    rows<C>(which, to, DirectRows<C>{a.operand<float>(0), a.operand<float>(1)});
  }
  template <class C>
  __device__ static float join(const float* parts, long n) {
    return sum_of_parts_of_samples<false>(parts, result_count<C>(1), n);
  }

 private:
  template <class C, class Source>
  __device__ static void rows(SampleOfBatch which, float* to, const Source& source) {
    using W = WeightRows<C>;
    each_in_segments<W::segments, W::count>(
        which, [&](int i, int segment) { return RowOfTaps<C>(i).of_segment(source, segment); },
        [&](int i, const StripSums<W::kw>& total) {
          const int first = RowOfTaps<C>(i).first();
#pragma unroll
          for (int k = 0; k < W::kw; ++k) to[first + k] = total.sum[k];
        });
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
