// Rotated, moved, stretched, and sheared images.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>

#include <tenon/vision/axis_weights.hpp>
#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
inline constexpr double degree = 3.14159265358979323846 / 180;
}

/// Where the pixel at row y, column x of the result comes from: column a x + b y + c, row d x + e y + f. Pixels have
/// their middle at whole numbers.
struct InverseMap {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// What RandomAffine draws. Angles are degrees.
struct Affine {
  double angle = 0;                 ///< counter-clockwise, around the middle
  double right = 0, down = 0;       ///< pixels
  double scale = 1;                 ///< above 1: larger
  double shear_x = 0, shear_y = 0;  ///< of the columns and of the rows
};

/// The size of the image that an image turned by `angle` degrees fits into: height |cos| + width |sin| by width |cos| +
/// height |sin|, each to the nearest whole number, so that a corner may lose up to half a pixel. Throws ValueError if
/// that has more than most_pixels, as a long thin image has, or if the angle is no number.
///
/// Source: MindSpore, which rounds the extents of OpenCV's RotatedRect. PIL's and torchvision's results begin and end
/// at whole pixels around the corners and are up to 2 pixels larger.
inline ImageSize rotated_size(int height, int width, double angle) {
  const double cos = std::abs(std::cos(angle * detail::degree)), sin = std::abs(std::sin(angle * detail::degree));
  const double rows = std::round(height * cos + width * sin), columns = std::round(width * cos + height * sin);
  if (!(rows * columns <= double(most_pixels)))
    throw_error<ValueError>("An image of ", height, " x ", width, " pixels turned by ", angle,
                            " degrees would become one of more than ", most_pixels, " pixels. Crop it first.");
  return {int(rows), int(columns)};
}

/// The map of an affine transformation around the middle of an image.
/// Throws ValueError unless all numbers are finite, scale is above 0, and shears are between -90 and 90.
inline InverseMap inverse_map(const Affine& t, int height, int width) {
  if (!(t.scale > 0) || !(std::abs(t.shear_x) < 90) || !(std::abs(t.shear_y) < 90))
    throw_error<ValueError>("An affine transformation needs a scale above 0 and shears between -90 and 90, got ",
                            t.scale, ", ", t.shear_x, ", and ", t.shear_y, ".");
  if (!std::isfinite(t.scale) || !std::isfinite(t.angle) || !std::isfinite(t.right) || !std::isfinite(t.down))
    throw_error<ValueError>("An affine transformation needs finite numbers, got the scale ", t.scale, ", the angle ",
                            t.angle, ", and ", t.right, " and ", t.down, " pixels to the right and down.");
  const double cos = std::cos(t.angle * detail::degree), sin = std::sin(t.angle * detail::degree);
  const double along_x = std::tan(t.shear_x * detail::degree), along_y = std::tan(t.shear_y * detail::degree);
  // forward: scale R S, x to the right, y down; R turns counter-clockwise as seen
  const double m00 = t.scale * (cos + sin * along_y), m01 = t.scale * (cos * along_x + sin);
  const double m10 = t.scale * (-sin + cos * along_y), m11 = t.scale * (-sin * along_x + cos);
  const double det = m00 * m11 - m01 * m10;
  if (std::abs(det) < 1e-12) throw_error<ValueError>("This affine transformation makes a line of the image.");
  const double cx = (width - 1) / 2.0, cy = (height - 1) / 2.0;
  InverseMap map{m11 / det, -m01 / det, 0, -m10 / det, m00 / det, 0};
  map.c = cx - map.a * (cx + t.right) - map.b * (cy + t.down);
  map.f = cy - map.d * (cx + t.right) - map.e * (cy + t.down);
  return map;
}

/// An image through a map. Inter::nearest, or linear between 4 pixels; what comes from outside is `fill`, a number per
/// channel, or one for all, or none for 0, for bytes brought into 0 to 255. `out` is another memory, of any extents.
///
/// The pixels of PIL's transform(AFFINE). OpenCV's warpAffine rounds places to 1/32 of a pixel and mixes the border
/// with the fill.
template <class T>
void warp_affine(std::type_identity_t<ImageView<const T>> in, const InverseMap& map, ImageView<T> out,
                 Inter inter = Inter::nearest, std::span<const float> fill = {}) {
  detail::check_image("warp_affine", in);
  detail::check_result("warp_affine", out, out.height, out.width, in.channels);
  if (inter != Inter::nearest && inter != Inter::linear)
    throw_error<ValueError>("warp_affine: the interpolation is nearest or linear.");
  const std::array<T, 4> colour = detail::colour_of<T>("warp_affine", fill, in.channels);
  const auto rounded = [](double x) {
    if constexpr (std::is_same_v<T, float>) return float(x);
    else return static_cast<T>(x + 0.5);
  };
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x) {
      const double column = map.a * x + map.b * y + map.c, row = map.d * x + map.e * y + map.f;
      T* const to = out.at(y, x);
      if (!(column >= -0.5 && column < in.width - 0.5 && row >= -0.5 && row < in.height - 0.5)) {
        std::copy_n(colour.data(), in.channels, to);
      } else if (inter == Inter::nearest) {
        // the largest number below 0.5, plus 0.5, is 1
        const T* const from = in.at(std::min(int(row + 0.5), in.height - 1), std::min(int(column + 0.5), in.width - 1));
        for (int c = 0; c < in.channels; ++c) to[c] = from[c];
      } else {
        const int top = int(std::floor(row)), left = int(std::floor(column));
        const double down = row - top, right = column - left;
        const auto inside = [](int place, int size) { return place < 0 ? 0 : place < size ? place : size - 1; };
        const T* const a = in.at(inside(top, in.height), inside(left, in.width));
        const T* const b = in.at(inside(top, in.height), inside(left + 1, in.width));
        const T* const c = in.at(inside(top + 1, in.height), inside(left, in.width));
        const T* const d = in.at(inside(top + 1, in.height), inside(left + 1, in.width));
        for (int k = 0; k < in.channels; ++k) {
          const double upper = a[k] + (double(b[k]) - a[k]) * right, lower = c[k] + (double(d[k]) - c[k]) * right;
          to[k] = rounded(upper + (lower - upper) * down);
        }
      }
    }
}

}  // namespace tenon::vision
