// Drawn digits: the same bytes everywhere, every label, and pictures that differ.
// Here a nearest-mean rule bounds the difficulty; train/digits measures a linear model and LeNet.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <algorithm>
#include <cmath>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/digits/digits.hpp>
#include <tenon/dataset/operation/shuffle.hpp>

using namespace support;
using dataset::Digits, dataset::Usage;

namespace {

struct Sample {
  std::vector<float> image;
  int label = -1;
  bool operator==(const Sample&) const = default;
};
std::vector<Sample> samples(const Digits& data) {
  std::vector<Sample> all;
  for (const auto& row : data)
    all.push_back({std::vector<float>(row.values<0>().begin(), row.values<0>().end()), row.values<1>()[0]});
  return all;
}
std::uint64_t fingerprint(const Digits& data) {
  std::uint64_t hash = 0;
  for (const Sample& sample : samples(data)) {
    hash = hash_number(static_cast<std::uint64_t>(sample.label), hash);
    for (float pixel : sample.image) hash = hash_number(static_cast<std::uint64_t>(std::lround(pixel * 255)), hash);
  }
  return hash;
}

}  // namespace

TEST_CASE("a sample is a function of (seed, usage, index)") {
  const auto few = samples({.size = 20, .seed = 1}), many = samples({.size = 100, .seed = 1});
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
  CHECK(samples({.size = 20, .seed = 2}) != few);
  CHECK(samples({.usage = Usage::test, .size = 20, .seed = 1}) != few);
}

TEST_CASE("the same bytes with every compiler and instruction set") {
  CHECK(fingerprint({.usage = Usage::train, .size = 1000, .seed = 1}) == 15335611278409712000ull);
  CHECK(fingerprint({.usage = Usage::test, .size = 1000, .seed = 1}) == 16659265059041984871ull);
}

TEST_CASE("no picture comes twice, in neither part") {
  auto all = samples({.size = 2000, .seed = 1});
  const auto test = samples({.usage = Usage::test, .size = 2000, .seed = 1});
  all.insert(all.end(), test.begin(), test.end());
  std::sort(all.begin(), all.end(), [](const Sample& a, const Sample& b) { return a.image < b.image; });
  CHECK(std::adjacent_find(all.begin(), all.end(),
                           [](const Sample& a, const Sample& b) { return a.image == b.image; }) == all.end());
}

TEST_CASE("labels are equally likely, pixels are bytes / 255, each picture has ink and background") {
  std::vector<int> count(10);
  bool legal = true;
  for (const Sample& sample : samples({.size = 5000, .seed = 1})) {
    ++count.at(static_cast<std::size_t>(sample.label));
    int bright = 0;
    for (float pixel : sample.image) {
      const float byte = std::round(pixel * 255);
      legal = legal && pixel == byte / 255 && byte >= 0 && byte <= 255;
      bright += pixel > 0.25f;
    }
    REQUIRE(bright >= 20);  // the least of 60,000 pictures: 22
    REQUIRE(bright < 400);
  }
  CHECK(legal);
  for (int n : count) {
    CHECK(n > 400);  // 500 with a deviation of 21
    CHECK(n < 600);
  }
}

TEST_CASE("the mean picture of a label tells it much better than chance, and far from always") {
  std::vector<std::vector<double>> mean(10, std::vector<double>(784));
  for (const Sample& sample : samples({.size = 5000, .seed = 1})) {
    double norm = 0;
    for (float pixel : sample.image) norm += pixel * pixel;
    for (std::size_t i = 0; i < 784; ++i)
      mean[static_cast<std::size_t>(sample.label)][i] += sample.image[i] / std::sqrt(norm);
  }
  for (auto& m : mean) {
    double norm = 0;
    for (double x : m) norm += x * x;
    for (double& x : m) x /= std::sqrt(norm);
  }
  int right = 0;
  for (const Sample& sample : samples({.usage = Usage::test, .size = 1000, .seed = 1})) {
    std::vector<double> match;
    for (const auto& m : mean) {
      double product = 0;
      for (std::size_t i = 0; i < 784; ++i) product += m[i] * sample.image[i];
      match.push_back(product);
    }
    right += std::max_element(match.begin(), match.end()) - match.begin() == sample.label;
  }
  MESSAGE("nearest mean: ", right, " of 1000");
  CHECK(right > 500);
  CHECK(right < 900);
}

TEST_CASE("sizes") {
  CHECK(Digits{}.size() == 60000);
  CHECK((Digits{.size = 7} | dataset::batch(2)).size() == 4);
  CHECK(message<ValueError>([] { (void)Digits{.size = 0}; }) ==
        "Digits with .size = 0: the number of samples must be 1 or more.");
  CHECK(has(message<ValueError>([] { (void)Digits{.size = -5}; }), ".size = -5"));
}

TEST_CASE("the columns of Mnist, and all stages") {
  static_assert(std::is_same_v<Digits::columns, dataset::Mnist::columns>);
  const auto data =
      Digits{.usage = Usage::train, .size = 100, .seed = 1} | dataset::shuffle(100, 1) | dataset::batch(32);
  long seen = 0;
  for (const auto& row : data) seen += row.n;
  CHECK(seen == 100);
}
