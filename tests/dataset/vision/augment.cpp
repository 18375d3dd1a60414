// Random colours, rotations, patches, mixed batches, labels: what each changes and what it keeps.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/batch/bucket_batch_by_length.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/source/from_arrays.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/vision/vision.hpp>

#include "../support.hpp"

using namespace tenon;
using dataset::Column, dataset::map;

namespace {

/// 40 images of 6 x 8 pixels; all elements of image i are i + 1, its label is i mod 4.
template <class T>
auto images() {
  std::vector<T> pixels;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 40; ++i) {
    pixels.insert(pixels.end(), 6 * 8 * 3, T(i + 1));
    labels.push_back(i % 4);
  }
  return dataset::from_arrays(dataset::column<Shape<6, 8, 3>>(std::move(pixels)),
                              dataset::column<Shape<>>(std::move(labels)));
}
template <class D>
auto first_image(const D& data) {
  auto rows = data.open();
  rows.start(0);
  const auto values = rows.next()->template values<0>();
  return std::vector(values.begin(), values.end());
}

}  // namespace

TEST_CASE("ranges of one number do what the functions do") {
  const auto brighter = first_image(images<std::uint8_t>() | map<0>(vision::RandomColorAdjust{.brightness = {20, 20}}));
  CHECK(std::all_of(brighter.begin(), brighter.end(), [](int x) { return x == 20; }));
  CHECK(first_image(images<std::uint8_t>() | map<0>(vision::RandomColorAdjust{})) == std::vector<std::uint8_t>(144, 1));
  CHECK(first_image(images<float>() | map<0>(vision::RandomRotation{.degrees = {180, 180}})) ==
        std::vector<float>(144, 1));
  const auto moved = first_image(images<float>() | map<0>(vision::RandomAffine{.translate_x = {0.25f, 0.25f}}));
  CHECK(moved[0] == 0);
  CHECK(moved[5] == 0);
  CHECK(moved[6] == 1);
  CHECK(std::accumulate(moved.begin(), moved.end(), 0.0f) == 6 * 6 * 3);
  CHECK_THROWS_AS(first_image(images<std::uint8_t>() | map<0>(vision::RandomColorAdjust{.hue = {0, 1}})), ValueError);
}

TEST_CASE("RandomRotation<expand>: as large as the turned image needs, the pixels of PIL") {
  const std::vector<std::uint8_t> pixels{10, 200, 30, 120, 50,  90,  240, 20, 130,
                                         70, 180, 60, 5,   150, 100, 220, 40, 250};
  const auto image = dataset::from_arrays(dataset::column<Shape<3, 6, 1>>(pixels));
  const auto turned = [&](float angle, vision::Inter inter) {
    return image | map<0>(vision::RandomRotation<vision::expand>{{angle, angle}, inter, 99});
  };
  using Turned = dataset::ColumnAt<decltype(turned(0, vision::Inter::linear))::columns, 0>;
  static_assert(std::is_same_v<Turned, Column<std::uint8_t, dataset::Ragged<dataset::any, dataset::any, 1>>>);
  // Image.rotate(60, resample, expand=True, fillcolor=99) of Pillow 13.0.0, 7 x 6 pixels
  CHECK(first_image(turned(60, vision::Inter::nearest)) ==
        std::vector<std::uint8_t>{99,  99,  99, 90,  99,  99,  99,  99, 50,  50, 60, 250, 99, 99,
                                  120, 180, 40, 99,  99,  30,  130, 70, 220, 99, 99, 200, 20, 100,
                                  99,  99,  10, 240, 150, 150, 99,  99, 99,  99, 5,  99,  99, 99});
  const std::vector<int> smooth{99,  99,  99, 90,  99, 99,  99, 99,  51,  92, 117, 250, 99, 99,
                                109, 133, 84, 99,  99, 72,  87, 130, 175, 99, 99,  151, 66, 106,
                                99,  99,  10, 169, 99, 149, 99, 99,  99,  99, 5,   99,  99, 99};
  const auto mixed = first_image(turned(60, vision::Inter::linear));
  REQUIRE(mixed.size() == smooth.size());
  for (std::size_t i = 0; i < smooth.size(); ++i) CHECK(std::abs(mixed[i] - smooth[i]) <= 1);
  const std::vector<std::uint8_t> quarter{90, 60,  250, 50,  180, 40,  120, 70,  220,
                                          30, 130, 100, 200, 20,  150, 10,  240, 5};
  for (const vision::Inter inter : {vision::Inter::nearest, vision::Inter::linear}) {
    CHECK(first_image(turned(0, inter)) == pixels);
    CHECK(first_image(turned(90, inter)) == quarter);
    CHECK(first_image(turned(-270, inter)) == quarter);
    CHECK(first_image(turned(180, inter)) == std::vector<std::uint8_t>(pixels.rbegin(), pixels.rend()));
  }
  // each sample by its own angle, brought to one size
  const auto many = images<float>() | map<0>(vision::RandomRotation<vision::expand>{.degrees = {-90, 90}});
  std::set<std::size_t> sizes;
  for (const auto& row : many) sizes.insert(row.values<0>().size());
  CHECK(sizes.size() > 5);
  long seen = 0;
  for (const auto& row : many | map<0>(vision::CenterCrop<6, 8>{}) | dataset::batch(8)) seen += row.n;
  CHECK(seen == 40);
  const auto line = dataset::from_arrays(dataset::column<Shape<1, 30000, 1>>(std::vector<std::uint8_t>(30000)));
  CHECK_THROWS_WITH_AS(first_image(line | map<0>(vision::RandomRotation<vision::expand>{.degrees = {45, 45}})),
                       doctest::Contains("turned by 45 degrees would become one of more than 178956970 pixels"),
                       ValueError);
}

