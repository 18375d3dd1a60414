// Convolution and its gradient for the input in float32 as products of matrices: rows are channels of the result,
// columns its pixels, steps channels and taps. The image is no matrix in memory: elements are found by their places.
#pragma once
#include <tenon/backend/cuda/conv/conv_call.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Pixels of an image at the taps of a kernel, 0 outside: lines are pixels of the result, steps channels and taps.
struct ImageLines {
  static constexpr bool steps_are_neighbours = false;
  const float* from;          // the first channel of the first sample
  long sample;                // floats from one sample to the next
  int lines, grid_h, grid_w;  // pixels of the result, of all samples
  int pixel_h, pixel_w, first_h,
      first_w;  // in the image: from one to the next, and where the first tap of the first is
  int h, w, taps_h, taps_w, tap_h, tap_w;  // the image, taps, and from one to the next

  struct Line {
    const float* from;
    int y, x;
    bool there;
  };
  struct Step {
    int plane, y, x;
  };
  __device__ Line line(long l) const {
    const int pixel = int(l), x = pixel % grid_w, y = pixel / grid_w % grid_h, own = pixel / grid_w / grid_h;
    return {from + own * sample, y * pixel_h + first_h, x * pixel_w + first_w, pixel < lines};
  }
  __device__ Step step(long s) const {
    const int place = int(s), x = place % taps_w, y = place / taps_w % taps_h;
    return {place / taps_w / taps_h * h * w, y * tap_h, x * tap_w};
  }
  __device__ float at(const Line& l, const Step& s) const {
    const int y = l.y + s.y, x = l.x + s.x;
    return l.there && unsigned(y) < unsigned(h) && unsigned(x) < unsigned(w) ? l.from[s.plane + y * w + x] : 0.0f;
  }
};
/// Weights [o, c, taps] of the gradient for the input: lines are c, steps o and some taps.
struct WeightLines {
  static constexpr bool steps_are_neighbours = true;
  const float* from;
  int lines, taps, kernel_w;                             // c, taps of the whole kernel
  int taps_h, taps_w, first_h, first_w, next_h, next_w;  // the taps that count

  struct Line {
    const float* from;
    bool there;
  };
  using Step = int;
  __device__ Line line(long l) const { return {from + l * taps, l < lines}; }
  __device__ Step step(long s) const {
    const int place = int(s), x = place % taps_w, y = place / taps_w % taps_h, o = place / taps_w / taps_h;
    return o * lines * taps + (first_h + y * next_h) * kernel_w + first_w + x * next_w;
  }
  __device__ float at(const Line& l, Step s) const { return l.there ? l.from[s] : 0.0f; }
};

/// y from x and w, operands 0 and 1. A product is a group.
template <class C>
struct ConvProduct {
  using T = float;
  using Left = MatrixLines<float, true>;
  using Right = ImageLines;
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_y>;
  static constexpr long outputs = sizes.group_outputs(), steps = sizes.group_inputs() * sizes.taps(),
                        segment = sizes.segment() * sizes.taps(), most_steps = steps, pixels = sizes.oh * sizes.ow,
                        groups = sizes.groups;
  TENON_DEVICE static constexpr ProductExtent extent(long n) {
    return {outputs, call_samples<C, gives_y>(n) * pixels, groups};
  }

  Left left;
  Right right;
  long rows = outputs, columns, group;

  __device__ ConvProduct(const Arguments& a, long product)
      : columns(call_samples<C, gives_y>(a.n) * pixels), group(product) {
    constexpr Conv2dSizes s = sizes;
    left = {a.operand<float>(1) + group * outputs * steps, int(outputs), int(steps)};
    right = {a.operand<float>(0) + group * s.group_inputs() * s.h * s.w,
             s.c * s.h * s.w,
             int(columns),
             int(s.oh),
             int(s.ow),
             s.stride_h,
             s.stride_w,
             -s.pad_top,
             -s.pad_left,
             int(s.h),
             int(s.w),
             s.kh,
             s.kw,
             s.dilation_h,
             s.dilation_w};
  }
  __device__ static long segments() { return (steps + segment - 1) / segment; }
  __device__ static long segment_begin(long i) { return i * segment < steps ? i * segment : steps; }
  __device__ void put(const Arguments& a, long row, long column, float value) const {
    const long channel = group * outputs + row;
    store_result<C>(a, (column / pixels * groups * outputs + channel) * pixels + column % pixels, channel, value + 0);
  }
};

