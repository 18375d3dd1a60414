// JPEG images: every kind of file, parts and fractions of them, and files that are cut off or hostile.
// link: jpeg png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <algorithm>
#include <limits>

#include <tenon/vision/crop.hpp>
#include <tenon/vision/jpeg.hpp>

using namespace support;
using vision::DecodeOptions, vision::JpegDecoder, vision::Rect;

#if defined(TENON_WITH_JPEG)
namespace {
Bytes decoded_part(const std::string& file, const Rect& part, const DecodeOptions& options = {}) {
  Bytes bytes(std::size_t(part.height) * std::size_t(part.width) * std::size_t(options.channels));
  JpegDecoder(file, options).decode({bytes.data(), part.height, part.width, options.channels}, part);
  return bytes;
}
Bytes part_of(const io::Pixels& whole, const Rect& part) {
  Bytes bytes(std::size_t(part.height) * std::size_t(part.width) * std::size_t(whole.channels));
  vision::crop<std::uint8_t>(vision::view(whole), part, {bytes.data(), part.height, part.width, whole.channels});
  return bytes;
}
io::Pixels noise(int height, int width) {
  io::Pixels p = smooth_image(height, width, 3);
  unsigned state = 1;
  for (auto& byte : p.bytes) state = state * 1664525 + 1013904223, byte = std::uint8_t(byte + (state >> 26));
  return p;
}
}  // namespace

TEST_CASE("colours, gray, progressive, one pixel: what was encoded comes back") {
  for (const bool progressive : {false, true})
    for (const auto& [height, width] : {std::pair(1, 1), {1, 7}, {17, 1}, {8, 8}, {37, 53}}) {
      const io::Pixels colours = smooth_image(height, width, 3), gray = smooth_image(height, width, 1);
      const std::string file = jpeg_file(colours, {.progressive = progressive, .quality = 100, .sampling = 1});
      const io::Pixels back = vision::decode(file);
      CHECK(back.height == height);
      CHECK(back.width == width);
      CHECK(largest_difference(back.bytes, colours.bytes) <= 3);
      const std::string gray_file = jpeg_file(gray, {.space = JCS_GRAYSCALE, .progressive = progressive});
      CHECK(JpegDecoder(gray_file).info().stored_channels == 1);
      CHECK(largest_difference(vision::decode(gray_file, {.channels = 1}).bytes, gray.bytes) <= 3);
      const io::Pixels as_colours = vision::decode(gray_file);
      for (std::size_t i = 0; i < gray.bytes.size(); ++i) CHECK(as_colours.bytes[3 * i] == as_colours.bytes[3 * i + 2]);
      const io::Pixels as_gray = vision::decode(file, {.channels = 1});
      for (std::size_t i = 0; i < as_gray.bytes.size(); ++i) {
        const std::uint8_t* p = &colours.bytes[3 * i];
        CHECK(std::abs(as_gray.bytes[i] - vision::detail::luma(p[0], p[1], p[2])) <= 2);
      }
    }
}

TEST_CASE("CMYK and YCCK as Adobe's programs write them, 255 - ink: the colours of PIL") {
  io::Pixels ink{8, 8, 4, {}};
  for (int i = 0; i < 64; ++i) ink.bytes.insert(ink.bytes.end(), {200, 100, 50, 220});
  for (const bool ycck : {false, true}) {
    const std::string file = jpeg_file(ink, {.space = JCS_CMYK, .quality = 100, .sampling = 1, .ycck = ycck});
    CHECK(JpegDecoder(file).info().stored_channels == 4);
    const io::Pixels p = vision::decode(file);
    // 220 - (255 - 200) * 220 / 255, and so on
    CHECK(std::abs(p.bytes[0] - 173) <= 2);
    CHECK(std::abs(p.bytes[1] - 86) <= 2);
    CHECK(std::abs(p.bytes[2] - 43) <= 2);
    const io::Pixels gray = vision::decode(file, {.channels = 1});
    CHECK(std::abs(gray.bytes[0] - vision::detail::luma(173, 86, 43)) <= 2);
  }
}

