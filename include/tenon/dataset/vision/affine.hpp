// vision::RandomRotation, RandomAffine: randomly turned, moved, stretched, and sheared images.
#pragma once
#include <cmath>

#include <tenon/core/philox.hpp>
#include <tenon/dataset/vision/between.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/affine.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Turns an image counter-clockwise around its middle by an angle out of `degrees`; its extents stay.
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// source      MindSpore's RandomRotation without `expand`
struct RandomRotation {
  Between degrees;
  Inter interpolation = Inter::nearest;
  float fill = 0;

  using takes = detail::Images;
  static constexpr const char* name = "RandomRotation";
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    const auto image = detail::image_of(in);
    const InverseMap map = inverse_map({.angle = double(detail::drawn(degrees, random))}, image.height, image.width);
    warp_affine(image, map, detail::room_for(out, image.height, image.width), interpolation, {&fill, 1});
  }
};

/// Turns, moves, stretches, and shears an image around its middle; its extents stay.
///
/// degrees     counter-clockwise
/// translate_x, translate_y   in widths and heights of the image, whole pixels: 0.1 is a tenth to the right or down
/// scale       above 1: larger
/// shear_x, shear_y           degrees
///
/// column      uint8 or float32 [height, width, channels]
/// result      the same
/// throws      ValueError for a scale that is not above 0
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
