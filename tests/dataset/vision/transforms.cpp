// Transforms of images in a data set: from files to batches.
// link: jpeg png
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../../vision/support.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/source/from_arrays.hpp>
#include <tenon/dataset/vision/crop.hpp>
#include <tenon/dataset/vision/decode.hpp>
#include <tenon/dataset/vision/flip.hpp>
#include <tenon/dataset/vision/normalize.hpp>
#include <tenon/dataset/vision/random_resized_crop.hpp>
#include <tenon/dataset/vision/resize.hpp>

using namespace support;
using dataset::any, dataset::Column, dataset::Columns, dataset::map, dataset::Ragged;

namespace {

/// Image files of unequal sizes, from memory, and their numbers.
struct Files : dataset::Source<Files> {
  using columns = Columns<Column<std::uint8_t, Ragged<any>, "image">, Column<std::int32_t, Shape<>, "label">>;
  std::vector<std::string> files;

  explicit Files(std::vector<std::string> f) : files(std::move(f)) {}
  long size() const { return long(files.size()); }
  void sample(long index, void* const* out) const {
    const std::string& file = files[std::size_t(index)];
    auto* to = static_cast<dataset::SampleSlot<Column<std::uint8_t, Ragged<any>>>::type*>(
        dataset::SampleSlot<Column<std::uint8_t, Ragged<any>>>(out[0]).resize(long(file.size())));
    std::copy(file.begin(), file.end(), to);
    *static_cast<std::int32_t*>(out[1]) = std::int32_t(index);
  }
};

template <class D, int I = 0>
using ColumnOf = dataset::ColumnAt<typename D::columns, I>;

std::vector<io::Pixels> scenes() {
  std::vector<io::Pixels> all;
  for (int i = 0; i < 6; ++i) all.push_back(smooth_image(30 + 5 * i, 60 - 4 * i, 3));
  return all;
}
/// As PNG, which keeps every pixel.
Files png_files() {
  std::vector<std::string> files;
  for (const io::Pixels& scene : scenes()) files.push_back(io::encode_png(scene));
  return Files(files);
}
template <class D>
std::vector<std::vector<std::uint8_t>> images_of(const D& data, std::uint64_t epoch = 0) {
  std::vector<std::vector<std::uint8_t>> all(std::size_t(data.size()));
  for (const auto& row : dataset::rows(data, epoch)) {
    const auto values = row.template values<"image">();
    all[std::size_t(row.template values<"label">()[0])].assign(values.begin(), values.end());
  }
  return all;
}

}  // namespace

#if defined(TENON_WITH_PNG)
TEST_CASE("files become batches; each stage says its shape in the type") {
  const auto decoded = png_files() | map<"image">(vision::Decode{});
  static_assert(std::is_same_v<ColumnOf<decltype(decoded)>, Column<std::uint8_t, Ragged<any, any, 3>, "image">>);
  const auto images = images_of(decoded);
  for (std::size_t i = 0; i < 6; ++i) CHECK(images[i] == scenes()[i].bytes);

  const auto shorter = decoded | map<"image">(vision::Resize<20>{});
  static_assert(std::is_same_v<ColumnOf<decltype(shorter)>, Column<std::uint8_t, Ragged<any, any, 3>, "image">>);
  for (const auto& row : shorter) CHECK(std::min(row[0].shape()[0], row[0].shape()[1]) == 20);

  const float mean[]{100, 110, 120}, std[]{50, 51, 52};
  const auto train =
      decoded |
      map<"image">(vision::Resize<24, 32>{}, vision::Normalize{{100, 110, 120}, {50, 51, 52}}, vision::HWC2CHW{}) |
      dataset::batch(4);
  static_assert(std::is_same_v<ColumnOf<decltype(train)>, Column<float, Shape<dyn, 3, 24, 32>, "image">>);
  const auto fused = decoded |
                     map<"image">(vision::Resize<24, 32>{}, vision::NormalizeToCHW{{100, 110, 120}, {50, 51, 52}}) |
                     dataset::batch(4);
  static_assert(std::is_same_v<ColumnOf<decltype(fused)>, ColumnOf<decltype(train)>>);
  auto one = train.open();
  auto other = fused.open();
  one.start(0);
  other.start(0);
  Bytes resized(24 * 32 * 3);
  vision::resize<std::uint8_t>(vision::view(std::as_const(scenes()[1])), {resized.data(), 24, 32, 3});
  const auto a = one.next()->values<0>(), b = other.next()->values<0>();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  for (std::size_t pixel = 0; pixel < 24 * 32; ++pixel)
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(a[(3 + c) * 24 * 32 + pixel] == (float(resized[pixel * 3 + c]) - mean[c]) * (1 / std[c]));
}

