// vision::RandomColorAdjust: random brightness, contrast, saturation, and hue.
#pragma once
#include <type_traits>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/vision/between.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/color_adjust.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Changes brightness, contrast, saturation, and hue, in this order, by random amounts from these ranges:
/// `RandomColorAdjust{.brightness = {0.6f, 1.4f}}`. Factors of 1 and a shift of 0 change nothing.
///
/// column      uint8 [height, width, 3]
/// result      the same
/// throws      ValueError for a factor below 0 or a hue beyond -0.5 to 0.5
/// source      MindSpore's RandomColorAdjust, which draws a new order of the four changes for each image
struct RandomColorAdjust {
  Between brightness{1, 1}, contrast{1, 1}, saturation{1, 1};
  Between hue{0, 0};

  using takes = detail::Images;
  static constexpr const char* name = "RandomColorAdjust";
  template <class In>
  static constexpr Sentence wrong() {
    Sentence s;
    if (detail::ImageColumn<In>::channels == 3 && std::is_same_v<typename In::type, std::uint8_t>) return s;
    s << "vision::RandomColorAdjust takes images of uint8 with 3 channels, ";
    detail::describe_column<In>(s);
    return s;
  }
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    check();
    const auto room = detail::copied(in, out);
    const float factor[]{detail::drawn(brightness, random), detail::drawn(contrast, random),
                         detail::drawn(saturation, random), detail::drawn(hue, random)};
    if (factor[0] != 1) adjust_brightness(room, factor[0], room);
    if (factor[1] != 1) adjust_contrast(room, factor[1], room);
    if (factor[2] != 1) adjust_saturation(room, factor[2], room);
    if (factor[3] != 0) adjust_hue(room, factor[3], room);
  }

 private:
  void check() const {
    for (const Between& r : {brightness, contrast, saturation})
      if (!(r.low >= 0 && r.low <= r.high))
        throw_error<ValueError>("RandomColorAdjust: a factor of ", r.low, " .. ", r.high, "; it must be 0 or more.");
    if (!(hue.low >= -0.5f && hue.low <= hue.high && hue.high <= 0.5f))
      throw_error<ValueError>("RandomColorAdjust: a hue of ", hue.low, " .. ", hue.high,
                              "; it must be in -0.5 .. 0.5.");
  }
};

}  // namespace tenon::vision
