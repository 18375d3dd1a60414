// Sums of images per channel: the same bits in both layouts, and in the order that kernel/cpu/sample_blocks.hpp
// promises.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/kernel/cpu/block_batch_norm.hpp>

#include "reference.hpp"

using namespace tenon;
using kernel::ImageBatch;

namespace {
using Numbers = std::vector<float>;

/// `n` samples in blocks; what no sample fills is NaN, which must not reach any result.
Numbers in_blocks_of(const Numbers& x, long n, long features) {
  Numbers blocks(std::size_t(whole_blocks(n) * features), std::numeric_limits<float>::quiet_NaN());
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f)
      blocks[std::size_t(block_place(s, f, features))] = x[std::size_t(s * features + f)];
  return blocks;
}

TENON_EXACT_BEGIN
/// The promised order, one addition after the other. term(i): the element of x at i.
template <class Term>
float channel_sum(const ImageBatch& b, long channel, Term term) {
  float total = 0;
  for (long first = 0; first < b.n; first += 16) {
    float sample[16]{};
    for (long s = first; s < b.n && s < first + 16; ++s)
      for (long p = 0; p < b.pixels; ++p)
        sample[s - first] = sample[s - first] + term((s * b.channels + channel) * b.pixels + p);
    float eight[8], four[4];
    for (int i = 0; i < 8; ++i) eight[i] = sample[2 * i] + sample[2 * i + 1];
    for (int i = 0; i < 4; ++i) four[i] = eight[2 * i] + eight[2 * i + 1];
    total = total + ((four[0] + four[1]) + (four[2] + four[3]));
  }
  return total;
}

void check(long n, long channels, long pixels) {
  CAPTURE(n);
  CAPTURE(channels);
  CAPTURE(pixels);
  Random random(std::uint64_t(n * 1000 + channels * 100 + pixels));
  const Numbers x = reference::numbers<float>(n * channels * pixels, random),
                dy = reference::numbers<float>(n * channels * pixels, random);
  const Numbers x_blocks = in_blocks_of(x, n, channels * pixels), dy_blocks = in_blocks_of(dy, n, channels * pixels);
  const ImageBatch b{n, channels, pixels, false};
  Numbers sum, mean, deviation, product;
  for (long c = 0; c < channels; ++c) {
    const float average = channel_sum(b, c, [&](long i) { return x[std::size_t(i)]; }) / float(n * pixels);
    const auto distance = [&](long i) { return x[std::size_t(i)] - average; };
    mean.push_back(average);
    deviation.push_back(channel_sum(b, c, [&](long i) { return distance(i) * distance(i); }));
    sum.push_back(channel_sum(b, c, [&](long i) { return dy[std::size_t(i)]; }));
    product.push_back(channel_sum(b, c, [&](long i) { return dy[std::size_t(i)] * distance(i); }));
  }
  for (const bool blocks : {false, true})
    for (long parts = 1; parts <= 3; ++parts) {
      const ImageBatch batch{n, channels, pixels, blocks};
      const float *const from = (blocks ? x_blocks : x).data(), *const gradient = (blocks ? dy_blocks : dy).data();
      Numbers result[5];
      for (Numbers& r : result) r.assign(std::size_t(channels), 77.0f);
      reference::in_parts(channels, parts, [&](long begin, long end) {
        kernel::image_statistics(batch, from, result[0].data(), result[1].data(), begin, end);
        kernel::image_gradient_sums(batch, from, gradient, mean.data(), result[2].data(), result[3].data(), begin, end);
        kernel::channel_sums(batch, gradient, result[4].data(), begin, end);
      });
      CHECK(result[0] == mean);
      CHECK(result[1] == deviation);
      CHECK(result[2] == sum);
      CHECK(result[3] == product);
      CHECK(result[4] == sum);
    }
}
TENON_EXACT_END
}  // namespace

TEST_CASE("block_batch_norm: statistics and gradient sums in the promised order, in both layouts") {
  for (const long n : {1, 2, 9, 15, 16, 17, 32, 35})
    for (const long channels : {1, 3, 4, 9})
      for (const long pixels : {1, 7, 32, 33, 70}) check(n, channels, pixels);
}

TEST_CASE("block_batch_norm: a sum of -0 is 0") {
  const Numbers x(std::size_t(16 * 5), -0.0f);
  float y = 1;
  kernel::channel_sums({16, 1, 5, true}, x.data(), &y, 0, 1);
  CHECK((y == 0 && !std::signbit(y)));
}
