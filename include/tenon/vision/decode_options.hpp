// What a program asks of decoders of images, and what they say of a file before it is decoded.
#pragma once
#include <cstdint>
#include <string_view>

#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

struct DecodeOptions {
  /// 3: red, green, blue, whatever the file holds; 1: gray, of JPEG the luma that is stored, as OpenCV and torchvision,
  /// of others that of PIL's convert("L").
  int channels = 3;
  /// An image of more pixels is refused before memory is taken for it.
  std::int64_t max_pixels = most_pixels;
  /// Turn the image as its EXIF data say. (MindSpore, torchvision and PIL leave it as it lies in the file unless asked,
  /// OpenCV turns it.)
  bool upright = true;
  /// JPEG: decode at this many eighths of the size, 1 to 8, rounded up. 4, 2, and 1 take less time, because higher
  /// frequencies are left out; it is a low-pass filter much as antialiasing is, with other pixel values than decoding
  /// in full and resizing. The others take longer than 8 (libjpeg-turbo has no vector code for them).
  int eighths = 8;
};

/// An image as a decoder will write it: upright and scaled, if that was asked for.
struct ImageInfo {
  int height = 0, width = 0;
  /// Of the file: 1 gray, 2 gray and alpha, 3 colours, 4 with alpha or CMYK.
  int stored_channels = 0;
  /// The EXIF orientation that was undone, 1 if none.
  int orientation = 1;
};

namespace detail {
inline void check_decode_options(const DecodeOptions& options) {
  if (options.channels != 1 && options.channels != 3)
    throw_error<ValueError>("DecodeOptions::channels is ", options.channels, ", it must be 1 or 3.");
  if (options.eighths < 1 || options.eighths > 8)
    throw_error<ValueError>("DecodeOptions::eighths is ", options.eighths, ", it must be 1 to 8.");
}
inline void check_pixels(const char* format, std::int64_t height, std::int64_t width, const DecodeOptions& options) {
  if (height * width > options.max_pixels)
    throw_error<ValueError>("A ", format, " image of ", height, " x ", width, " pixels is larger than the ",
                            options.max_pixels,
                            " pixels allowed; is it what it should be? DecodeOptions::max_pixels sets the limit.");
}
/// Gray of a colour, as PIL's convert("L"): 0.299 red, 0.587 green, 0.114 blue.
constexpr std::uint8_t luma(int red, int green, int blue) {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}
}  // namespace detail

}  // namespace tenon::vision
