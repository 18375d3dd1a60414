// vision::RandomRotation, RandomAffine: randomly rotated, translated, scaled, and sheared images.
#pragma once
#include <cmath>
#include <type_traits>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/between.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/affine.hpp>

namespace tenon::inline TENON_ABI::vision {

/// For RandomRotation: the result has the size of the whole rotated image.
inline constexpr bool expand = true;

/// Rotates an image counter-clockwise around its center by a random angle from `degrees`. The extents do not change, so
/// corners are cut off; `RandomRotation<expand>{.degrees = {-30, 30}}` enlarges the result so that the whole rotated
/// image fits.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same; with expand [any, any, channels], because the size depends on the angle
///             (vision::rotated_size): Resize or a crop brings the images to one size before batch
/// throws      ValueError for degrees that are not finite; with expand for an image so thin that the result would have
///             more than most_pixels
/// source      MindSpore's RandomRotation. With expand, the center of the image is the center of the result, as in PIL;
///             OpenCV, in MindSpore, shifts it by up to a quarter of a pixel. PIL's result may be up to 2 pixels larger
template <bool Expand = false>
struct RandomRotation {
  Between degrees;
  Inter interpolation = Inter::nearest;
  float fill = 0;

  using takes = detail::Images;
  static constexpr const char* name = "RandomRotation";
  template <class In>
  using result = std::conditional_t<Expand, detail::SizedAs<In, dataset::any, dataset::any>, In>;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<result<In>> out, Random& random) const {
    const auto image = detail::image_of(in);
    Affine turn{.angle = double(detail::drawn(degrees, random))};
    ImageSize size{image.height, image.width};
    if constexpr (Expand) {
      size = rotated_size(image.height, image.width, turn.angle);
      turn.right = (size.width - image.width) / 2.0;
      turn.down = (size.height - image.height) / 2.0;
    }
    const InverseMap map = inverse_map(turn, image.height, image.width);
    warp_affine(image, map, detail::room_for(out, size.height, size.width), interpolation, {&fill, 1});
  }
};

/// Rotates, translates, scales, and shears an image around its center; its size does not change.
///
/// degrees     counter-clockwise
/// translate_x, translate_y   in widths and heights of the image, whole pixels: 0.1 is a tenth to the right or down
/// scale       above 1: larger
/// shear_x, shear_y           degrees
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// throws      ValueError for a scale that is not above 0, shears that are not between -90 and 90, and ranges that are
///             not finite
/// source      MindSpore's RandomAffine
struct RandomAffine {
  Between degrees{};
  Between translate_x{}, translate_y{};
  Between scale{1, 1};
  Between shear_x{}, shear_y{};
  Inter interpolation = Inter::nearest;
  float fill = 0;

  using takes = detail::Images;
  static constexpr const char* name = "RandomAffine";
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    const auto image = detail::image_of(in);
    Affine affine;
    affine.angle = detail::drawn(degrees, random);
    affine.right = std::round(double(detail::drawn(translate_x, random)) * image.width);
    affine.down = std::round(double(detail::drawn(translate_y, random)) * image.height);
    affine.scale = detail::drawn(scale, random);
    affine.shear_x = detail::drawn(shear_x, random);
    affine.shear_y = detail::drawn(shear_y, random);
    warp_affine(image, inverse_map(affine, image.height, image.width), detail::room_for(out, image.height, image.width),
                interpolation, {&fill, 1});
  }
};

}  // namespace tenon::vision