TEST_CASE("ranges and probabilities that are no numbers are refused, not drawn from") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto refused = [](auto transform) {
    return support::message<ValueError>([&] { first_image(images<float>() | map<0>(transform)); });
  };
  CHECK(refused(vision::RandomRotation{.degrees = {nan, 10}}) ==
        "A random number cannot be drawn from nan .. 10; give the range two finite ends. (data set: row 0 of epoch 0, "
        "sample 0, in RandomRotation)");
  CHECK(support::has(refused(vision::RandomRotation<vision::expand>{.degrees = {0, nan}}), "0 .. nan; give"));
  CHECK(support::has(refused(vision::RandomAffine{.degrees = {-inf, inf}}), "-inf .. inf; give"));
  CHECK(support::has(refused(vision::RandomAffine{.translate_x = {nan, nan}}), "nan .. nan; give"));
  CHECK(support::has(refused(vision::RandomAffine{.scale = {1, inf}}), "1 .. inf; give"));
  for (const float prob : {nan, -0.5f, 1.5f}) {
    CHECK(support::has(refused(vision::RandomHorizontalFlip{prob}), "The probability of a flip is "));
    CHECK(support::has(refused(vision::RandomVerticalFlip{prob}), "it must be in 0 .. 1."));
  }
  for (const vision::Affine& wrong : {vision::Affine{.angle = double(nan)}, vision::Affine{.right = double(inf)},
                                      vision::Affine{.down = double(nan)}, vision::Affine{.scale = double(inf)}})
    CHECK_THROWS_AS(vision::inverse_map(wrong, 4, 5), ValueError);
}

TEST_CASE("CutOut: black squares that may reach beyond the image") {
  long black = 0, images_seen = 0;
  for (const auto& row : images<float>() | map<0>(vision::CutOut{.length = 3})) {
    long zeros = 0;
    for (const float x : row.values<0>()) zeros += x == 0;
    CHECK(zeros % 3 == 0);
    CHECK(zeros >= 3 * 2 * 2);  // at least from a corner
    CHECK(zeros <= 3 * 3 * 3);
    black += zeros;
    ++images_seen;
  }
  CHECK(images_seen == 40);
  CHECK(black < 40 * 27);
  CHECK_THROWS_AS(first_image(images<float>() | map<0>(vision::CutOut{.length = 0})), ValueError);
}

TEST_CASE("labels: OneHot, TypeCast, Rescale") {
  const auto labels =
      images<std::uint8_t>() | map<1>(vision::OneHot<4>{}) | map<0>(vision::Rescale{.shift = 1}) | dataset::batch(8);
  static_assert(std::is_same_v<dataset::ColumnAt<decltype(labels)::columns, 1>, Column<float, Shape<dyn, 4>>>);
  for (const auto& row : labels) {
    CHECK(row.values<1>()[4] == 0);
    CHECK(row.values<1>()[5] == 1);
    break;
  }
  CHECK(first_image(images<std::uint8_t>() | map<0>(vision::Rescale{.shift = 1}))[0] == 1 / 255.0f + 1);
  CHECK_THROWS_AS(first_image(images<float>() | map<1>(vision::OneHot<1>{}) | dataset::take(2) | dataset::batch(2)),
                  ValueError);
  const std::vector<float> numbers{-5, 1.9f, 300, std::nanf("")};
  const auto data = dataset::from_arrays(dataset::column<Shape<4>>(numbers)) | map<0>(vision::TypeCast<std::uint8_t>{});
  CHECK(first_image(data) == std::vector<std::uint8_t>{0, 1, 255, 0});
}

