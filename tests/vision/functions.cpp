// Margins, colours, and affine maps, against numbers of numpy, Pillow 13.0.0 (ImageEnhance, transform), and by hand.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "support.hpp"

#include <cmath>

#include <tenon/vision/affine.hpp>
#include <tenon/vision/color_adjust.hpp>
#include <tenon/vision/crop.hpp>
#include <tenon/vision/flip.hpp>
#include <tenon/vision/normalize.hpp>

using namespace support;
using vision::Border, vision::Rect;

TEST_CASE("margins: constant, edge, reflect, symmetric, as numpy.pad; negative ones take away") {
  const Bytes row{1, 2, 3};
  const auto padded = [&](int left, int right, Border border) {
    const float fill = 9;
    Bytes out(std::size_t(3 + left + right));
    vision::pad<std::uint8_t>({row.data(), 1, 3, 1}, {left, 0, right, 0}, {out.data(), 1, 3 + left + right, 1}, border,
                              {&fill, 1});
    return out;
  };
  CHECK(padded(2, 1, Border::constant) == Bytes{9, 9, 1, 2, 3, 9});
  CHECK(padded(2, 1, Border::edge) == Bytes{1, 1, 1, 2, 3, 3});
  CHECK(padded(5, 6, Border::reflect) == Bytes{2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1});
  CHECK(padded(5, 6, Border::symmetric) == Bytes{2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3});
  CHECK(padded(-1, 1, Border::edge) == Bytes{2, 3, 3});
  CHECK(padded(1, -3, Border::constant) == Bytes{9});
  CHECK(vision::center_of(5, 8, 2, 2) == Rect{1, 3, 2, 2});
  CHECK(vision::center_of(8, 9, 5, 4) == Rect{1, 2, 5, 4});
  CHECK(vision::center_of(2, 2, 5, 3) == Rect{-2, -1, 5, 3});
  Bytes out(3);
  CHECK_THROWS_AS((vision::pad<std::uint8_t>({row.data(), 1, 3, 1}, {1, 0, 0, 0}, {out.data(), 1, 3, 1})), ValueError);
}

TEST_CASE("a fill is brought into 0 to 255 for bytes, and stays as it is for floats") {
  const auto fill_of = [](auto pixel, std::vector<float> fill, int channels) {
    using T = decltype(pixel);
    std::vector<T> in(std::size_t(channels), T(1)), padded(2 * in.size()), moved(in.size());
    vision::pad<T>({in.data(), 1, 1, channels}, {1, 0, 0, 0}, {padded.data(), 1, 2, channels}, Border::constant, fill);
    vision::warp_affine<T>({in.data(), 1, 1, channels}, {.c = 5}, {moved.data(), 1, 1, channels},
                           vision::Inter::nearest, fill);
    padded.resize(in.size());
    CHECK(padded == moved);
    return padded;
  };
  const std::uint8_t byte = 0;
  CHECK(fill_of(byte, {300, -1, std::nanf("")}, 3) == Bytes{255, 0, 0});
  CHECK(fill_of(byte, {1e20f}, 2) == Bytes{255, 255});
  CHECK(fill_of(byte, {254.9f, 255, 0.5f, -1e20f}, 4) == Bytes{254, 255, 0, 0});
  CHECK(fill_of(byte, {}, 2) == Bytes{0, 0});
  CHECK(fill_of(0.0f, {300, -1}, 2) == std::vector<float>{300, -1});
  CHECK_THROWS_AS(fill_of(byte, {1, 2}, 3), ValueError);
}

TEST_CASE("mirroring and channels first: all widths and channels, beside plain loops") {
  for (const int channels : {1, 2, 3, 4})
    for (int width = 1; width < 40; ++width) {
      const io::Pixels p = smooth_image(3, width, channels);
      const auto in = vision::view(p);
      Bytes flipped(p.bytes.size()), planes(p.bytes.size());
      vision::flip_horizontal<std::uint8_t>(in, {flipped.data(), 3, width, channels});
      vision::hwc_to_chw(in, planes.data());
      const vision::ChannelStatistics statistics{{10, 20, 30, 40}, {2, 3, 5, 7}};
      std::vector<float> pixels(p.bytes.size()), normal(p.bytes.size()), floats(p.bytes.begin(), p.bytes.end()),
          same(normal);
      vision::normalize(in, statistics, pixels.data());
      vision::normalize_to_chw(in, statistics, normal.data());
      vision::normalize_to_chw(ImageView<const float>{floats.data(), 3, width, channels}, statistics, same.data());
      CHECK(normal == same);
      bool equal = true;
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < width; ++x)
          for (int c = 0; c < channels; ++c) {
            const std::uint8_t value = in.at(y, x)[c];
            const std::size_t hwc = std::size_t((y * width + x) * channels + c),
                              chw = std::size_t((c * 3 + y) * width + x);
            const float expected = (float(value) - statistics.mean[c]) * (1 / statistics.std[c]);
            equal = equal && flipped[std::size_t((y * width + width - 1 - x) * channels + c)] == value &&
                    planes[chw] == value && pixels[hwc] == expected && normal[chw] == expected;
          }
      CHECK(equal);
    }
}

