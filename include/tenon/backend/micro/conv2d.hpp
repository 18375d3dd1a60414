// Convolutions and their gradients for one sample after the other: one function each for all shapes of a program, with
// the chains of backend/order.hpp.
#pragma once
#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/micro/sums.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Conv2d;
struct Conv2dBackwardInput;
struct Conv2dBackwardWeight;
}  // namespace ops

namespace kernel::micro {

/// Neighbouring results that share each weight while it is in a register.
inline constexpr int tile = 8;

/// Adds to `sum` the products of channels first .. last - 1 and all taps for `tile` pixels of row i of y, the first one
/// in column j. Taps in the padding are left out.
template <bool inside>
inline void add_taps(const Conv2dSizes& s, const float* x, const float* weight, long first, long last, long i, long j,
                     long columns, float* sum) {
  for (long c = first; c < last; ++c)
    for (long r = 0; r < s.kh; ++r) {
      const long row = i * s.stride_h - s.pad_top + r * s.dilation_h;
      if (row < 0 || row >= s.h) continue;
      const float* const from = x + (c * s.h + row) * s.w;
      const float* const w = weight + (c * s.kh + r) * s.kw;
      for (long k = 0; k < s.kw; ++k) {
        const long column = j * s.stride_w - s.pad_left + k * s.dilation_w;
        const float own = w[k];
        if constexpr (inside) {
#pragma GCC unroll 8
          for (int p = 0; p < tile; ++p) sum[p] = fmadd(own, from[column + p * s.stride_w], sum[p]);
        } else {
          for (long p = 0; p < columns; ++p)
            if (const long at = column + p * s.stride_w; at >= 0 && at < s.w) sum[p] = fmadd(own, from[at], sum[p]);
        }
      }
    }
}

/// `tile` pixels of a row of y, or `columns` of them, all segments: total + 0.
template <bool inside>
[[gnu::noinline]] void convolve_tile(const Conv2dSizes& s, const float* x, const float* weight, long i, long j,
                                     long columns, float* y) {
  const long segment = s.segment();
  float total[tile];
  for (long first = 0; first < s.group_inputs(); first += segment) {
    const long end = first + segment, last = end < s.group_inputs() ? end : s.group_inputs();
    float sum[tile]{};
    add_taps<inside>(s, x, weight, first, last, i, j, columns, sum);
#pragma GCC unroll 8
    for (int p = 0; p < tile; ++p) total[p] = first == 0 ? sum[p] : total[p] + sum[p];
  }
  for (long p = 0; p < columns; ++p) y[p] = total[p] + 0.0f;
}

/// y from x and the weight.
[[gnu::noinline]] inline void convolve(const Conv2dSizes& s, const Arguments& a, Finish finish) {
  const long plane = s.oh * s.ow, reach = (s.kw - 1L) * s.dilation_w;
  for (long n = 0; n < s.n; ++n)
    for (long o = 0; o < s.o; ++o) {
      const long group = o / s.group_outputs();
      const float* const x = a.operand<float>(0) + (n * s.c + group * s.group_inputs()) * s.h * s.w;
      const float* const weight = a.operand<float>(1) + o * s.group_inputs() * s.taps();
      float* const y = a.result<float>() + (n * s.o + o) * plane;
      for (long i = 0; i < s.oh; ++i)
        for (long j = 0; j < s.ow; j += tile) {
          const long left = j * s.stride_w - s.pad_left, right = left + (tile - 1L) * s.stride_w + reach;
          if (left >= 0 && right < s.w && j + tile <= s.ow)
            convolve_tile<true>(s, x, weight, i, j, tile, y + i * s.ow + j);
          else convolve_tile<false>(s, x, weight, i, j, s.ow - j < tile ? s.ow - j : tile, y + i * s.ow + j);
        }
      if (finish) finish(a, (n * s.o + o) * plane, plane, o);
    }
}

/// Adds to the sums of a plane of dx the products of one channel of dy, the last pixel first, so that each element of
/// dx meets the taps of the kernel in their order. What max pooling and ReLU leave of a gradient is mostly 0, and adds
/// nothing.
inline void scatter_plane(const Conv2dSizes& s, const float* dy, const float* weight, float* sum) {
  for (long i = s.oh; i-- > 0;)
    for (long j = s.ow; j-- > 0;) {
      const float d = dy[i * s.ow + j];
      if (d == 0) continue;
      const long top = i * s.stride_h - s.pad_top, left = j * s.stride_w - s.pad_left;
      for (long r = 0; r < s.kh; ++r) {
        const long row = top + r * s.dilation_h;
        if (row < 0 || row >= s.h) continue;
        for (long k = 0; k < s.kw; ++k)
          if (const long column = left + k * s.dilation_w; column >= 0 && column < s.w)
            sum[row * s.w + column] = fmadd(weight[r * s.kw + k], d, sum[row * s.w + column]);
      }
    }
}

/// dx from the weight and dy. The workspace has a plane of dx.
[[gnu::noinline]] inline void convolve_input(const Conv2dSizes& s, const Arguments& a, Finish finish) {
  const long plane = s.h * s.w, segment = s.input_segment(), outputs = s.group_outputs();
  float* const sum = reinterpret_cast<float*>(a.workspace);
  for (long n = 0; n < s.n; ++n)
    for (long c = 0; c < s.c; ++c) {
      const long group = c / s.group_inputs();
      const float* const weight =
          a.operand<float>(0) + (group * outputs * s.group_inputs() + c % s.group_inputs()) * s.taps();
      const float* const dy = a.operand<float>(1) + (n * s.o + group * outputs) * s.oh * s.ow;
      float* const dx = a.result<float>() + (n * s.c + c) * plane;
      for (long first = 0; first < outputs; first += segment) {
        const long end = first + segment, last = end < outputs ? end : outputs;
        for (long i = 0; i < plane; ++i) sum[i] = 0;
        for (long o = first; o < last; ++o)
          scatter_plane(s, dy + o * s.oh * s.ow, weight + o * s.group_inputs() * s.taps(), sum);
        for (long i = 0; i < plane; ++i) dx[i] = first == 0 ? sum[i] : dx[i] + sum[i];
      }
      for (long i = 0; i < plane; ++i) dx[i] = dx[i] + 0.0f;
      if (finish) finish(a, (n * s.c + c) * plane, plane, c);
    }
}

/// The share of one sample in the gradients of `tile` taps in a row of the kernel, from column k0 on, `columns` of
/// them.
inline void weight_sums(const Conv2dSizes& s, const float* x, const float* dy, long r, long k0, long columns,
                        float* total) {
  const PixelSegments all = pixel_segments(s.oh, s.ow);
  bool begun = false;
  for (long top = 0; top < s.oh; top += all.rows)
    for (long left = 0; left < s.ow; left += all.columns) {
      float sum[tile]{};
      for (long i = top; i < s.oh && i < top + all.rows; ++i) {
        const long row = i * s.stride_h - s.pad_top + r * s.dilation_h;
        if (row < 0 || row >= s.h) continue;
        for (long j = left; j < s.ow && j < left + all.columns; ++j) {
          const float d = dy[i * s.ow + j];
          if (d == 0) continue;
          const long from = j * s.stride_w - s.pad_left + k0 * s.dilation_w;
          const float* const own = x + row * s.w;
          for (long k = 0; k < columns; ++k)
            if (const long at = from + k * s.dilation_w; at >= 0 && at < s.w) sum[k] = fmadd(own[at], d, sum[k]);
        }
      }
      for (long k = 0; k < columns; ++k) total[k] = begun ? total[k] + sum[k] : sum[k];
      begun = true;
    }
}

/// The gradient for the weight, from x and dy. Samples of a batch of fixed extent are added up as everywhere.
[[gnu::noinline]] inline void convolve_weight(const Conv2dSizes& s, const Arguments& a) {
  for (long o = 0; o < s.o; ++o)
    for (long c = 0; c < s.group_inputs(); ++c)
      for (long r = 0; r < s.kh; ++r)
        for (long k = 0; k < s.kw; k += tile) {
          const long columns = s.kw - k < tile ? s.kw - k : tile, input = o / s.group_outputs() * s.group_inputs() + c;
          float total[tile]{};
          weight_sums(s, a.operand<float>(0) + input * s.h * s.w, a.operand<float>(1) + o * s.oh * s.ow, r, k, columns,
                      total);
          for (long i = 0; i < columns; ++i)
            a.result<float>()[((o * s.group_inputs() + c) * s.kh + r) * s.kw + k + i] = total[i] + 0.0f;
        }
}

/// Where the tensors of a convolution are among the operands; -1: it is the result.
struct MicroConvTensors {
  int x, weight, y;
};
template <MicroConvTensors at>
struct ConvCall {
  static constexpr bool linear_work = true;
  static constexpr KernelFacts facts{.epilogue = at.weight >= 0, .channel_axis = at.weight >= 0 ? 1 : -1};
  template <class Call>
  static constexpr TensorType type_of(int which) {
    return which < 0 ? Call::result : Call::operand(which);
  }
  template <class Call>
  static constexpr Conv2dSizes sizes =
      conv_sizes(type_of<Call>(at.x), type_of<Call>(at.weight), type_of<Call>(at.y), Call::config());
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return at.x < 0 ? sizes<Call>.h * sizes<Call>.w * long(sizeof(float)) : 0;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    check_float<Call>();
    if constexpr (at.y < 0) convolve(sizes<Call>, a, finish_of<Call, false>());
    else if constexpr (at.x < 0) convolve_input(sizes<Call>, a, finish_of<Call, false>());
    else {
      static_assert(sizes<Call>.n == 1, "a network on a microcontroller trains with one sample at a time");
      convolve_weight(sizes<Call>, a);
    }
  }
};

}  // namespace kernel::micro

template <>
struct Kernel<Cpu, ops::Conv2d> : kernel::micro::ConvCall<kernel::micro::MicroConvTensors{0, 1, -1}> {};
template <>
struct Kernel<Cpu, ops::Conv2dBackwardInput> : kernel::micro::ConvCall<kernel::micro::MicroConvTensors{-1, 0, 1}> {};
template <>
struct Kernel<Cpu, ops::Conv2dBackwardWeight> : kernel::micro::ConvCall<kernel::micro::MicroConvTensors{0, -1, 1}> {};

}  // namespace tenon
TENON_EXACT_END