TEST_CASE("EXIF orientation: all eight turn the same scene upright") {
  // upright 24 rows, 40 columns; each file holds it as a camera held in that way would
  const io::Pixels upright = smooth_image(24, 40, 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool exchanged = orientation >= 5;
    io::Pixels stored{exchanged ? 40 : 24, exchanged ? 24 : 40, 3, Bytes(upright.bytes.size())};
    for (int y = 0; y < 24; ++y)
      for (int x = 0; x < 40; ++x) {
        // of EXIF's table: where row 0 and column 0 of the file are seen
        int row = exchanged ? x : y, column = exchanged ? y : x;
        if (orientation == 2 || orientation == 3) column = 39 - column;
        if (orientation == 3 || orientation == 4) row = 23 - row;
        if (orientation == 6 || orientation == 7) row = 39 - row;
        if (orientation == 7 || orientation == 8) column = 23 - column;
        std::copy_n(vision::view(upright).at(y, x), 3, vision::view(stored).at(row, column));
      }
    const std::string file = jpeg_file(stored, {.orientation = orientation, .quality = 100, .sampling = 1});
    CHECK(vision::exif_orientation(file) == orientation);
    const io::Pixels p = vision::decode(file);
    CHECK(p.height == 24);
    CHECK(p.width == 40);
    CHECK(largest_difference(p.bytes, upright.bytes) <= 3);
    const Rect part{3, 5, 12, 20};
    CHECK(decoded_part(file, part) == part_of(p, part));
    const io::Pixels as_stored = vision::decode(file, {.upright = false});
    CHECK(as_stored.height == stored.height);
    CHECK(largest_difference(as_stored.bytes, stored.bytes) <= 3);
  }
}

TEST_CASE("EXIF data that are wrong are no reason to refuse an image") {
  const std::string file = jpeg_file(smooth_image(8, 8, 3), {.orientation = 6});
  const std::size_t exif = file.find("Exif");
  REQUIRE(exif != std::string::npos);
  for (std::size_t i = exif - 4; i < exif + 32; ++i)
    for (const int value : {0, 9, 0x7f, 0xff}) {
      std::string damaged = file;
      damaged[i] = char(value);
      const int orientation = vision::exif_orientation(damaged);
      CHECK(orientation >= 1);
      CHECK(orientation <= 8);
    }
  for (std::size_t length = 0; length < exif + 40; ++length) vision::exif_orientation(file.substr(0, length));
}

TEST_CASE("a part is the same as in the whole image, and a fraction has the sizes that it says") {
  const io::Pixels scene = noise(75, 101);
  for (const bool progressive : {false, true})
    for (const int sampling : {1, 2}) {
      const std::string file = jpeg_file(scene, {.progressive = progressive, .quality = 85, .sampling = sampling});
      const io::Pixels whole = vision::decode(file);
      for (const Rect& part : {Rect{0, 0, 75, 101},
                               {0, 0, 1, 1},
                               {74, 100, 1, 1},
                               {16, 16, 16, 16},
                               {17, 31, 33, 34},
                               {5, 0, 20, 101},
                               {0, 7, 75, 60},
                               {40, 90, 35, 11}})
        CHECK(decoded_part(file, part) == part_of(whole, part));
      for (const int eighths : {1, 2, 4, 5, 7}) {
        const DecodeOptions options{.eighths = eighths};
        const io::Pixels small = vision::decode(file, options);
        CHECK(small.height == (75 * eighths + 7) / 8);
        CHECK(small.width == (101 * eighths + 7) / 8);
        const Rect part{small.height / 3, small.width / 3, small.height / 2, small.width / 2};
        CHECK(decoded_part(file, part, options) == part_of(small, part));
      }
    }
  const std::string file = jpeg_file(scene);
  CHECK(message<ValueError>([&] { decoded_part(file, {0, 1, 75, 101}); }) ==
        "decode: the part of 75 x 101 pixels at row 0, column 1 is not inside of an image of 75 x 101 pixels.");
  CHECK_THROWS_AS(decoded_part(file, {0x7fffffff, 0, 1, 1}), ValueError);
}

