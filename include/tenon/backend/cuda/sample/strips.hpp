// Convolutions of one sample, and their gradients for the input, as strips: neighbours of a row that a thread computes,
// so that a weight or a pixel that it loads serves several of them.
#pragma once
#include <tenon/backend/cuda/conv/conv2d.hpp>
#include <tenon/backend/cuda/sample/parts.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// A count rounded up to whole fours.
constexpr int whole_fours(int count) { return (count + 3) / 4 * 4; }
/// The same, but to an odd number of fours: eight lanes that read fours at this distance meet in no bank.
constexpr int odd_fours(int count) { return whole_fours(count) + (whole_fours(count) / 4 % 2 == 0 ? 4 : 0); }

/// Loads numbers by fours, from a multiple of 16 bytes on.
template <int count>
__device__ void load_fours(const float* from, float (&to)[count]) {
  static_assert(count % 4 == 0);
#pragma unroll
  for (int k = 0; k < count; k += 4) {
    const auto four = *reinterpret_cast<const Neighbours<float, 4>*>(from + k);
#pragma unroll
    for (int j = 0; j < 4; ++j) to[k + j] = four.element[j];
  }
}

/// The block brings planes to shared memory: `rows` rows of `pitch` numbers, in which `above` rows and `left` columns
/// of zeros come first, and zeros last.
template <int planes, int height, int width, int above, int rows, int left, int pitch, int plane_pitch = rows * pitch>
__device__ void stage_planes(const float* from, float* to, int thread) {
  constexpr int fours = pitch / 4;
#pragma unroll 1
  for (int i = thread; i < planes * rows * fours; i += sample_threads) {
    const int plane = i / (rows * fours), row = i / fours % rows, four = i % fours, first = four * 4 - left;
    const bool there = unsigned(row - above) < unsigned(height);
    Neighbours<float, 4> own;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      own.element[j] = there && unsigned(first + j) < unsigned(width)
                           ? from[(plane * height + row - above) * width + first + j]
                           : 0.0f;
    *reinterpret_cast<Neighbours<float, 4>*>(to + plane * plane_pitch + row * pitch + four * 4) = own;
  }
}

/// A convolution (gives_y) or the gradient for its input (gives_dx), which is one with the kernel turned around: what
/// is read is called image here, what is computed result.
template <class C, ConvTensors at>
struct StripSizes {
  static constexpr Conv2dSizes s = conv_call_sizes<C, at>;
  static constexpr bool turned = at.x < 0;
  static constexpr bool fits =
      s.dilation_w == 1 && s.pad_left < s.kw && (!turned || (s.dilation_h == 1 && s.stride_h == 1 && s.stride_w == 1));
  static constexpr int planes = int(turned ? s.o : s.c), height = int(turned ? s.oh : s.h),
                       width = int(turned ? s.ow : s.w), channels = int(turned ? s.c : s.o),
                       rows = int(turned ? s.h : s.oh), columns = int(turned ? s.w : s.ow),
                       group_planes = int(turned ? s.group_outputs() : s.group_inputs()),
                       group_channels = int(turned ? s.group_inputs() : s.group_outputs()), kh = int(s.kh),
                       kw = int(s.kw), segment = int(turned ? s.input_segment() : s.segment()),
                       segments = (group_planes + segment - 1) / segment, stride = turned ? 1 : int(s.stride_w),
                       left = turned ? int(s.kw - 1 - s.pad_left) : int(s.pad_left);
  /// The row of the image that tap row r meets; it may be outside.
  TENON_DEVICE static constexpr int row_of(int row, int r) {
    if constexpr (turned) return row + int(s.pad_top) - r;
    else return row * int(s.stride_h) + r * int(s.dilation_h) - int(s.pad_top);
  }
  static constexpr int first_row = row_of(0, turned ? kh - 1 : 0), last_row = row_of(rows - 1, turned ? 0 : kh - 1);
  static constexpr bool rows_inside = first_row >= 0 && last_row < height;
  /// Pixels of a strip. Warps are shared out to four schedulers, each of which does an instruction at a time; shared
  /// memory gives a warp a word per lane and cycle.
  static constexpr int length = [] {
    int best = 0;
    long least = 0;
    for (int length = 1; length <= 16; ++length) {
      const int of_row = (columns + length - 1) / length;
      if (length % 4 != 0 && of_row > 1) continue;  // a strip would not begin at a four
      const long items = long(channels) * rows * of_row * segments, warps = (items + warp - 1) / warp,
                 fours = whole_fours((length - 1) * stride + kw) / 4 + whole_fours(kw) / 4,
                 issued = (warps + 3) / 4 * (length * kw + fours + 3), loaded = warps * fours * 4,
                 time = issued > loaded ? issued : loaded;
      if (best == 0 || time < least) best = length, least = time;
    }
    return best;
  }();
  static constexpr int of_row = (columns + length - 1) / length, count = channels * rows * of_row;
  /// A strip that is a whole row needs no zeros beside the image: pixel 0 of its window is the first one of a row.
  static constexpr bool whole = of_row == 1;
  static constexpr int before = whole ? 0 : left, window = whole_fours(whole ? width : (length - 1) * stride + kw),
                       taps = whole_fours(kw);
  /// The pixel of the window that pixel q of a strip meets with tap k; it may be outside.
  TENON_DEVICE static constexpr int pixel_of(int q, int k) {
    return (turned ? q + kw - 1 - k : q * stride + k) + before - left;
  }
  TENON_DEVICE static constexpr bool is_there(int pixel) { return !whole || (pixel >= 0 && pixel < width); }
  // In shared memory: rows of the image with zeros around it, and kernels whose rows are whole fours.
  static constexpr int above = first_row < 0 ? -first_row : 0,
                       staged_rows = above + (last_row < height ? height : last_row + 1),
                       pitch = odd_fours((of_row - 1) * length * stride + window), inputs = int(s.group_inputs()),
                       kernel_pitch = odd_fours(kh * taps), output_pitch = odd_fours(inputs * kernel_pitch),
                       plane_pitch = staged_rows * pitch, kernels_at = planes * plane_pitch,
                       floats = kernels_at + int(s.o) * output_pitch;
};