TEST_CASE("MixUpBatch and CutMixBatch: images and labels by the same share, the sum of labels stays 1") {
  const auto batches = images<float>() | map<0>(vision::HWC2CHW{}) | map<1>(vision::OneHot<4>{}) | dataset::batch(40);
  const auto check_labels = [](const auto& row) {
    for (long i = 0; i < 40; ++i) {
      float sum = 0;
      for (int c = 0; c < 4; ++c) sum += row.template values<1>()[std::size_t(i * 4 + c)];
      CHECK(sum == doctest::Approx(1));
    }
  };
  for (const auto& row : batches | vision::MixUpBatch{.alpha = 0.4f}) {
    check_labels(row);
    // each image is of one colour still, and all colours together are as bright as before
    const auto x = row.values<0>();
    float sum = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      CHECK(x[i * 144] == x[i * 144 + 143]);
      sum += x[i * 144];
    }
    CHECK(sum == doctest::Approx(40 * 41 / 2));
    // image i shares with image j: its colour is s (i + 1) + (1 - s) (j + 1),
    // its label s at i mod 4 and 1 - s at j mod 4
    const auto labels = row.values<1>();
    float s = 1;
    for (std::size_t i = 0; i < 40; ++i) s = std::min(s, labels[i * 4 + i % 4]);
    REQUIRE(s > 0.01f);
    REQUIRE(s < 0.99f);
    std::set<long> partners;
    for (std::size_t i = 0; i < 40; ++i) {
      const float partner = (x[i * 144] - s * float(i + 1)) / (1 - s) - 1;
      const long j = std::lround(partner);
      CHECK(partner == doctest::Approx(j).epsilon(1e-3));
      partners.insert(j);
      for (std::size_t c = 0; c < 4; ++c)
        CHECK(labels[i * 4 + c] == doctest::Approx((c == i % 4 ? s : 0) + (long(c) == j % 4 ? 1 - s : 0)));
    }
    CHECK(partners.size() == 40);
    CHECK(*partners.begin() == 0);
    CHECK(*partners.rbegin() == 39);
  }
  int mixed = 0;
  for (const auto& row : batches | vision::CutMixBatch{}) {
    check_labels(row);
    const auto x = row.values<0>();
    for (std::size_t i = 0; i < 40; ++i) {
      long own = 0;
      for (std::size_t k = 0; k < 144; ++k) own += x[i * 144 + k] == float(i + 1);
      const float share = float(own) / 144;
      const float label = row.values<1>()[i * 4 + i % 4];
      if (label < 1) {
        CHECK(label == doctest::Approx(share));
        ++mixed;
      }
      CHECK(x[i * 144] == x[i * 144 + 48]);  // the same box in each channel
    }
  }
  CHECK(mixed > 0);
  for (const auto& row : batches | vision::CutMixBatch{.prob = 0}) CHECK(row.values<0>()[144] == 2);
  CHECK_THROWS_AS((batches | vision::MixUpBatch{.alpha = 0}), ValueError);
  CHECK_THROWS_AS((batches | vision::MixUpBatch{.alpha = std::numeric_limits<float>::infinity()}), ValueError);
}

TEST_CASE("MixUpBatch and CutMixBatch mix the images of each bucket in its own shape") {
  using Image = Column<float, dataset::Ragged<dataset::any, dataset::any, 3>, "image">;
  const auto data = dataset::generator<dataset::Columns<Image, Column<float, Shape<2>, "label">>>(
                        12,
                        [](long i, auto image, std::span<float> label) {
                          const long side = i < 8 ? 6 : 8;
                          std::fill_n(image.resize(side, side, 3), side * side * 3, float(i));
                          label[i % 2] = 1;
                        }) |
                    dataset::bucket_batch_by_length<"image", Shape<6, 6>{}, Shape<8, 8>{}>(4);
  const auto check = [](const auto& batches, bool boxes) {
    int rows = 0;
    for (const auto& row : batches)
      row.visit([&](const auto& one) {
        const auto images = one.template values<0>();
        const long pixels = long(images.size()) / one.n, first = 4 * rows++;
        for (long i = 0; i < one.n; ++i) {
          const auto image = images.subspan(std::size_t(i * pixels), std::size_t(pixels));
          // an image of one number is one of one number after a mix-up, and has two of them at most with a box
          const std::set<float> numbers(image.begin(), image.end());
          CHECK(numbers.size() <= (boxes ? 2u : 1u));
          for (const float number : numbers) CHECK((number >= float(first) && number <= float(first + 3)));
        }
      });
    CHECK(rows == 3);
  };
  check(data | vision::MixUpBatch{.alpha = 0.4f}, false);
  check(data | vision::CutMixBatch{}, true);
  for (const float prob : {-0.1f, 30.0f, std::numeric_limits<float>::quiet_NaN()})
    CHECK_THROWS_AS((data | vision::CutMixBatch{.prob = prob}), ValueError);
}

TEST_CASE("Compose is the same as its transforms in map") {
  const vision::Compose augment{vision::RandomHorizontalFlip{}, vision::CutOut{.length = 2}, vision::HWC2CHW{}};
  const auto a = images<float>() | map<0>(augment);
  const auto b =
      images<float>() | map<0>(vision::RandomHorizontalFlip{}, vision::CutOut{.length = 2}, vision::HWC2CHW{});
  static_assert(std::is_same_v<decltype(a)::columns, decltype(b)::columns>);
  CHECK(first_image(a) == first_image(b));
}
