// What the tests of images share: images, distances, and files of all kinds, made by the libraries of the decoders.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <tenon/vision/decode.hpp>

namespace support {

using namespace tenon;
using vision::ImageView;
using Bytes = std::vector<std::uint8_t>;

/// A smooth image, which JPEG hardly changes.
inline io::Pixels smooth_image(int height, int width, int channels) {
  io::Pixels p{height, width, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        p.bytes.push_back(std::uint8_t(40 + (y * 150) / height + (c == 1 ? -20 : 30) * x / width + 10 * c));
  return p;
}

inline int largest_difference(const Bytes& a, const Bytes& b) {
  REQUIRE(a.size() == b.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int(a[i]) - int(b[i])));
  return largest;
}

/// The message of the error that act throws, "" if none.
template <class E, class Act>
std::string message(Act act) {
  try {
    act();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

#if defined(TENON_WITH_JPEG)
struct JpegKind {
  J_COLOR_SPACE space = JCS_RGB;  // of the pixels given: JCS_RGB becomes YCbCr, JCS_CMYK YCCK with 4 channels
  bool progressive = false;
  int orientation = 0;  // in EXIF data; 0: without
  int quality = 95;
  int sampling = 2;  // of luma, each way: chroma has half the rows and columns
  bool ycck = false;
};
inline std::string jpeg_file(const io::Pixels& p, const JpegKind& kind = {}) {
  jpeg_compress_struct file{};
  jpeg_error_mgr errors;
  file.err = jpeg_std_error(&errors);
  jpeg_create_compress(&file);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&file, &memory, &size);
  file.image_height = JDIMENSION(p.height), file.image_width = JDIMENSION(p.width);
  file.input_components = p.channels;
  file.in_color_space = kind.space;
  jpeg_set_defaults(&file);
  if (kind.ycck) jpeg_set_colorspace(&file, JCS_YCCK);
  jpeg_set_quality(&file, kind.quality, TRUE);
  file.comp_info[0].h_samp_factor = file.comp_info[0].v_samp_factor = p.channels == 1 ? 1 : kind.sampling;
  if (kind.progressive) jpeg_simple_progression(&file);
  jpeg_start_compress(&file, TRUE);
  if (kind.orientation > 0) {
    std::string exif("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x01\0\0\0\0\0\0", 32);
    exif[25] = char(kind.orientation);
    jpeg_write_marker(&file, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()), unsigned(exif.size()));
  }
  for (int y = 0; y < p.height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(vision::view(p).row(y));
    jpeg_write_scanlines(&file, &row, 1);
  }
  jpeg_finish_compress(&file);
  const std::string result(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&file);
  std::free(memory);
  return result;
}
#endif

#if defined(TENON_WITH_PNG)
/// A PNG file of rows that are packed as the format says.
inline std::string png_file(int height, int width, int depth, int kind, int interlace, const Bytes& rows,
                            const std::vector<png_color>& palette = {}) {
  std::string result;
  png_structp file = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(file);
  png_set_write_fn(
      file, &result,
      [](png_structp f, png_bytep bytes, png_size_t count) {
        static_cast<std::string*>(png_get_io_ptr(f))->append(reinterpret_cast<char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(file, info, png_uint_32(width), png_uint_32(height), depth, kind, interlace, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  if (!palette.empty()) png_set_PLTE(file, info, palette.data(), int(palette.size()));
  std::vector<png_bytep> row;
  const std::size_t step = rows.size() / std::size_t(height);
  for (int y = 0; y < height; ++y) row.push_back(const_cast<png_bytep>(rows.data() + std::size_t(y) * step));
  png_set_rows(file, info, row.data());
  png_write_png(file, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&file, &info);
  return result;
}
#endif

}  // namespace support
