// Encodes images as PNG files in memory. libpng stays behind this header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#if defined(TENON_WITH_PNG)
#include <png.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/memory/memory_limit.hpp>

namespace tenon::inline TENON_ABI::io {

/// An image of bytes: row by row, the channels of a pixel together; 1 channel is gray, 3 are red, green, and blue.
struct Pixels {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bytes;
};

/// Whether this program can encode images.
#if defined(TENON_WITH_PNG)
inline constexpr bool has_png = true;
#else
inline constexpr bool has_png = false;
#endif

/// The PNG file of an image.
///
/// throws      ValueError unless there are 1 or 3 channels, at least one pixel, and as many bytes; RuntimeError where
///             the program was built without libpng
inline std::string encode_png(const Pixels& pixels) try {
  const bool known = pixels.channels == 1 || pixels.channels == 3;
  if (!known || pixels.height < 1 || pixels.width < 1 ||
      pixels.bytes.size() != std::size_t(pixels.height) * std::size_t(pixels.width) * std::size_t(pixels.channels))
    throw_error<ValueError>("An image of ", pixels.height, " x ", pixels.width, " pixels, ", pixels.channels,
                            " channels, and ", pixels.bytes.size(), " bytes is no PNG file: it needs 1 or 3 channels.");
#if defined(TENON_WITH_PNG)
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(pixels.height), image.width = static_cast<png_uint_32>(pixels.width);
  image.format = pixels.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (!png_image_write_to_memory(&image, file.data(), &size, 0, pixels.bytes.data(), 0, nullptr))
    throw_error<RuntimeError>("Cannot encode an image of ", pixels.height, " x ", pixels.width,
                              " pixels: ", image.message, ".");
  file.resize(size);
  return file;
#else
  throw_error<RuntimeError>(
      "Cannot encode an image: this program was built without libpng. Install the package libpng-dev and define "
      "TENON_WITH_PNG (CMake: find_package(tenon COMPONENTS png), link tenon::png).");
#endif
} catch (const std::bad_alloc&) {
  tenon::detail::refuse_memory(double(pixels.bytes.size()), "a PNG file");
}

}  // namespace tenon::io
