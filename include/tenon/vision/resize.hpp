// Resizes images.
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include <tenon/core/simd/simd.hpp>
#include <tenon/vision/axis_weights.hpp>
#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Part of an image that need not begin or end with a pixel.
struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};
/// The same of whole pixels.
constexpr Box box_of(const Rect& r) { return {double(r.top), double(r.left), double(r.height), double(r.width)}; }

/// The size of an image whose shorter side is brought to `shorter`, with the same ratio of its sides; the longer one is
/// rounded down. Throws ValueError for an image without pixels, and if the result has more than most_pixels: a thin
/// image becomes many times as large. Source: MindSpore's and torchvision's Resize with one number.
constexpr ImageSize size_of_shorter_side(int height, int width, int shorter) {
  if (height < 1 || width < 1)
    throw_error<ValueError>("Resize to a shorter side of ", shorter, ": the image of ", height, " x ", width,
                            " pixels is empty.");
  const bool wide = height <= width;
  const std::int64_t longer = std::int64_t(shorter) * (wide ? width : height) / (wide ? height : width);
  if (longer > most_pixels / shorter)
    throw_error<ValueError>("Resize to a shorter side of ", shorter, ": the image of ", height, " x ", width,
                            " pixels would become one of more than ", most_pixels,
                            " pixels. Crop it first, or name height and width.");
  return wide ? ImageSize{shorter, int(longer)} : ImageSize{int(longer), shorter};
}

struct ResizeOptions {
  Inter inter = Inter::linear;
  /// Linear and cubic: filter before an image becomes smaller, as PIL and torchvision do. Without, as MindSpore and
  /// OpenCV, the nearest 2 or 4 pixels count and the others are left out.
  bool antialias = false;
  /// What becomes the result: all by default. The result is that of cropping to the pixels it touches, then resizing.
  Box box{};
};

namespace detail {

/// this many elements at a time: a loop of a known length has vectors at -O2, too
inline constexpr int resize_block = 32;
inline constexpr int resize_rows = 4;

TENON_EXACT_BEGIN
/// out[i] = or += the sum over t < Taps of weight[t] rows[t][i], for a block.
template <int Taps, bool Add, class T>
[[gnu::always_inline]] inline void sum_block(const T* const* rows, const float* weight, float* __restrict out) {
  const T* __restrict a = rows[0];
  const T* __restrict b = rows[Taps > 1 ? 1 : 0];
  const T* __restrict c = rows[Taps > 2 ? 2 : 0];
  const T* __restrict d = rows[Taps > 3 ? 3 : 0];
  const float wa = weight[0], wb = weight[Taps > 1 ? 1 : 0], wc = weight[Taps > 2 ? 2 : 0],
              wd = weight[Taps > 3 ? 3 : 0];
  for (int i = 0; i < resize_block; ++i) {
    float sum = Add ? out[i] : 0.0f;
    sum = fmadd(wa, float(a[i]), sum);
    if constexpr (Taps > 1) sum = fmadd(wb, float(b[i]), sum);
    if constexpr (Taps > 2) sum = fmadd(wc, float(c[i]), sum);
    if constexpr (Taps > 3) sum = fmadd(wd, float(d[i]), sum);
    out[i] = sum;
  }
}
template <int Taps, bool Add, class T>
void sum_rows(const T* const* rows, const float* weight, float* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + resize_block <= count; i += resize_block) {
    const T* block[4];
    for (int t = 0; t < Taps; ++t) block[t] = rows[t] + i;
    sum_block<Taps, Add>(block, weight, out + i);
  }
  for (; i < count; ++i) {
    float sum = Add ? out[i] : 0.0f;
    for (int t = 0; t < Taps; ++t) sum = fmadd(weight[t], float(rows[t][i]), sum);
    out[i] = sum;
  }
}
/// out[i] = the sum over t of weight[t] from[t * step + i].
template <class T>
void weighted_rows(const T* from, std::size_t step, const float* weight, int taps, float* out, std::size_t count) {
  bool add = false;
  for (int t = 0; t < taps;) {
    const int left = taps - t, group = left >= 4 ? 4 : left;
    const T* rows[4];
    for (int k = 0; k < group; ++k) rows[k] = from + std::size_t(t + k) * step;
    const float* w = weight + t;
    switch (group + (add ? 4 : 0)) {
      case 1: sum_rows<1, false>(rows, w, out, count); break;
      case 2: sum_rows<2, false>(rows, w, out, count); break;
      case 3: sum_rows<3, false>(rows, w, out, count); break;
      case 4: sum_rows<4, false>(rows, w, out, count); break;
      case 5: sum_rows<1, true>(rows, w, out, count); break;
      case 6: sum_rows<2, true>(rows, w, out, count); break;
      case 7: sum_rows<3, true>(rows, w, out, count); break;
      default: sum_rows<4, true>(rows, w, out, count); break;
    }
    add = true;
    t += group;
  }
}

