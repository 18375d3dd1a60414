// Which part of an image the pixels of a tile of a convolution meet, and how it lies in shared memory.
#pragma once
#include <tenon/backend/cpu/conv/sizes.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Pixels of a result along an axis that meet the same taps of a kernel: all of y, or a phase of the gradient for the
/// input, the pixels whose place is the same modulo the stride.
struct PixelAxis {
  int count;                // pixels
  int first, next;          // in the result: the first one, and from one to the next
  int image, step;          // in the image: where the first pixel meets its first tap, and from one pixel to the next
  int taps, tap_step;       // the taps that they meet, and from one to the next in the image
  int first_tap, next_tap;  // in the kernel

  TENON_DEVICE static constexpr PixelAxis of_result(int extent, int kernel, int stride, int pad, int dilation) {
    return {extent, 0, 1, -pad, stride, kernel, dilation, 0, 1};
  }
  TENON_DEVICE static constexpr PixelAxis of_input(int extent, int kernel, int stride, int pad, int dilation,
                                                   int phase) {
    PixelAxis a{(extent - phase + stride - 1) / stride, phase, stride, 0, 1, 0, 0, 0, 1};
    for (int tap = 0; tap < kernel; ++tap) {
      const int place = phase + pad - tap * dilation;
      if (place % stride != 0) continue;
      if (a.taps == 0) a.first_tap = tap, a.image = place / stride;
      else if (a.taps == 1) a.next_tap = tap - a.first_tap, a.tap_step = place / stride - a.image;
      ++a.taps;
    }
    return a;
  }

  // In shared memory places are sorted by their remainder modulo the step. Neighbouring pixels then meet neighbours,
  // whatever the tap is.
  TENON_DEVICE constexpr int reach() const { return taps > 1 ? (taps - 1) * (tap_step < 0 ? -tap_step : tap_step) : 0; }
  TENON_DEVICE constexpr int lowest() const { return tap_step < 0 ? image - reach() : image; }
  TENON_DEVICE constexpr int remainders() const { return step < reach() + 1 ? step : reach() + 1; }
  /// Places of a remainder that `pixels` pixels meet.
  TENON_DEVICE constexpr int length(int pixels) const { return pixels + (step == 1 ? reach() : reach() / step); }
  /// Where the first pixel meets a tap, if a remainder has `pitch` places.
  TENON_DEVICE constexpr int place(int tap, int pitch) const {
    const int at = image + tap * tap_step - lowest();
    return at % step * pitch + at / step;
  }
};

/// What a convolution or its gradient for the input reads and computes, in one form.
struct ConvSides {
  int groups, planes, results;  // of a group: the channels that are read, and those that are computed
  int segment;                  // planes
  int image_h, image_w, result_h, result_w;
  int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  bool input_gradient;

