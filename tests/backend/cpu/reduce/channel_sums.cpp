// Sums of images per channel: both layouts have the bits of the order that is promised, for batches of any size.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/backend/cpu/reduce/channel_sums.hpp>

#include "../../../support/sum_order.hpp"
#include "../reference.hpp"

using namespace tenon;

namespace {
/// Each sample for itself, in float64; 16 samples as a tree with neighbours first; then the blocks, in chains of 8.
float expected_sum(const std::vector<float>& x, long n, long channels, long pixels, long c) {
  std::vector<float> blocks;
  for (long first = 0; first < n; first += block_samples) {
    std::vector<float> sample(block_samples);
    for (long s = first; s < n && s < first + block_samples; ++s) {
      double sum = 0;
      for (long p = 0; p < pixels; ++p) sum += x[std::size_t((s * channels + c) * pixels + p)];
      sample[std::size_t(s - first)] = float(sum);
    }
    blocks.push_back(support::tree_sum(sample, 0, block_samples));
  }
  return support::long_sum(blocks, 8);
}
}  // namespace

TEST_CASE("channel_sums: few samples, whole blocks, and what is left of one") {
  Random random(1);
  for (long n : {1, 2, 4, 5, 15, 16, 17, 33, 300})
    for (long channels : {1, 3, 6, 17})
      for (long pixels : {1, 7, 100, 785}) {
        if (n * channels * pixels > 1000000) continue;
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
        kernel::nchw16n_channel_sums(blocks.data(), from_blocks.data(), n, channels, pixels, 0, channels);
        for (long c = 0; c < channels; ++c) expected.push_back(expected_sum(x, n, channels, pixels, c));
        CHECK(reference::same_bits(rows, expected));
        CHECK(reference::same_bits(from_blocks, expected));
      }
}
