// Sums of images per channel: both layouts have the bits of the order that is promised, for batches of any size.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/kernel/cpu/channel_sums.hpp>

#include "reference.hpp"

using namespace tenon;

namespace {
/// Each sample for itself, 16 samples as a tree with neighbours first, then the blocks.
float expected_sum(const std::vector<float>& x, long n, long channels, long pixels, long c) {
  float total = 0;
  for (long first = 0; first < n; first += block_samples) {
    float sample[block_samples]{};
    for (long s = first; s < n && s < first + block_samples; ++s)
      for (long p = 0; p < pixels; ++p) sample[s - first] += x[std::size_t((s * channels + c) * pixels + p)];
    for (int width = block_samples; width > 1; width /= 2)
      for (int i = 0; i < width / 2; ++i) sample[i] = sample[2 * i] + sample[2 * i + 1];
    total += sample[0];
  }
  return total;
}
}  // namespace

TEST_CASE("channel_sums: few samples, whole blocks, and what is left of one") {
  Random random(1);
  for (long n : {1, 2, 4, 5, 15, 16, 17, 33})
    for (long channels : {1, 3, 6, 17})
      for (long pixels : {1, 7, 100, 785}) {
        CAPTURE(n);
        CAPTURE(channels);
        CAPTURE(pixels);
        const std::vector<float> x = reference::numbers<float>(n * channels * pixels, random);
        std::vector<float> blocks(std::size_t(whole_blocks(n) * channels * pixels)), rows(std::size_t(channels), 7.0f),
            from_blocks = rows, expected;
        kernel::pack_samples(x.data(), blocks.data(), n, channels * pixels, 0, whole_blocks(n) / block_samples);
        reference::in_parts(channels, 2, [&](long begin, long end) {
          kernel::channel_sums(x.data(), rows.data(), n, channels, pixels, begin, end);
        });
        kernel::block_channel_sums(blocks.data(), from_blocks.data(), n, channels, pixels, 0, channels);
        for (long c = 0; c < channels; ++c) expected.push_back(expected_sum(x, n, channels, pixels, c));
        CHECK(reference::same_bits(rows, expected));
        CHECK(reference::same_bits(from_blocks, expected));
      }
}
