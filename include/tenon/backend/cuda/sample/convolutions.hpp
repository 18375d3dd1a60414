// Convolutions of one sample and their gradients, by the threads of a block: a thread has neighbours of a row, so that
// a weight or a pixel that it loads serves several of them.
#pragma once
#include <tenon/backend/cuda/conv/conv2d.hpp>
#include <tenon/backend/cuda/conv/weight_gradient.hpp>
#include <tenon/backend/cuda/sample/parts.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Neighbours of a row of `width` that a thread computes: at most 8, and pieces as even as can be.
constexpr int strip_of(long width) { return int(even_piece(width, 8)); }

/// Where the strips of a convolution's result are, [channels, height, width].
template <long channels, long height, long width, long planes, long segment>
struct Strips {
  static constexpr int length = strip_of(width), of_row = int((width + length - 1) / length),
                       segments = int((planes + segment - 1) / segment);
  static constexpr long count = channels * height * of_row;
  int first, row, channel;
  __device__ static int elements_before(int i) { return i / of_row * int(width) + i % of_row * length; }
  __device__ explicit Strips(int i)
      : first(i % of_row * length), row(i / of_row % int(height)), channel(i / of_row / int(height)) {}
  template <class C>
  __device__ void store(const Arguments& a, const StripSums<length>& total) const {
#pragma unroll
    for (int q = 0; q < length; ++q)
      if (first + q < int(width))
        store_result<C>(a, (channel * int(height) + row) * int(width) + first + q, channel, total.sum[q] + 0.0f);
  }
};

/// y: chains over channels and taps (backend/order.hpp). Taps in the padding are left out or meet zeros.
struct ConvolvedStrip {
  template <class C>
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_y>;
  template <class C>
  static constexpr bool fits = sizes<C>.dilation_w == 1;
  template <class C>
  using Of = Strips<sizes<C>.o, sizes<C>.oh, sizes<C>.ow, sizes<C>.group_inputs(), sizes<C>.segment()>;

  template <class C>
  __device__ static StripSums<Of<C>::length> of_segment(const Arguments& a, const Of<C>& strip, int segment) {
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_y>;
    constexpr int planes = int(s.group_inputs()), outputs = int(s.group_outputs()), channels = int(s.segment()),
                  h = int(s.h), w = int(s.w), length = Of<C>::length, pixels = (length - 1) * s.stride_w + s.kw;
    const float* const x = a.operand<float>(0) + strip.channel / outputs * planes * h * w;
    const float* const weight = a.operand<float>(1) + strip.channel * planes * s.kh * s.kw;
    const int from = strip.first * s.stride_w - s.pad_left,
              end = (segment + 1) * channels < planes ? (segment + 1) * channels : planes;
    StripSums<length> own;
    for (int c = segment * channels; c < end; ++c) {
#pragma unroll
      for (int r = 0; r < s.kh; ++r) {
        const int y = strip.row * s.stride_h + r * s.dilation_h - s.pad_top;
        if (unsigned(y) >= unsigned(h)) continue;
        float pixel[pixels];
#pragma unroll
        for (int p = 0; p < pixels; ++p)
          pixel[p] = unsigned(from + p) < unsigned(w) ? x[(c * h + y) * w + from + p] : 0.0f;
#pragma unroll
        for (int k = 0; k < s.kw; ++k) {
          const float tap = weight[(c * s.kh + r) * s.kw + k];
#pragma unroll
          for (int q = 0; q < length; ++q) own.sum[q] = fmadd(tap, pixel[q * s.stride_w + k], own.sum[q]);
        }
      }
    }
    return own;
  }
};
/// dx from w and dy.
struct ConvInputStrip {
  template <class C>
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_dx>;
  template <class C>
  static constexpr bool fits =
      sizes<C>.dilation_w == 1 && sizes<C>.dilation_h == 1 && sizes<C>.stride_h == 1 && sizes<C>.stride_w == 1;
  template <class C>
  using Of = Strips<sizes<C>.c, sizes<C>.h, sizes<C>.w, sizes<C>.group_outputs(), sizes<C>.input_segment()>;

  template <class C>
  __device__ static StripSums<Of<C>::length> of_segment(const Arguments& a, const Of<C>& strip, int segment) {
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dx>;
    constexpr int planes = int(s.group_outputs()), inputs = int(s.group_inputs()), channels = int(s.input_segment()),
                  oh = int(s.oh), ow = int(s.ow), length = Of<C>::length, pixels = length + s.kw - 1;
    const int group = strip.channel / inputs, from = strip.first + s.pad_left - (s.kw - 1),
              end = (segment + 1) * channels < planes ? (segment + 1) * channels : planes,
              first_kernel = group * planes * inputs + strip.channel % inputs;
    const float* const weight = a.operand<float>(0) + first_kernel * s.kh * s.kw;
    const float* const dy = a.operand<float>(1) + group * planes * oh * ow;
    StripSums<length> own;
    for (int o = segment * channels; o < end; ++o) {
#pragma unroll
      for (int r = 0; r < s.kh; ++r) {
        const int y = strip.row + s.pad_top - r;
        if (unsigned(y) >= unsigned(oh)) continue;
        float pixel[pixels];
#pragma unroll
        for (int p = 0; p < pixels; ++p)
          pixel[p] = unsigned(from + p) < unsigned(ow) ? dy[(o * oh + y) * ow + from + p] : 0.0f;
#pragma unroll
        for (int k = 0; k < s.kw; ++k) {
          const float tap = weight[(o * inputs * s.kh + r) * s.kw + k];
#pragma unroll
          for (int q = 0; q < length; ++q) own.sum[q] = fmadd(tap, pixel[q + s.kw - 1 - k], own.sum[q]);
        }
      }
    }
    return own;
  }
};

