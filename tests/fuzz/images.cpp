// Decoders of images, fed by libFuzzer: they may refuse the bytes with an error of Tenon's, and nothing else. The
// environment's TENON_SEEDS names a folder to which the first files are written.
#define DOCTEST_CONFIG_IMPLEMENT
#include "../vision/support.hpp"

#include <algorithm>
#include <cstdio>

using namespace support;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("TENON_SEEDS");
  if (!folder) return 0;
  auto write = [folder, number = 0](const std::string& bytes) mutable {
    std::FILE* const file = std::fopen((folder + ("/image" + std::to_string(number++))).c_str(), "wb");
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
    std::fclose(file);
  };
  const io::Pixels colours = smooth_image(19, 21, 3), gray = smooth_image(9, 5, 1), ink = smooth_image(8, 8, 4);
  for (const bool progressive : {false, true}) {
    write(jpeg_file(colours, {.progressive = progressive, .orientation = 6}));
    write(jpeg_file(gray, {.space = JCS_GRAYSCALE, .progressive = progressive}));
    write(jpeg_file(ink, {.space = JCS_CMYK, .progressive = progressive, .ycck = progressive}));
  }
  write(io::encode_png(colours));
  write(io::encode_png(gray));
  write(png_file(2, 3, 2, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_ADAM7, {0b00011000, 0b11100100},
                 {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), count);
  vision::DecodeOptions options{.max_pixels = 1 << 16};
  options.channels = count % 2 ? 1 : 3;
  options.eighths = count % 3 ? 8 : 3;
  try {
    const io::Pixels pixels = vision::decode(file, options);
    if (pixels.bytes.size() > std::size_t(3 * options.max_pixels)) __builtin_trap();
    if (!vision::is_jpeg(file)) return 0;
    vision::Rect part{pixels.height / 3, pixels.width / 2, 1 + pixels.height / 4, 1 + pixels.width / 3};
    part.height = std::min(part.height, pixels.height - part.top);
    part.width = std::min(part.width, pixels.width - part.left);
    Bytes decoded(std::size_t(part.height) * std::size_t(part.width) * std::size_t(options.channels));
    vision::JpegDecoder(file, options).decode({decoded.data(), part.height, part.width, options.channels}, part);
  } catch (const RuntimeError&) {
  } catch (const ValueError&) {
  }
  return 0;
}
