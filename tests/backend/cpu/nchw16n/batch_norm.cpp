// Sums of images per channel: the same bits in both layouts, and in the order that backend/cpu/nchw16n/layout.hpp
// promises.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/backend/cpu/nchw16n/batch_norm.hpp>

#include "../../../support/sum_order.hpp"
#include "../reference.hpp"

using namespace tenon;
using kernel::ImageBatch;

namespace {
using Numbers = std::vector<float>;

/// `n` samples in blocks; what no sample fills is NaN, which must not reach any result.
Numbers in_blocks_of(const Numbers& x, long n, long features) {
  Numbers blocks(std::size_t(whole_blocks(n) * features), std::numeric_limits<float>::quiet_NaN());
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f)
      blocks[std::size_t(nchw16n_place(s, f, features))] = x[std::size_t(s * features + f)];
  return blocks;
}

TENON_EXACT_BEGIN
/// The promised order: pixels in chains of 8, samples as a tree, blocks in chains of 8. term(i): the element of x at i.
template <class Term, class Add = std::plus<>>
float channel_sum(const ImageBatch& b, long channel, Term term, Add add = {}) {
  Numbers blocks;
  for (long first = 0; first < b.n; first += 16) {
    Numbers sample(16);
    for (long s = first; s < b.n && s < first + 16; ++s) {
      Numbers pixels;
      for (long p = 0; p < b.pixels; ++p) pixels.push_back(term((s * b.channels + channel) * b.pixels + p));
      sample[std::size_t(s - first)] = support::long_sum(pixels, 8, add);
    }
    blocks.push_back(support::tree_sum(sample, 0, 16));
  }
  return support::long_sum(blocks, 8);
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
    const float elements = float(n * pixels),
                rounded = channel_sum(b, c, [&](long i) { return x[std::size_t(i)]; }) / elements,
                distances = channel_sum(b, c, [&](long i) { return x[std::size_t(i)] - rounded; }),
                squares = channel_sum(
                    b, c, [&](long i) { return x[std::size_t(i)] - rounded; },
                    [](float sum, float d) { return fmadd(d, d, sum); });
    const float rest = distances * (1 / elements), average = rounded + rest, spread = squares - distances * rest;
    const auto distance = [&](long i) { return x[std::size_t(i)] - average; };
    mean.push_back(average);
    deviation.push_back(spread < 0 ? 0 : spread);
    sum.push_back(channel_sum(b, c, [&](long i) { return dy[std::size_t(i)]; }));
    product.push_back(channel_sum(b, c, [&](long i) { return dy[std::size_t(i)] * distance(i); }));
  }
  for (const bool blocks : {false, true})
    for (long parts = 1; parts <= 3; ++parts) {
      const ImageBatch batch{n, channels, pixels, blocks};
      const float *const from = (blocks ? x_blocks : x).data(), *const gradient = (blocks ? dy_blocks : dy).data();
      Numbers result[4];
      for (Numbers& r : result) r.assign(std::size_t(channels), 77.0f);
      reference::in_parts(channels, parts, [&](long begin, long end) {
        kernel::image_statistics(batch, from, result[0].data(), result[1].data(), begin, end);
        kernel::image_gradient_sums(batch, from, gradient, mean.data(), result[2].data(), result[3].data(), begin, end);
      });
      CHECK(result[0] == mean);
      CHECK(result[1] == deviation);
      CHECK(result[2] == sum);
      CHECK(result[3] == product);
    }
}
TENON_EXACT_END
}  // namespace

TEST_CASE("block_batch_norm: statistics and gradient sums in the promised order, in both layouts") {
  for (const long n : {1, 2, 9, 15, 16, 17, 35, 150})
    for (const long channels : {1, 3, 4, 9})
      for (const long pixels : {1, 7, 32, 33, 70, 200}) check(n, channels, pixels);
}

TEST_CASE("block_batch_norm: a sum of -0 is 0") {
  const Numbers x(std::size_t(16 * 5), -0.0f);
  float y = 1;
  kernel::channel_sums({16, 1, 5, true}, 5, x.data(), &y, 0, 1);
  CHECK((y == 0 && !std::signbit(y)));
}

TEST_CASE("block_batch_norm: the variance of many pixels far from zero") {
  Random random(1);
  Numbers x(64 * 224 * 224);
  double sum = 0, squares = 0;
  for (float& v : x) sum += v = 100 + 0.01f * random.uniform(0.0f, 1.0f);
  const double mean = sum / double(x.size());
  for (const float v : x) squares += (v - mean) * (v - mean);
  float of_kernel[2];
  kernel::image_statistics({64, 1, 224 * 224, false}, x.data(), of_kernel, of_kernel + 1, 0, 1);
  CHECK(std::fabs(of_kernel[0] - mean) < 4e-6);  // half a unit in the last place of 100
  CHECK(std::fabs(of_kernel[1] / squares - 1) < 1e-6);
}
