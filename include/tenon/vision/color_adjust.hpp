// Brightness, contrast, saturation, and hue of colour images.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>

#include <tenon/vision/decode_options.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {
TENON_EXACT_BEGIN
/// a + factor (b - a), rounded, within 0 to 255.
inline std::uint8_t blended(float a, float b, float factor) {
  const float mixed = a + factor * (b - a) + 0.5f;
  return static_cast<std::uint8_t>(mixed <= 0 ? 0 : mixed >= 255 ? 255 : mixed);
}
inline void check_colours(const char* operation, const ImageView<const std::uint8_t>& in,
                          const ImageView<std::uint8_t>& out) {
  check_image(operation, in);
  if (in.channels != 3)
    throw_error<ValueError>(operation, ": the image has ", in.channels, " channels, it needs red, green, and blue.");
  check_result(operation, out, in.height, in.width, in.channels);
}
inline std::uint8_t luma_at(const std::uint8_t* pixel) { return luma(pixel[0], pixel[1], pixel[2]); }
}  // namespace detail

// Images of 3 channels of uint8; `out` may be the memory of `in`. A factor of 1 changes nothing.

/// x factor. Source: MindSpore's RandomColorAdjust, PIL's ImageEnhance.Brightness.
inline void adjust_brightness(ImageView<const std::uint8_t> in, float factor, ImageView<std::uint8_t> out) {
  detail::check_colours("adjust_brightness", in, out);
  std::uint8_t table[256];
  for (int x = 0; x < 256; ++x) table[x] = detail::blended(0, float(x), factor);
  for (std::size_t i = 0; i < in.size(); ++i) out.data[i] = table[in.data[i]];
}

/// Distances from the mean gray of the image, times the factor. Source: as brightness, ImageEnhance.Contrast.
inline void adjust_contrast(ImageView<const std::uint8_t> in, float factor, ImageView<std::uint8_t> out) {
  detail::check_colours("adjust_contrast", in, out);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < in.size(); i += 3) sum += detail::luma_at(in.data + i);
  const std::uint64_t pixels = in.size() / 3;
  const float mean = float((2 * sum + pixels) / (2 * pixels));
  std::uint8_t table[256];
  for (int x = 0; x < 256; ++x) table[x] = detail::blended(mean, float(x), factor);
  for (std::size_t i = 0; i < in.size(); ++i) out.data[i] = table[in.data[i]];
}

/// Distances from the gray of each pixel, times the factor. Source: as brightness, ImageEnhance.Color.
inline void adjust_saturation(ImageView<const std::uint8_t> in, float factor, ImageView<std::uint8_t> out) {
  detail::check_colours("adjust_saturation", in, out);
  for (std::size_t i = 0; i < in.size(); i += 3) {
    const float gray = float(detail::luma_at(in.data + i));
    for (std::size_t c = 0; c < 3; ++c) out.data[i + c] = detail::blended(gray, float(in.data[i + c]), factor);
  }
}

/// Turns the colour wheel by `shift` of its round, -0.5 to 0.5. In float: OpenCV and PIL, which MindSpore calls, round
/// the hue to 180 and 256 steps, and differ from it and from each other by some levels.
inline void adjust_hue(ImageView<const std::uint8_t> in, float shift, ImageView<std::uint8_t> out) {
  detail::check_colours("adjust_hue", in, out);
  for (std::size_t i = 0; i < in.size(); i += 3) {
    const float red = float(in.data[i]), green = float(in.data[i + 1]), blue = float(in.data[i + 2]);
    const float most = std::max({red, green, blue}), range = most - std::min({red, green, blue});
    float sixth = 0;  // of the wheel, from red
    if (range > 0) {
      if (most == red) sixth = (green - blue) / range;
      else if (most == green) sixth = 2 + (blue - red) / range;
      else sixth = 4 + (red - green) / range;
    }
    sixth += 6 * shift;
    sixth -= 6 * std::floor(sixth / 6);
    for (int c = 0; c < 3; ++c) {
      float away = std::abs(sixth - float(2 * c));  // of the channel's own colour
      away = std::min(away, 6 - away);
      const float share = std::clamp(2 - away, 0.0f, 1.0f);
      out.data[i + std::size_t(c)] = detail::blended(most - range, most, share);
    }
  }
}
TENON_EXACT_END

}  // namespace tenon::vision
