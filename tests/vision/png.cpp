// PNG images: every kind of file, and files that are cut off or hostile.
// link: png jpeg
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <tenon/vision/png.hpp>

using namespace support;

#if defined(TENON_WITH_PNG)
TEST_CASE("8 and 16 bits, gray, palette, alpha, interlaced") {
  const io::Pixels colours = smooth_image(9, 13, 3), gray = smooth_image(9, 13, 1);
  CHECK(vision::decode(io::encode_png(colours)).bytes == colours.bytes);
  CHECK(vision::decode(io::encode_png(gray), {.channels = 1}).bytes == gray.bytes);
  CHECK(vision::image_info(io::encode_png(gray)).stored_channels == 1);
  const io::Pixels as_colours = vision::decode(io::encode_png(gray));
  CHECK(as_colours.bytes[0] == gray.bytes[0]);
  CHECK(as_colours.bytes[5] == gray.bytes[1]);
  const io::Pixels as_gray = vision::decode(io::encode_png(colours), {.channels = 1});
  CHECK(as_gray.bytes[20] == vision::detail::luma(colours.bytes[60], colours.bytes[61], colours.bytes[62]));

  Bytes wide;  // 16 bits: v * 257 becomes v again
  for (const std::uint8_t v : colours.bytes) wide.insert(wide.end(), {v, v});
  Bytes with_alpha;
  for (std::size_t i = 0; i < colours.bytes.size(); ++i) {
    with_alpha.push_back(colours.bytes[i]);
    if (i % 3 == 2) with_alpha.push_back(std::uint8_t(i));
  }
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    CHECK(vision::decode(png_file(9, 13, 16, PNG_COLOR_TYPE_RGB, interlace, wide)).bytes == colours.bytes);
    const std::string alpha = png_file(9, 13, 8, PNG_COLOR_TYPE_RGB_ALPHA, interlace, with_alpha);
    CHECK(vision::image_info(alpha).stored_channels == 4);
    CHECK(vision::decode(alpha).bytes == colours.bytes);
    const std::vector<png_color> palette{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
    const std::string few = png_file(2, 3, 2, PNG_COLOR_TYPE_PALETTE, interlace, {0b00011000, 0b11100100}, palette);
    CHECK(vision::decode(few).bytes == Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 7, 8, 9, 4, 5, 6});
    const std::string bits = png_file(2, 3, 1, PNG_COLOR_TYPE_GRAY, interlace, {0b01000000, 0b10100000});
    CHECK(vision::decode(bits, {.channels = 1}).bytes == Bytes{0, 255, 0, 255, 0, 255});
  }
  const io::Pixels one = smooth_image(1, 1, 3);
  CHECK(vision::decode(io::encode_png(one)).bytes == one.bytes);
}

TEST_CASE(
    "16 bits as Pillow has them: the upper byte of colours and of gray with alpha, min(value, 255) of plain gray") {
  // made with Pillow 13: Image.open(file).convert("RGB") and convert("L")
  const std::vector<int> values{0, 1, 127, 128, 129, 255, 256, 257, 384, 385, 32767, 32768, 65279, 65280, 65408, 65535};
  const Bytes upper{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 127, 128, 254, 255, 255, 255};
  const Bytes clipped{0, 1, 127, 128, 129, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  const auto repeated = [](const Bytes& bytes, int times) {
    Bytes all;
    for (const std::uint8_t v : bytes) all.insert(all.end(), std::size_t(times), v);
    return all;
  };
  const auto file = [&](int kind, int channels, bool alpha, int interlace) {
    Bytes rows;
    for (const int v : values) {
      for (int c = 0; c < channels; ++c) rows.insert(rows.end(), {std::uint8_t(v >> 8), std::uint8_t(v)});
      if (alpha) rows.insert(rows.end(), {156, 64});
    }
    return png_file(4, 4, 16, kind, interlace, rows);
  };
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    for (const auto& [kind, channels, alpha] :
         {std::tuple(PNG_COLOR_TYPE_RGB, 3, false), std::tuple(PNG_COLOR_TYPE_RGB_ALPHA, 3, true),
          std::tuple(PNG_COLOR_TYPE_GRAY_ALPHA, 1, true)}) {
      CHECK(vision::decode(file(kind, channels, alpha, interlace)).bytes == repeated(upper, 3));
      CHECK(vision::decode(file(kind, channels, alpha, interlace), {.channels = 1}).bytes == upper);
    }
    const std::string gray = file(PNG_COLOR_TYPE_GRAY, 1, false, interlace);
    CHECK(vision::image_info(gray).stored_channels == 1);
    CHECK(vision::decode(gray).bytes == repeated(clipped, 3));
    CHECK(vision::decode(gray, {.channels = 1}).bytes == clipped);
    CHECK(message<RuntimeError>([&] { vision::decode(gray.substr(0, gray.size() - 30)); }).find("truncated") !=
          std::string::npos);
  }
}

TEST_CASE("a file that is cut off is refused, at whichever byte, or is whole; damage is an error or wrong pixels") {
  const io::Pixels colours = smooth_image(20, 30, 3);
  const std::string file = io::encode_png(colours);
  for (std::size_t length = 0; length < file.size(); ++length) {
    io::Pixels p;
    const std::string error =
        message<RuntimeError>([&] { p = vision::decode(std::string_view(file).substr(0, length)); });
    if (error.empty()) CHECK(p.bytes == colours.bytes);
  }
  CHECK(message<RuntimeError>([&] { vision::decode(file.substr(0, 60)); }) ==
        "Cannot decode a PNG image of 60 bytes: it is truncated. Download or copy it again.");
  unsigned state = 7;
  for (int trial = 0; trial < 500; ++trial) {
    std::string damaged = file;
    state = state * 1664525 + 1013904223;
    damaged[(state >> 8) % damaged.size()] = char(state >> 3);
    message<Error>([&] { vision::decode(damaged, {.max_pixels = 1 << 16}); });
  }
}

TEST_CASE("sizes that nobody means are refused before memory is taken") {
  std::string file = io::encode_png(smooth_image(8, 8, 3));
  const auto set_size = [&](std::uint32_t extent) {
    for (int i = 0; i < 8; ++i) file[std::size_t(16 + i)] = char(extent >> (24 - i % 4 * 8));
    // the checksum of the header, as libpng verifies it
    std::uint32_t crc = 0xffffffffu;
    for (std::size_t i = 12; i < 29; ++i) {
      crc ^= static_cast<unsigned char>(file[i]);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
    }
    for (int i = 0; i < 4; ++i) file[std::size_t(29 + i)] = char(~crc >> (24 - i * 8));
  };
  set_size(1 << 20);
  CHECK(message<ValueError>([&] { vision::decode(file); }).find("1048576 x 1048576 pixels is larger") !=
        std::string::npos);
  set_size(10000);
  CHECK(message<RuntimeError>([&] { vision::decode(file); }).find("truncated") != std::string::npos);
}
#else
TEST_CASE("without libpng the error says what to install") {
  CHECK(message<RuntimeError>([] { vision::decode("\x89PNG\r\n\x1a\n"); }).find("libpng-dev") != std::string::npos);
}
#endif