/// Item i of them: neighbouring items are neighbouring channels, which read the same pixels.
template <class Sizes>
struct Strip {
  int channel, row, first;
  __device__ explicit Strip(int i)
      : channel(i % Sizes::channels),
        row(i / Sizes::channels / Sizes::of_row),
        first(i / Sizes::channels % Sizes::of_row * Sizes::length) {}
  /// The sum of a segment of the planes, from what `source` has: its pixels() and taps().
  template <class Source>
  __device__ StripSums<Sizes::length> of_segment(const Source& source, int segment) const {
    constexpr int group_planes = Sizes::group_planes, most = Sizes::segment, kw = Sizes::kw;
    constexpr bool inside = Source::rows_inside;
    constexpr int most_unrolled = 360;  // multiply-adds: more of them would cost more to fetch than they save
    [[maybe_unused]] constexpr int rows = inside && Sizes::kh * kw * Sizes::length <= most_unrolled ? Sizes::kh : 1;
    const int group = channel / Sizes::group_channels,
              end = (segment + 1) * most < group_planes ? (segment + 1) * most : group_planes;
    StripSums<Sizes::length> own;
#pragma unroll 1
    for (int c = segment * most; c < end; ++c) {
      const int plane = group * group_planes + c;
#pragma unroll(rows)
      for (int r = 0; r < Sizes::kh; ++r) {
        const int y = Sizes::row_of(row, r);
        if (!inside && unsigned(y) >= unsigned(Sizes::height)) continue;
        float pixel[Sizes::window], tap[Sizes::taps];
        source.pixels(plane, y, first, pixel);
        if constexpr (Sizes::turned) source.taps(plane, channel % Sizes::group_channels, r, tap);
        else source.taps(channel, c, r, tap);
#pragma unroll
        for (int k = 0; k < kw; ++k)
#pragma unroll
          for (int q = 0; q < Sizes::length; ++q) {
            const int p = Sizes::pixel_of(q, k);
            if (Sizes::is_there(p)) own.sum[q] = fmadd(tap[k], pixel[p], own.sum[q]);
          }
      }
    }
    return own;
  }
};

/// Pixels and taps where the operands are.
template <class Sizes>
struct DirectStrips {
  static constexpr bool rows_inside = Sizes::rows_inside;
  const float *image, *weight;
  __device__ void pixels(int plane, int y, int first, float (&to)[Sizes::window]) const {
#pragma unroll
    for (int p = 0; p < Sizes::window; ++p) {
      const int column = first * Sizes::stride - Sizes::before + p;
      to[p] =
          unsigned(column) < unsigned(Sizes::width) ? image[(plane * Sizes::height + y) * Sizes::width + column] : 0.0f;
    }
  }
  __device__ void taps(int output, int input, int r, float (&to)[Sizes::taps]) const {
#pragma unroll
    for (int k = 0; k < Sizes::kw; ++k)
      to[k] = weight[((output * Sizes::inputs + input) * Sizes::kh + r) * Sizes::kw + k];
  }
};
/// The same in shared memory, by fours.
template <class Sizes>
struct StagedStrips {
  static constexpr bool rows_inside = true;
  const float* staged;
  /// The block brings them there.
  __device__ StagedStrips(const float* image, const float* weight, float* to, int thread) : staged(to) {
    constexpr int rows = int(Sizes::s.o) * Sizes::inputs * Sizes::kh;
#pragma unroll 1
    for (int i = thread; i < rows; i += sample_threads) {
      const int r = i % Sizes::kh, input = i / Sizes::kh % Sizes::inputs, output = i / Sizes::kh / Sizes::inputs;
#pragma unroll
      for (int k = 0; k < Sizes::kw; ++k)
        copy_async(tap_at(to, output, input, r) + k, weight + i * Sizes::kw + k, true);
    }
    stage_planes<Sizes::planes, Sizes::height, Sizes::width, Sizes::above, Sizes::staged_rows, Sizes::before,
                 Sizes::pitch>(image, to, thread);
    wait_for_copies();
    __syncthreads();
  }
  __device__ void pixels(int plane, int y, int first, float (&to)[Sizes::window]) const {
    load_fours(staged + plane * Sizes::plane_pitch + (Sizes::above + y) * Sizes::pitch + first * Sizes::stride, to);
  }
  __device__ void taps(int output, int input, int r, float (&to)[Sizes::taps]) const {
    load_fours(tap_at(staged, output, input, r), to);
  }

 private:
  template <class T>
  __device__ static T* tap_at(T* at, int output, int input, int r) {
    return at + Sizes::kernels_at + output * Sizes::output_pitch + input * Sizes::kernel_pitch + r * Sizes::taps;
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
