// Resizing against numbers of OpenCV 5.0.0 (nearest, linear, cubic, area) and Pillow 13.0.0 (with antialias), made by
// tests/vision/libraries.py, which compares many more sizes with the libraries themselves.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

#include <tenon/vision/resize.hpp>

using namespace tenon;
using vision::ImageView, vision::Inter, vision::ResizeOptions;
using Bytes = std::vector<std::uint8_t>;

namespace {
/// (13 x + 29 y + 3 x y) mod 256, in each channel shifted by one row.
Bytes pattern(int height, int width, int channels) {
  Bytes bytes;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) bytes.push_back(std::uint8_t(13 * x + 29 * (y + c) + 3 * x * (y + c)));
  return bytes;
}
Bytes resized(const Bytes& in, ImageView<int> from, ImageView<int> to, const ResizeOptions& options) {
  Bytes out(to.size());
  vision::resize<std::uint8_t>({in.data(), from.height, from.width, from.channels},
                               {out.data(), to.height, to.width, to.channels}, options);
  return out;
}
bool within_one(const Bytes& a, const Bytes& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a.size() != b.size() || std::abs(int(a[i]) - int(b[i])) > 1) return false;
  return true;
}
struct Case {
  Inter inter;
  bool antialias;
  Bytes expected;
};
}  // namespace

TEST_CASE("smaller: 12 x 16 to 4 x 5") {
  const Case cases[]{{Inter::nearest, false, {0,   39, 78,  117, 156, 87, 153, 219, 29,  95,
                                              174, 11, 104, 197, 34,  5,  125, 245, 109, 229}},
                     {Inter::linear, false, {47,  98, 149, 200, 251, 144, 223, 48,  128, 207,
                                             215, 93, 202, 55,  164, 81,  219, 101, 238, 120}},
                     {Inter::cubic, false, {47,  98, 149, 200, 255, 144, 237, 48,  126, 207,
                                            221, 95, 202, 41,  162, 83,  233, 100, 255, 118}},
                     {Inter::area, false, {47,  98, 149, 152, 139, 144, 149, 90,  127, 154,
                                           145, 94, 159, 102, 136, 82,  171, 116, 142, 124}},
                     {Inter::linear, true, {60,  109, 146, 148, 146, 144, 140, 110, 124, 139,
                                            131, 105, 146, 122, 129, 93,  159, 121, 138, 128}},
                     {Inter::cubic, true, {50,  109, 150, 147, 143, 151, 144, 106, 124, 139,
                                           133, 97,  150, 122, 127, 86,  168, 118, 138, 128}},
                     {Inter::antialias, false, {43,  113, 153, 144, 143, 158, 145, 106, 123, 137,
                                                131, 90,  152, 126, 126, 82,  175, 117, 136, 130}}};
  for (const auto& [inter, antialias, expected] : cases) {
    CAPTURE(int(inter));
    CHECK(within_one(resized(pattern(12, 16, 1), {nullptr, 12, 16, 1}, {nullptr, 4, 5, 1}, {inter, antialias}),
                     expected));
  }
}

TEST_CASE("larger: 12 x 16 to 15 x 18, row 7") {
  const Case cases[]{
      {Inter::nearest, false, {145, 145, 173, 201, 229, 1, 29, 57, 85, 113, 113, 141, 169, 197, 225, 253, 25, 53}},
      {Inter::linear, false, {160, 184, 210, 158, 71, 33, 59, 85, 112, 138, 164, 190, 138, 115, 141, 132, 65, 90}},
      {Inter::cubic, false, {158, 180, 243, 183, 44, 0, 43, 89, 112, 137, 161, 223, 147, 100, 152, 130, 30, 67}},
      {Inter::area, false, {160, 185, 211, 157, 71, 33, 58, 84, 110, 140, 165, 191, 137, 115, 141, 134, 64, 90}}};
  for (const auto& [inter, antialias, expected] : cases) {
    CAPTURE(int(inter));
    const Bytes all = resized(pattern(12, 16, 1), {nullptr, 12, 16, 1}, {nullptr, 15, 18, 1}, {inter, antialias});
    CHECK(within_one(Bytes(all.begin() + 7 * 18, all.begin() + 8 * 18), expected));
  }
}