/// A convolution by strips where they are written for it, else by elements.
template <class Strip, class Element, ConvTensors at>
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
  static constexpr int shared_items = [] {
    if constexpr (Strip::template fits<C>) {
      constexpr Conv2dSizes s = conv_call_sizes<C, at>;
      if (s.o * s.oh * s.ow * s.group_inputs() * s.taps() >= least_shared_work)
        return int(Strip::template Of<C>::count);
    }
    return 0;
  }();
  template <class C>
  __device__ static int elements_before(int item) {
    return Strip::template Of<C>::elements_before(item);
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    if constexpr (Strip::template fits<C>) {
      using Of = typename Strip::template Of<C>;
      each_in_segments<Of::segments, Of::count>(
          which, [&](int i, int segment) { return Strip::template of_segment<C>(a, Of(i), segment); },
          [&](int i, const StripSums<Of::length>& total) { Of(i).template store<C>(a, total); });
    } else SampleElements<Element>::template sample<C>(a, which);
  }
};
template <>
struct SampleWork<ops::Conv2d> : SampleConvolution<ConvolvedStrip, ConvolvedElement, gives_y> {};
template <>
struct SampleWork<ops::Conv2dBackwardInput> : SampleConvolution<ConvInputStrip, ConvInputElement, gives_dx> {};

/// The gradient of a weight: a thread has a row of taps and a segment of the pixels of dy. The segments of an element
/// are lanes side by side, and are added one after the other.
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
  __device__ static void part(const Arguments& a, SampleOfBatch which, float* to) {
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dw>;
    constexpr PixelSegments pixels = pixel_segments(s.oh, s.ow);
    constexpr int segments = int(pixels.count());
    each_in_segments<segments, result_count<C>(1) / s.kw>(
        which, [&](int i, int segment) { return row_of_taps<C>(a, i, segment); },
        [&](int i, const auto& total) {
#pragma unroll
          for (int k = 0; k < s.kw; ++k) to[i * s.kw + k] = total.sum[k];
        });
  }
  template <class C>
  __device__ static float join(const float* parts, long n) {
    return sum_of_parts_of_samples<false>(parts, result_count<C>(1), n);
  }

 private:
  // Row `i` of the taps of all kernels.
  template <class C>
  __device__ static auto row_of_taps(const Arguments& a, int i, int segment) {
    constexpr Conv2dSizes s = conv_call_sizes<C, gives_dw>;
    constexpr PixelSegments pixels = pixel_segments(s.oh, s.ow);
    constexpr int inputs = int(s.group_inputs()), outputs = int(s.group_outputs()), h = int(s.h), w = int(s.w),
                  oh = int(s.oh), ow = int(s.ow), across = int(pixels.side_by_side());
    const int r = i % s.kh, c = i / s.kh % inputs, o = i / s.kh / inputs;
    const float* const x = a.operand<float>(0) + (o / outputs * inputs + c) * h * w;
    const float* const dy = a.operand<float>(1) + o * oh * ow;
    const int top = segment / across * int(pixels.rows), left = segment % across * int(pixels.columns),
              bottom = top + int(pixels.rows) < oh ? top + int(pixels.rows) : oh,
              right = left + int(pixels.columns) < ow ? left + int(pixels.columns) : ow;
    // Neighbours of a row share pixels, and what they load is on its way together.
    constexpr int piece = strip_of(pixels.columns), window = (piece - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
    constexpr bool whole = pixels.columns % piece == 0 && ow % pixels.columns == 0;
    StripSums<s.kw> own;
#pragma unroll 1
    for (int y = top; y < bottom; ++y) {
      const int from = y * s.stride_h + r * s.dilation_h - s.pad_top;
      if (unsigned(from) >= unsigned(h)) continue;
#pragma unroll 1
      for (int q = left; q < right; q += piece) {
        const int at = q * s.stride_w - s.pad_left;
        float gradient[piece], pixel[window];
#pragma unroll
        for (int j = 0; j < piece; ++j) gradient[j] = whole || q + j < right ? dy[y * ow + q + j] : 0.0f;
#pragma unroll
        for (int p = 0; p < window; ++p) pixel[p] = unsigned(at + p) < unsigned(w) ? x[from * w + at + p] : 0.0f;
#pragma unroll
        for (int j = 0; j < piece; ++j) {
          if (!whole && q + j >= right) continue;
#pragma unroll
          for (int k = 0; k < s.kw; ++k)
            own.sum[k] = fmadd(pixel[j * s.stride_w + k * s.dilation_w], gradient[j], own.sum[k]);
        }
      }
    }
    return own;
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
