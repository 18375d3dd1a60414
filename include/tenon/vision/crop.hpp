// Parts of images, and images within larger ones.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <type_traits>

#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Copies a part of an image. Throws ValueError unless the part lies inside and `out` has its extents.
template <class T>
void crop(std::type_identity_t<ImageView<const T>> in, const Rect& part, ImageView<T> out) {
  detail::check_inside("crop", in, part);
  detail::check_result("crop", out, part.height, part.width, in.channels);
  for (int y = 0; y < part.height; ++y)
    std::memcpy(out.row(y), in.at(part.top + y, part.left), out.row_size() * sizeof(T));
}

/// The part in the middle. Of an odd number of rows or columns that are left over, one more is below or to the right;
/// of an odd number that the image lacks, one more is lacking above or to the left.
/// Source: MindSpore's CenterCrop. (torchvision's rounds half to even: 5 of 8 begin at 2 there, at 1 here.)
constexpr Rect center_of(int height, int width, int part_height, int part_width) {
  const auto half = [](int rest) { return (rest >= 0 ? rest : rest - 1) / 2; };
  return {half(height - part_height), half(width - part_width), part_height, part_width};
}

/// Numbers of pixels beside an image; negative ones take away.
struct Margins {
  int left = 0, top = 0, right = 0, bottom = 0;
};

/// What stands beside an image: a colour, its border pixel again (edge), the image mirrored without (reflect) or with
/// (symmetric) its border pixel. As numpy.pad, and MindSpore's Border.
enum class Border { constant, edge, reflect, symmetric };

namespace detail {
/// Which pixel of 0 .. size - 1 stands at a place that may be outside; -1 for a colour.
constexpr int border_place(int place, int size, Border border) {
  if (place >= 0 && place < size) return place;
  if (border == Border::constant) return -1;
  if (border == Border::edge || size == 1) return std::clamp(place, 0, size - 1);
  const int period = border == Border::reflect ? 2 * size - 2 : 2 * size;
  const int within = (place % period + period) % period;
  if (within < size) return within;
  return border == Border::reflect ? period - within : period - 1 - within;
}
}  // namespace detail

/// An image with margins. `fill` is the colour of Border::constant, a number per channel, or one for all, or none for
/// 0; for bytes it is brought into 0 to 255. Throws ValueError unless `out` has the extents of the image and its
/// margins.
template <class T>
void pad(std::type_identity_t<ImageView<const T>> in, const Margins& margins, ImageView<T> out,
         Border border = Border::constant, std::span<const float> fill = {}) {
  detail::check_image("pad", in);
  detail::check_result("pad", out, in.height + margins.top + margins.bottom, in.width + margins.left + margins.right,
                       in.channels);
  const std::array<T, 4> colour = detail::colour_of<T>("pad", fill, in.channels);
  const std::size_t pixel = std::size_t(in.channels) * sizeof(T);
  const int whole_begin = std::clamp(margins.left, 0, out.width),
            whole_end = std::clamp(margins.left + in.width, whole_begin, out.width);
  for (int y = 0; y < out.height; ++y) {
    const int row = detail::border_place(y - margins.top, in.height, border);
    const auto one = [&](int x) {
      const int column = detail::border_place(x - margins.left, in.width, border);
      std::memcpy(out.at(y, x), row < 0 || column < 0 ? colour.data() : in.at(row, column), pixel);
    };
    for (int x = 0; x < whole_begin; ++x) one(x);
    if (row < 0) {
      for (int x = whole_begin; x < whole_end; ++x) one(x);
    } else if (whole_end > whole_begin) {
      std::memcpy(out.at(y, whole_begin), in.at(row, whole_begin - margins.left),
                  std::size_t(whole_end - whole_begin) * pixel);
    }
    for (int x = whole_end; x < out.width; ++x) one(x);
  }
}

}  // namespace tenon::vision
