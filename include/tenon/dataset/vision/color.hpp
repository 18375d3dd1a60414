// vision::RandomColorAdjust: random brightness, contrast, saturation, and hue.
#pragma once
#include <algorithm>

#include <tenon/core/philox.hpp>
#include <tenon/dataset/vision/between.hpp>
#include <tenon/dataset/vision/image_column.hpp>
#include <tenon/vision/color_adjust.hpp>

namespace tenon::inline TENON_ABI::vision {

/// Changes brightness, contrast, saturation, and hue, in this order, by numbers drawn from these ranges:
/// `RandomColorAdjust{.brightness = {0.6f, 1.4f}}`. Factors of 1 and a shift of 0 change nothing.
///
/// column      uint8 [height, width, 3]
/// result      the same
/// throws      ValueError for a factor below 0 or a hue beyond -0.5 to 0.5
/// source      MindSpore's RandomColorAdjust, which draws the order of the four anew for each image
struct RandomColorAdjust {
  Between brightness{1, 1}, contrast{1, 1}, saturation{1, 1};
  Between hue{0, 0};

  using transforms_samples = void;
  static constexpr const char* name = "RandomColorAdjust";
  template <class In>
  static constexpr Sentence wrong() {
    Sentence s = detail::wrong_image<In>(name);
    if (s.empty() && (detail::ImageColumn<In>::channels != 3 || !std::is_same_v<typename In::type, std::uint8_t>)) {
      s << "vision::RandomColorAdjust takes images of uint8 with 3 channels, ";
      detail::describe_column<In>(s);
    }
    return s;
  }
  template <class In>
  using result = In;
  template <class In>
  void apply(dataset::SampleView<In> in, dataset::SampleSlot<In> out, Random& random) const {
    check();
    const auto image = detail::image_of(in);
    const auto room = detail::room_for(out, image.height, image.width);
    const float factor[]{detail::drawn(brightness, random), detail::drawn(contrast, random),
                         detail::drawn(saturation, random), detail::drawn(hue, random)};
    std::copy_n(image.data, image.size(), room.data);
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
