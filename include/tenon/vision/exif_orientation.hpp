// How a camera was held: the orientation in the EXIF data of a JPEG file, and images turned upright.
#pragma once
#include <cstring>
#include <string_view>

#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

/// The EXIF orientation of a JPEG file, 1 to 8: 1 is upright, 2 mirrored, 3 turned by 180 degrees, 4 upside down, 5 to
/// 8 have rows and columns exchanged. 1 if the file does not say or says it wrongly: it is no reason to refuse an
/// image. Source: CIPA DC-008 (Exif 2.3), 4.6.4, tag 0x0112.
int exif_orientation(std::string_view jpeg);

/// True if rows and columns change places.
constexpr bool exchanges_axes(int orientation) { return orientation >= 5; }

/// Where a part of the upright image lies in the stored one of `height` x `width` pixels.
Rect stored_rect(const Rect& upright, int orientation, int height, int width);

/// Turns the stored image upright. The result has the stored image's extents, exchanged for orientations 5 to 8.
template <class T>
void turn_upright(ImageView<const T> stored, int orientation, ImageView<T> out) {
  const bool exchanged = exchanges_axes(orientation);
  detail::check_result("turn_upright", out, exchanged ? stored.width : stored.height,
                       exchanged ? stored.height : stored.width, stored.channels);
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::size_t pixel = std::size_t(stored.channels) * sizeof(T);
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x) {
      const int row = exchanged ? x : y, column = exchanged ? y : x;
      std::memcpy(
          out.at(y, x),
          stored.at(from_bottom ? stored.height - 1 - row : row, from_right ? stored.width - 1 - column : column),
          pixel);
    }
}

#if TENON_DEFINES
namespace detail {
/// Numbers of a TIFF header's byte order; 0 after the end.
struct TiffReader {
  std::string_view bytes;
  bool little = false;
  std::uint32_t number(std::size_t at, int count) const {
    if (at > bytes.size() || bytes.size() - at < std::size_t(count)) return 0;
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) {
      const std::size_t place = at + std::size_t(little ? count - 1 - i : i);
      value = value << 8 | static_cast<unsigned char>(bytes[place]);
    }
    return value;
  }
};
/// The orientation in a block "Exif\0\0", or 1.
TENON_INLINE int orientation_in(std::string_view exif) {
  constexpr std::uint32_t orientation_tag = 0x0112, short_type = 3;
  const TiffReader tiff{exif, exif.substr(0, 2) == "II"};
  const std::uint32_t directory = tiff.number(4, 4);
  if (tiff.number(2, 2) != 42 || directory > exif.size()) return 1;
  const std::uint32_t entries = tiff.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = std::size_t(directory) + 2 + 12 * std::size_t(i);
    if (entry + 12 > exif.size()) return 1;
    if (tiff.number(entry, 2) != orientation_tag || tiff.number(entry + 2, 2) != short_type) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}
}  // namespace detail

TENON_INLINE int exif_orientation(std::string_view jpeg) {
  constexpr std::string_view exif("Exif\0\0", 6);
  std::size_t at = 2;
  while (at + 4 <= jpeg.size() && jpeg[at] == '\xff') {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(jpeg[at + k]); };
    const unsigned marker = byte(1);
    if (marker == 0xff) {  // padding
      ++at;
      continue;
    }
    const std::size_t length = std::size_t(byte(2)) << 8 | byte(3);
    if (marker == 0xda || marker == 0xd9 || length < 2) break;  // the image data begin
    const std::string_view block = jpeg.substr(at + 4, length - 2);
    if (marker == 0xe1 && block.substr(0, exif.size()) == exif)
      return detail::orientation_in(block.substr(exif.size()));
    at += 2 + length;
  }
  return 1;
}

TENON_INLINE Rect stored_rect(const Rect& upright, int orientation, int height, int width) {
  Rect r = exchanges_axes(orientation) ? Rect{upright.left, upright.top, upright.width, upright.height} : upright;
  if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) r.left = width - r.left - r.width;
  if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) r.top = height - r.top - r.height;
  return r;
}
#endif  // TENON_DEFINES

}  // namespace tenon::vision