  static constexpr ConvSides of(const Conv2dSizes& s) {
    const bool input = s.input_gradient;
    const long planes = input ? s.group_outputs() : s.group_inputs();
    return {s.groups,
            int(planes),
            int(s.group_results()),
            int(input ? s.input_segment() : s.segment()),
            int(input ? s.oh : s.h),
            int(input ? s.ow : s.w),
            int(input ? s.h : s.oh),
            int(input ? s.w : s.ow),
            s.kh,
            s.kw,
            s.stride_h,
            s.stride_w,
            s.pad_top,
            s.pad_left,
            s.dilation_h,
            s.dilation_w,
            input};
  }
  /// The gradient for the input of 3 x 3 with a stride of 2: a thread computes all four phases of a pixel of dy, which
  /// meet it and its neighbours to the right and below.
  TENON_DEVICE constexpr bool is_fourfold() const {
    return input_gradient && kernel_h == 3 && kernel_w == 3 && stride_h == 2 && stride_w == 2 && dilation_h == 1 &&
           dilation_w == 1 && pad_h % 2 == 1 && pad_w % 2 == 1;
  }
  /// The pixels of dy that meet them, along an axis.
  TENON_DEVICE static constexpr PixelAxis fourfold(int extent, int pad) {
    return {(extent + 1) / 2, 0, 1, (pad - 1) / 2, 1, 2, 1, 0, 1};
  }
  TENON_DEVICE constexpr int phases_h() const { return input_gradient && !is_fourfold() ? stride_h : 1; }
  TENON_DEVICE constexpr int phases_w() const { return input_gradient && !is_fourfold() ? stride_w : 1; }
  TENON_DEVICE constexpr PixelAxis rows(int phase) const {
    if (is_fourfold()) return fourfold(result_h, pad_h);
    return input_gradient ? PixelAxis::of_input(result_h, kernel_h, stride_h, pad_h, dilation_h, phase)
                          : PixelAxis::of_result(result_h, kernel_h, stride_h, pad_h, dilation_h);
  }
  TENON_DEVICE constexpr PixelAxis columns(int phase) const {
    if (is_fourfold()) return fourfold(result_w, pad_w);
    return input_gradient ? PixelAxis::of_input(result_w, kernel_w, stride_w, pad_w, dilation_w, phase)
                          : PixelAxis::of_result(result_w, kernel_w, stride_w, pad_w, dilation_w);
  }
  /// The side of kernels whose taps meet neighbours that a thread loads together: 3 x 3 at a stride of 1 or, mostly,
  /// of 2, and one tap, which phases of a gradient may lack. 0: others.
  TENON_DEVICE constexpr int side() const {
    if (kernel_h != kernel_w || stride_h != stride_w) return 0;
    const bool close = dilation_h == 1 && dilation_w == 1;
    if (kernel_h == 3) return close && (stride_h == 1 || (stride_h == 2 && !input_gradient) || is_fourfold()) ? 3 : 0;
    return kernel_h == 1 ? 1 : 0;
  }
  /// Places in shared memory before the first pixel of a row: the middle tap of 3 x 3 is at a multiple of four then.
  TENON_DEVICE constexpr int unused() const { return side() == 3 && stride_h == 1 ? 3 : 0; }
  TENON_DEVICE constexpr int segments() const { return (planes + segment - 1) / segment; }
  TENON_DEVICE constexpr int kernel_taps() const { return kernel_h * kernel_w; }
  /// Floats of the image of a sample, and of the result.
  TENON_DEVICE constexpr long image() const { return long(groups) * planes * image_h * image_w; }
  TENON_DEVICE constexpr long result() const { return long(groups) * results * result_h * result_w; }
  /// Weights from one result to the next, and from one plane to the next.
  TENON_DEVICE constexpr long result_step() const { return long(kernel_h) * kernel_w * (input_gradient ? 1 : planes); }
  TENON_DEVICE constexpr long plane_step() const { return long(kernel_h) * kernel_w * (input_gradient ? results : 1); }
};

/// Pixels of a tile: rows of neighbours, the same of some samples if they are all that a sample has. A run is four
/// neighbours in a row.
struct ImageTile {
  static constexpr int run = 4;
  int across, rows, samples;  // runs of a row, rows, samples

  TENON_DEVICE constexpr int runs() const { return across * rows * samples; }
  /// At most `most` runs of a batch of n, which may be empty.
  static constexpr ImageTile of(const ConvSides& s, long n, int most) {
    constexpr int widest = 16;
    const PixelAxis y = s.rows(0), x = s.columns(0);  // no phase has more pixels
    const int in_row = (x.count + run - 1) / run, across = int(even_piece(in_row, most < widest ? most : widest)),
              rows = int(even_piece(y.count, most / across));
    if (across < in_row || rows < y.count) return {across, rows, 1};
    const long samples = most / (across * rows);
    return {across, rows, int(samples < n ? samples : n > 0 ? n : 1)};
  }
};

/// How the part of a plane that a tile meets lies in shared memory: [sample][row][column].
struct ImagePart {
  int row_length, column_length;  // places of a remainder
  int pitch, sample, size;        // floats from one row to the next, from one sample to the next, and of all

  /// A row begins with some `unused` places. `shares`: the last place of a row is the first one of the next.
  TENON_DEVICE constexpr ImagePart(const ImageTile& tile, const PixelAxis& y, const PixelAxis& x, int unused = 0,
                                   bool shares = false)
      : row_length(y.length(tile.rows)),
        column_length((unused + x.length(ImageTile::run * tile.across) - (shares ? 1 : 0) + 3) / 4 * 4),
        pitch(x.remainders() * column_length),
        sample(y.remainders() * row_length * pitch + (shares ? 4 : 0)),
        size(0) {
    if (tile.samples > 1 && sample % 8 == 0) sample += 4;  // other banks for the next sample
    size = tile.samples * sample;
  }
  /// Of a convolution. After the pixels of a whole row comes a zero, as before the next one.
  TENON_DEVICE static constexpr ImagePart of(const ConvSides& s, const ImageTile& tile, const PixelAxis& y,
                                             const PixelAxis& x) {
    const int pixels = ImageTile::run * tile.across, unused = s.unused();
    const bool shares = unused > 0 && pixels >= x.count && x.lowest() + pixels + 1 >= s.image_w && x.lowest() < unused;
    return {tile, y, x, unused, shares};
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