TEST_CASE("a file that is cut off is refused, at whichever byte, or is whole") {
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg_file(noise(40, 60), {.progressive = progressive, .orientation = 6});
    const io::Pixels whole = vision::decode(file);
    for (std::size_t length = 0; length < file.size(); length += length < 700 ? 1 : 64) {
      io::Pixels p;
      const std::string error =
          message<RuntimeError>([&] { p = vision::decode(std::string_view(file).substr(0, length)); });
      if (error.empty()) CHECK(p.bytes == whole.bytes);
    }
    const std::string half = file.substr(0, file.size() / 2);
    CHECK(message<RuntimeError>([&] { vision::decode(half); }) ==
          "Cannot decode a JPEG image of " + std::to_string(half.size()) +
              " bytes: it is truncated. Download or copy it again.");
  }
}

TEST_CASE("damaged bytes are an error or wrong pixels, never more than that") {
  const std::string file = jpeg_file(noise(40, 60), {.progressive = true});
  unsigned state = 7;
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = file;
    for (int k = 0; k < 3; ++k) {
      state = state * 1664525 + 1013904223;
      damaged[(state >> 8) % damaged.size()] = char(state >> 3);
    }
    message<Error>([&] { vision::decode(damaged, {.max_pixels = 1 << 16}); });
  }
}

TEST_CASE("sizes that nobody means are refused before memory is taken") {
  std::string file = jpeg_file(smooth_image(8, 8, 3));
  const std::size_t frame = file.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  for (int i = 5; i < 9; ++i) file[frame + std::size_t(i)] = char(0xfe);  // 65278 x 65278
  CHECK(message<ValueError>([&] { vision::decode(file); }).find("65278 x 65278 pixels is larger than the 178956970") !=
        std::string::npos);
  CHECK(message<RuntimeError>([&] { vision::decode(file, {.max_pixels = std::int64_t(1) << 40}); }).find("truncated") !=
        std::string::npos);
  CHECK(message<ValueError>([&] {
          vision::decode(jpeg_file(smooth_image(8, 8, 3)), {.max_pixels = 63});
        }).find("larger than the 63 pixels") != std::string::npos);
}

TEST_CASE("limits of pixels up to the largest number let a progressive file through") {
  const std::string progressive = jpeg_file(smooth_image(8, 8, 3), {.progressive = true});
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t limit : {std::int64_t(64), largest / 20 + 1, largest})
    CHECK(vision::decode(progressive, {.max_pixels = limit}).bytes == vision::decode(progressive).bytes);
}

TEST_CASE("what is no image is said") {
  CHECK(
      message<RuntimeError>([] { vision::decode("GIF89a"); }) ==
      "Cannot decode an image of 6 bytes: it is neither a JPEG nor a PNG file, which begin with ff d8 ff and 89 50 4e "
      "47; this one begins with 47 49 46 38.");
  CHECK(message<RuntimeError>([] { vision::decode(""); }) ==
        "Cannot decode an image of 0 bytes: it is neither a JPEG nor a PNG file.");
  CHECK_THROWS_AS(vision::decode("\xff\xd8\xff"), RuntimeError);
  CHECK_THROWS_AS(vision::decode(jpeg_file(smooth_image(8, 8, 3)), {.channels = 4}), ValueError);
}
#else
TEST_CASE("without libjpeg-turbo the error says what to install") {
  CHECK(message<RuntimeError>([] { vision::decode("\xff\xd8\xff\xe0"); }).find("libjpeg-dev") != std::string::npos);
}
#endif