TEST_CASE("crops and margins: shapes, places, and what is too small") {
  const auto decoded = png_files() | map<"image">(vision::Decode{});
  const auto centers = images_of(decoded | map<"image">(vision::CenterCrop<21, 20>{}));
  const io::Pixels first = scenes()[0];  // 30 x 60
  CHECK(std::equal(centers[0].begin(), centers[0].begin() + 60, vision::view(first).at(4, 20)));
  const auto beyond = images_of(decoded | map<"image">(vision::CenterCrop<70>{}));
  CHECK(beyond[0][0] == 0);
  CHECK(std::equal(first.bytes.begin(), first.bytes.begin() + 60, &beyond[0][std::size_t((20 * 70 + 5) * 3)]));

  const auto padded = decoded | map<"image">(vision::CenterCrop<4>{}, vision::Pad<1, 2>{.fill = 9});
  static_assert(std::is_same_v<ColumnOf<decltype(padded)>, Column<std::uint8_t, Shape<8, 6, 3>, "image">>);
  CHECK(images_of(padded)[0][0] == 9);

  const auto cropped = images_of(decoded | map<"image">(vision::RandomCrop<8>{}));
  const io::Pixels scene = scenes()[2];
  bool found = false;
  for (int y = 0; y + 8 <= scene.height; ++y)
    for (int x = 0; x + 8 <= scene.width; ++x) {
      Bytes part(8 * 8 * 3);
      vision::crop<std::uint8_t>(vision::view(scene), {y, x, 8, 8}, {part.data(), 8, 8, 3});
      found = found || part == cropped[2];
    }
  CHECK(found);
  CHECK(images_of(decoded | map<"image">(vision::RandomCrop<64>{.pad_if_needed = true}))[0].size() == 64 * 64 * 3);
  CHECK(message<ValueError>([&] {
          images_of(decoded | map<"image">(vision::RandomCrop<40>{.padding = {1, 1, 1, 1}}));
        }) == "RandomCrop<40, 40>: the image has 30 x 60 pixels, with its padding 32 x 62. Resize it first, or set "
              "pad_if_needed. (data set: row 0 of epoch 0, sample 0, in RandomCrop)");
}

TEST_CASE("mirrored: never, always, sometimes, the same for any number of workers") {
  const auto decoded = png_files() | map<"image">(vision::Decode{});
  const auto plain = images_of(decoded);
  CHECK(images_of(decoded | map<"image">(vision::RandomHorizontalFlip{.prob = 0})) == plain);
  const auto mirrored = images_of(decoded | map<"image">(vision::RandomHorizontalFlip{.prob = 1}));
  const auto upside_down = images_of(decoded | map<"image">(vision::RandomVerticalFlip{.prob = 1}));
  for (std::size_t i = 0; i < 6; ++i) {
    const io::Pixels scene = scenes()[i];
    for (int y = 0; y < scene.height; ++y)
      for (int x = 0; x < scene.width; ++x)
        for (int c = 0; c < 3; ++c) {
          const std::size_t place = std::size_t((y * scene.width + x) * 3 + c);
          CHECK(mirrored[i][place] == vision::view(scene).at(y, scene.width - 1 - x)[c]);
          CHECK(upside_down[i][place] == vision::view(scene).at(scene.height - 1 - y, x)[c]);
        }
  }
  dataset::set_seed(3);
  const auto random = decoded | map<"image">(vision::RandomResizedCrop<16>{}, vision::RandomHorizontalFlip{});
  const auto expected = images_of(random);
  CHECK(images_of(random, 1) != expected);
  for (const int workers : {1, 2, 8})
    CHECK(images_of(random | dataset::shuffle(6) | dataset::prefetch(2, {.num_parallel_workers = workers})) ==
          expected);
  dataset::set_seed(std::nullopt);
}