/// Along resize_rows rows of floats at a time: each weight is read once for all. A vector holds the channels of a
/// pixel: it reads and writes up to 3 floats after them.
template <int Channels>
void weighted_pixels(const float* from, std::size_t from_step, const AxisWeights& weights, float* out,
                     std::size_t out_step, int count) {
  using Pixel = Simd<float, 4>;
  const int taps = weights.taps;
  const float* w = weights.weight.data();
  for (int x = 0; x < count; ++x, w += taps, out += Channels) {
    const float* pixel = from + weights.start[std::size_t(x)] * Channels;
    if constexpr (Channels <= 2) {
      float sum[resize_rows][Channels]{};
      for (int t = 0; t < taps; ++t, pixel += Channels)
        for (int r = 0; r < resize_rows; ++r)
          for (int c = 0; c < Channels; ++c)
            sum[r][c] = fmadd(w[t], pixel[std::size_t(r) * from_step + std::size_t(c)], sum[r][c]);
      for (int r = 0; r < resize_rows; ++r)
        for (int c = 0; c < Channels; ++c) out[std::size_t(r) * out_step + std::size_t(c)] = sum[r][c];
    } else {
      Pixel a(0.0f), b(0.0f), c(0.0f), d(0.0f);
      for (int t = 0; t < taps; ++t, pixel += Channels) {
        const Pixel weight(w[t]);
        a = fmadd(weight, Pixel::load(pixel), a);
        b = fmadd(weight, Pixel::load(pixel + from_step), b);
        c = fmadd(weight, Pixel::load(pixel + 2 * from_step), c);
        d = fmadd(weight, Pixel::load(pixel + 3 * from_step), d);
      }
      a.store(out);
      b.store(out + out_step);
      c.store(out + 2 * out_step);
      d.store(out + 3 * out_step);
    }
  }
}

/// Floats as elements of an image: bytes are rounded and stay within 0 to 255.
template <class T>
void store_elements(const float* __restrict from, T* __restrict to, std::size_t count) {
  if constexpr (std::is_same_v<T, float>) {
    std::memcpy(to, from, count * sizeof(float));
  } else {
    const auto rounded = [](float x) {
      const int whole = static_cast<int>(x + 0.5f), low = whole > 0 ? whole : 0;
      return static_cast<T>(low < 255 ? low : 255);
    };
    std::size_t i = 0;
    for (; i + resize_block <= count; i += resize_block)
      for (std::size_t k = 0; k < resize_block; ++k) to[i + k] = rounded(from[i + k]);
    for (; i < count; ++i) to[i] = rounded(from[i]);
  }
}
TENON_EXACT_END

template <class T>
void resize_nearest(ImageView<const T> in, ImageView<T> out, const AxisWeights& rows, const AxisWeights& columns) {
  const std::size_t pixel = std::size_t(in.channels) * sizeof(T);
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      std::memcpy(out.at(y, x), in.at(rows.start[std::size_t(y)], columns.start[std::size_t(x)]), pixel);
}

template <class T, int Channels>
void resize_by_weights(ImageView<const T> in, ImageView<T> out, const AxisWeights& rows, const AxisWeights& columns) {
  constexpr std::size_t behind = 4;
  const std::size_t tall_step = in.row_size() + behind, row_step = out.row_size() + behind;
  std::vector<float> tall(tall_step * resize_rows), row(row_step * resize_rows);
  for (int y = 0; y < out.height; y += resize_rows) {
    const int count = std::min(resize_rows, out.height - y);
    for (int r = 0; r < count; ++r) {
      const std::size_t i = std::size_t(y + r);
      weighted_rows(in.row(rows.start[i]), in.row_size(), rows.weight.data() + i * std::size_t(rows.taps), rows.taps,
                    tall.data() + std::size_t(r) * tall_step, in.row_size());
    }
    weighted_pixels<Channels>(tall.data(), tall_step, columns, row.data(), row_step, out.width);
    for (int r = 0; r < count; ++r)
      store_elements(row.data() + std::size_t(r) * row_step, out.row(y + r), out.row_size());
  }
}