TEST_CASE("brightness, contrast, saturation within 1 of PIL's ImageEnhance; hue turns the wheel") {
  const Bytes in{200, 100, 50, 10, 20, 30, 255, 255, 0};
  const auto adjusted = [&](auto adjust, float factor) {
    Bytes out(in.size());
    adjust(ImageView<const std::uint8_t>{in.data(), 1, 3, 3}, factor, ImageView<std::uint8_t>{out.data(), 1, 3, 3});
    return out;
  };
  CHECK(largest_difference(adjusted(vision::adjust_brightness, 1.5f), {255, 150, 75, 15, 30, 45, 255, 255, 0}) <= 1);
  CHECK(largest_difference(adjusted(vision::adjust_brightness, 0.5f), {100, 50, 25, 5, 10, 15, 127, 127, 0}) <= 1);
  // gray 124, 18, 226: mean 123
  CHECK(largest_difference(adjusted(vision::adjust_contrast, 0.5f), {161, 111, 86, 66, 71, 76, 189, 189, 61}) <= 1);
  CHECK(largest_difference(adjusted(vision::adjust_saturation, 0), {124, 124, 124, 18, 18, 18, 226, 226, 226}) <= 1);
  CHECK(largest_difference(adjusted(vision::adjust_saturation, 2), {255, 76, 0, 2, 22, 42, 255, 255, 0}) <= 1);
  CHECK(adjusted(vision::adjust_hue, 0) == in);
  CHECK(largest_difference(adjusted(vision::adjust_hue, 1.0f / 3), {50, 200, 100, 30, 10, 20, 0, 255, 255}) <= 1);
  CHECK(largest_difference(adjusted(vision::adjust_hue, -0.5f), {50, 150, 200, 30, 20, 10, 0, 0, 255}) <= 1);
}

TEST_CASE("the size of a turned image: that of OpenCV's RotatedRect, rounded, and a cap") {
  using vision::ImageSize, vision::rotated_size;
  CHECK(rotated_size(100, 60, 30) == ImageSize{117, 102});
  CHECK(rotated_size(100, 60, 45) == ImageSize{113, 113});
  CHECK(rotated_size(33, 100, -71) == ImageSize{105, 64});
  CHECK(rotated_size(375, 500, 10) == ImageSize{456, 558});
  CHECK(rotated_size(5, 7, 90) == ImageSize{7, 5});
  CHECK(rotated_size(5, 7, -540) == ImageSize{5, 7});
  CHECK(rotated_size(1, 1, 45) == ImageSize{1, 1});
  CHECK_THROWS_AS(rotated_size(1, 100'000, 45), ValueError);
  CHECK_THROWS_AS(rotated_size(2'000'000'000, 2'000'000'000, 45), ValueError);
  CHECK_THROWS_AS(rotated_size(5, 7, std::nan("")), ValueError);
}

TEST_CASE("affine maps: by hand, and what comes from outside") {
  const Bytes in{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto mapped = [&](const vision::Affine& affine, vision::Inter inter = vision::Inter::nearest) {
    const float fill = 77;
    Bytes out(in.size());
    vision::warp_affine<std::uint8_t>({in.data(), 3, 3, 1}, vision::inverse_map(affine, 3, 3), {out.data(), 3, 3, 1},
                                      inter, {&fill, 1});
    return out;
  };
  for (const vision::Inter inter : {vision::Inter::nearest, vision::Inter::linear}) {
    CHECK(mapped({}, inter) == in);
    CHECK(mapped({.angle = 90}, inter) == Bytes{3, 6, 9, 2, 5, 8, 1, 4, 7});  // counter-clockwise
    CHECK(mapped({.angle = 180}, inter) == Bytes{9, 8, 7, 6, 5, 4, 3, 2, 1});
    CHECK(mapped({.right = 1}, inter) == Bytes{77, 1, 2, 77, 4, 5, 77, 7, 8});
    CHECK(mapped({.down = -1}, inter) == Bytes{4, 5, 6, 7, 8, 9, 77, 77, 77});
  }
  CHECK(mapped({.scale = 2}, vision::Inter::linear) == Bytes{3, 4, 4, 5, 5, 6, 6, 7, 7});
  CHECK(mapped({.shear_x = 45}) == Bytes{2, 3, 77, 4, 5, 6, 77, 7, 8});
  // one row, another image behind it: the largest place below 0.5 is row 0
  const Bytes rows{7, 200};
  Bytes out(1);
  for (const double below : {0.49999999999999994, -0.5})
    for (const bool across : {false, true}) {
      const vision::InverseMap map{.c = across ? below : 0, .f = across ? 0 : below};
      vision::warp_affine<std::uint8_t>({rows.data(), 1, 1, 1}, map, {out.data(), 1, 1, 1});
      CHECK(out[0] == 7);
    }
  CHECK_THROWS_AS(mapped({.scale = 0}), ValueError);
  CHECK_THROWS_AS(mapped({.shear_x = 90}), ValueError);
}