TEST_CASE("a wrong row says which") {
  auto files = png_files();
  files.files[4].resize(50);
  const auto data = files | map<"image">(vision::Decode{});
  CHECK(
      message<RuntimeError>([&] { images_of(data); }) ==
      "Cannot decode a PNG image of 50 bytes: it is truncated. Download or copy it again. (data set: row 4 of epoch 0, "
      "sample 4, in Decode)");
  const auto zero = png_files() | map<"image">(vision::Decode{}, vision::Normalize{{1, 2, 3}, {1, 2}});
  CHECK(message<ValueError>([&] {
          for (const auto& row : zero) static_cast<void>(row);
        }).substr(0, 50) == "Normalize: std of channel 2 is 0, it must be above");
}
#endif

#if defined(TENON_WITH_JPEG)
TEST_CASE("a random part decoded alone is that of the whole image; scaled it is near it") {
  std::vector<std::string> jpegs, large;
  for (const io::Pixels& scene : scenes()) jpegs.push_back(jpeg_file(scene, {.orientation = 6}));
  using Kind = dataset::ColumnAt<Files::columns, 0>;
  const vision::RandomCropDecodeResize<16> alone;
  const vision::RandomResizedCrop<16> of_whole;
  using Whole = vision::DecodeTo<3>::result<Kind>;
  std::set<Bytes> different;
  for (const std::string& jpeg : jpegs)
    for (const std::uint64_t seed : {7, 8, 9}) {
      dataset::RaggedValue file, whole;
      std::memcpy(dataset::SampleSlot<Kind>(&file).resize(long(jpeg.size())), jpeg.data(), jpeg.size());
      const io::Pixels pixels = vision::decode(jpeg);
      std::ranges::copy(pixels.bytes, dataset::SampleSlot<Whole>(&whole).resize(pixels.height, pixels.width, 3));
      Bytes part(16 * 16 * 3), expected(part.size());
      Random random(seed), same(seed);
      alone.apply(dataset::SampleView<Kind>(&file),
                  dataset::SampleSlot<Column<std::uint8_t, Shape<16, 16, 3>>>(&part[0]), random);
      of_whole.apply(dataset::SampleView<Whole>(&whole),
                     dataset::SampleSlot<Column<std::uint8_t, Shape<16, 16, 3>>>(&expected[0]), same);
      CHECK(part == expected);
      different.insert(part);
    }
  CHECK(different.size() == 3 * jpegs.size());
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const auto r = vision::random_part(40, 70, {}, random);
    CHECK(r.top >= 0);
    CHECK(r.left >= 0);
    CHECK(r.top + r.height <= 40);
    CHECK(r.left + r.width <= 70);
  }
  CHECK(vision::random_part(10, 1000, {.scale = {1, 1}}, random) == vision::Rect{0, 493, 10, 13});

  dataset::set_seed(3);
  for (int i = 0; i < 4; ++i) large.push_back(jpeg_file(smooth_image(200 + 30 * i, 300, 3), {.quality = 90}));
  const auto exact = images_of(Files(large) | map<"image">(vision::RandomCropDecodeResize<16>{}));
  const auto scaled = images_of(Files(large) | map<"image">(vision::RandomCropDecodeResize<16>{.scaled = true}));
  const auto whole = images_of(Files(large) | map<"image">(vision::Decode{}, vision::Resize<16, 16>{}));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(largest_difference(exact[i], scaled[i]) <= 6);
    CHECK(exact[i] != whole[i]);
  }
  dataset::set_seed(std::nullopt);
}
#endif