TEST_CASE("channels do not meet, floats and bytes agree, the same size is the same image") {
  for (const Inter inter : {Inter::nearest, Inter::antialias, Inter::linear, Inter::cubic, Inter::area})
    for (const int channels : {1, 2, 3, 4})
      for (const auto& [height, width] : {std::pair(7, 5), {12, 16}, {40, 61}, {1, 1}, {3, 50}}) {
        const Bytes in = pattern(12, 16, channels);
        const ImageView<int> from{nullptr, 12, 16, channels}, to{nullptr, height, width, channels};
        const Bytes out = resized(in, from, to, {inter, true});
        if (height == 12) CHECK(out == in);
        std::vector<float> floats(in.begin(), in.end()), result(out.size());
        vision::resize<float>({floats.data(), 12, 16, channels}, {result.data(), height, width, channels},
                              {inter, true});
        for (int c = 0; c < channels; ++c) {
          Bytes plane;
          for (std::size_t i = std::size_t(c); i < in.size(); i += std::size_t(channels)) plane.push_back(in[i]);
          const Bytes alone = resized(plane, {nullptr, 12, 16, 1}, {nullptr, height, width, 1}, {inter, true});
          for (std::size_t i = 0; i < alone.size(); ++i) {
            const std::size_t place = i * std::size_t(channels) + std::size_t(c);
            CHECK(out[place] == alone[i]);
            const float inside = result[place] < 0 ? 0 : result[place] > 255 ? 255 : result[place];
            if (inter == Inter::nearest || inter == Inter::linear || inter == Inter::area)  // not clipped between
              CHECK(std::abs(inside - float(alone[i])) <= 0.5f);
          }
        }
      }
}

TEST_CASE("a box is the same as a crop before; it may begin between pixels") {
  const Bytes in = pattern(12, 16, 3);
  Bytes part;
  for (int y = 2; y < 9; ++y) part.insert(part.end(), in.begin() + (y * 16 + 5) * 3, in.begin() + (y * 16 + 14) * 3);
  for (const Inter inter : {Inter::nearest, Inter::antialias, Inter::linear, Inter::cubic, Inter::area})
    for (const bool antialias : {false, true})
      for (const int size : {4, 7, 20})
        CHECK(resized(in, {nullptr, 12, 16, 3}, {nullptr, size, size, 3}, {inter, antialias, {2, 5, 7, 9}}) ==
              resized(part, {nullptr, 7, 9, 3}, {nullptr, size, size, 3}, {inter, antialias}));
  const Bytes two{0, 100};
  CHECK(resized(two, {nullptr, 1, 2, 1}, {nullptr, 1, 1, 1}, {Inter::linear, false, {0, 0.25, 1, 1}}) == Bytes{25});
  CHECK_THROWS_AS(resized(two, {nullptr, 1, 2, 1}, {nullptr, 1, 1, 1}, {Inter::linear, false, {0, 1.5, 1, 1}}),
                  ValueError);
  CHECK_THROWS_AS(resized(two, {nullptr, 1, 2, 1}, {nullptr, 1, 0, 1}, {}), ValueError);
  CHECK_THROWS_AS(resized(two, {nullptr, 1, 2, 1}, {nullptr, 1, 1, 3}, {}), ValueError);
}

TEST_CASE("one number is the shorter side") {
  CHECK(vision::size_of_shorter_side(375, 500, 256) == vision::ImageSize{256, 341});
  CHECK(vision::size_of_shorter_side(500, 375, 256) == vision::ImageSize{341, 256});
  CHECK(vision::size_of_shorter_side(50, 50, 256) == vision::ImageSize{256, 256});
  CHECK(vision::size_of_shorter_side(1, 178'956'970, 1) == vision::ImageSize{1, 178'956'970});
}

TEST_CASE("a thin image whose longer side would have more pixels than are allowed, or than an int holds") {
  const auto refusal = [](int height, int width, int shorter) -> std::string {
    try {
      vision::size_of_shorter_side(height, width, shorter);
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(
      refusal(1, 65535, 256) ==
      "Resize to a shorter side of 256: the image of 1 x 65535 pixels would become one of more than 178956970 pixels. "
      "Crop it first, or name height and width.");
  CHECK(refusal(0, 7, 32) == "Resize to a shorter side of 32: the image of 0 x 7 pixels is empty.");
  CHECK(refusal(7, 0, 32) != "");
  CHECK(refusal(178'956'970, 1, 24) != "");
  CHECK(refusal(1, 178'956'970, 2) != "");
  CHECK(refusal(2'147'483'647, 2'147'483'646, 2'147'483'647) != "");
}