/// One axis, then the other, rounded to bytes and clipped between them, as PIL: negative weights overshoot, and what is
/// clipped cannot come back. Rows go first where they become fewer and columns more, as in Pillow 13.
template <class T, int Channels>
void resize_in_turn(ImageView<const T> in, ImageView<T> out, const AxisWeights& rows, const AxisWeights& columns,
                    bool rows_first) {
  const int height = rows_first ? out.height : in.height, width = rows_first ? in.width : out.width;
  std::vector<T> between(std::size_t(height) * std::size_t(width) * std::size_t(in.channels));
  const ImageView<T> half{between.data(), height, width, in.channels};
  const auto same = [](int size) { return axis_weights(Inter::nearest, false, {0, double(size)}, size, size, false); };
  resize_by_weights<T, Channels>(in, half, rows_first ? rows : same(height), rows_first ? same(width) : columns);
  resize_by_weights<T, Channels>(half, out, rows_first ? same(height) : rows, rows_first ? columns : same(width));
}

inline void check_box(const Box& box, int height, int width) {
  if (!(box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0 && box.top + box.height <= height + 1e-6 &&
        box.left + box.width <= width + 1e-6))
    throw_error<ValueError>("resize: the box of ", box.height, " x ", box.width, " at row ", box.top, ", column ",
                            box.left, " is not inside of an image of ", height, " x ", width, " pixels.");
}

}  // namespace detail

/// Resizes an image to the extents of `out`. T is uint8_t or float, with 1 to 4 channels, the same in both.
///
/// nearest    pixel floor(i scale), as OpenCV and MindSpore; PIL takes the middle of what a pixel covers
/// linear     as OpenCV; the same as PIL's where an image becomes larger. With antialias as PIL's BILINEAR
/// cubic      as OpenCV (a = -0.75). With antialias as PIL's BICUBIC (a = -0.5)
/// area       as OpenCV: the mean of what a pixel covers
/// antialias  as PIL's LANCZOS, which PIL called ANTIALIAS, and so does MindSpore
/// accuracy   in float, rounded once, for antialiased cubic and Lanczos of bytes also between columns and rows, as PIL:
///            at most 1 level from these libraries
/// throws     ValueError for images without pixels, other channels in `out`, a box that is not inside of `in`
template <class T>
void resize(std::type_identity_t<ImageView<const T>> in, ImageView<T> out, const ResizeOptions& options = {}) {
  static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>, "resize: images of uint8_t or float");
  detail::check_image("resize", in);
  detail::check_image("resize", out);
  detail::check_result("resize", out, out.height, out.width, in.channels);
  Box box = options.box;
  if (box.height == 0 && box.width == 0) box = {0, 0, double(in.height), double(in.width)};
  detail::check_box(box, in.height, in.width);
  const bool enlarged = box.height < out.height || box.width < out.width;
  const detail::AxisWeights rows =
      detail::axis_weights(options.inter, options.antialias, {box.top, box.height}, in.height, out.height, enlarged);
  const detail::AxisWeights columns =
      detail::axis_weights(options.inter, options.antialias, {box.left, box.width}, in.width, out.width, enlarged);
  if (options.inter == Inter::nearest) return detail::resize_nearest<T>(in, out, rows, columns);
  const bool in_turn = std::is_same_v<T, std::uint8_t> &&
                       (options.inter == Inter::antialias || (options.inter == Inter::cubic && options.antialias));
  detail::with_channels(in.channels, [&](auto channels) {
    if (in_turn)
      detail::resize_in_turn<T, channels.value>(in, out, rows, columns,
                                                out.height < box.height && out.width > box.width);
    else detail::resize_by_weights<T, channels.value>(in, out, rows, columns);
  });
}

}  // namespace tenon::vision