/// Taps along an axis that meet dy from pixels of a phase, those whose place is the phase modulo the stride.
struct PhaseTaps {
  int count, first, next, place;  // place: of the first tap in dy, for the first pixel
  TENON_DEVICE static constexpr PhaseTaps of(int phase, int kernel, int stride, int pad, int dilation) {
    PhaseTaps t{0, 0, 1, 0};
    for (int r = 0; r < kernel; ++r) {
      if ((phase + pad - r * dilation) % stride != 0) continue;
      if (t.count == 0) t.first = r, t.place = (phase + pad - r * dilation) / stride;
      else if (t.count == 1) t.next = r - t.first;
      ++t.count;
    }
    return t;
  }
};
/// dx from w and dy, operands 0 and 1. A product is a phase of a group.
template <class C>
struct ConvInputProduct {
  using T = float;
  using Left = WeightLines;
  using Right = ImageLines;
  static constexpr Conv2dSizes sizes = conv_call_sizes<C, gives_dx>;
  static constexpr int stride_h = sizes.stride_h, stride_w = sizes.stride_w;
  static constexpr long inputs = sizes.group_inputs(), planes = sizes.group_outputs(), h = sizes.h, w = sizes.w,
                        grid_h = (h + stride_h - 1) / stride_h, grid_w = (w + stride_w - 1) / stride_w,
                        groups = sizes.groups, segment = sizes.input_segment();
  static constexpr long most_steps =
      planes * input_taps(sizes.kh, stride_h, sizes.dilation_h) * input_taps(sizes.kw, stride_w, sizes.dilation_w);
  TENON_DEVICE static constexpr ProductExtent extent(long n) {
    return {inputs, call_samples<C, gives_dx>(n) * grid_h * grid_w, groups * stride_h * stride_w};
  }

  Left left;
  Right right;
  long rows = inputs, columns, group;
  int phase_h, phase_w;
  long taps;

  __device__ ConvInputProduct(const Arguments& a, long product) : group(product / (stride_h * stride_w)) {
    constexpr Conv2dSizes s = sizes;
    phase_h = int(product % (stride_h * stride_w)) / stride_w, phase_w = int(product) % stride_w;
    const PhaseTaps y = PhaseTaps::of(phase_h, s.kh, stride_h, s.pad_top, s.dilation_h),
                    x = PhaseTaps::of(phase_w, s.kw, stride_w, s.pad_left, s.dilation_w);
    const int own_h = int(h - phase_h + stride_h - 1) / stride_h, own_w = int(w - phase_w + stride_w - 1) / stride_w;
    taps = long(y.count) * x.count;
    columns = call_samples<C, gives_dx>(a.n) * own_h * own_w;
    left = {a.operand<float>(0) + group * planes * inputs * s.kh * s.kw,
            int(inputs),
            s.kh * s.kw,
            s.kw,
            y.count,
            x.count,
            y.first,
            x.first,
            y.next,
            x.next};
    right = {a.operand<float>(1) + group * planes * s.oh * s.ow,
             s.o * s.oh * s.ow,
             int(columns),
             own_h,
             own_w,
             1,
             1,
             y.place,
             x.place,
             int(s.oh),
             int(s.ow),
             y.count,
             x.count,
             -y.next * s.dilation_h / stride_h,
             -x.next * s.dilation_w / stride_w};
  }
  __device__ long segments() const { return taps > 0 ? (planes + segment - 1) / segment : 0; }
  __device__ long segment_begin(long i) const { return (i * segment < planes ? i * segment : planes) * taps; }
  __device__ void put(const Arguments& a, long row, long column, float value) const {
    const long channel = group * inputs + row, x = column % right.grid_w, y = column / right.grid_w % right.grid_h,
               sample = column / right.grid_w / right.grid_h;
    const long i = ((sample * groups * inputs + channel) * h + y * stride_h + phase_h) * w + x * stride_w + phase_w;
    store_result<C>(a, i, channel, value + 0);
  }
};

/// Whether a convolution is computed as a product: where tiles have channels enough, and chains are long.
constexpr bool pays_as_product(long channels, long steps) {
  constexpr long least_channels = 16, least_steps = 64, few_channels = 4, many_steps = 256;
  return (channels >= least_channels && steps >= least_steps) || (channels >= few_channels && steps > many_steps);
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
