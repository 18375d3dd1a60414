// Sums of images per channel: both layouts have the bits of the order that is promised, for batches of any size.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/backend/cpu/reduce/channel_sums.hpp>

#include "../../../support/sum_order.hpp"
#include "../reference.hpp"

using namespace tenon;

namespace {
/// The segments of each sample in float64, rounded, as a tree; 16 samples as a tree with neighbours first; then the
/// blocks, in chains of 8.
float expected_sum(const std::vector<float>& x, long n, long channels, long height, long width, long c) {
  const kernel::PixelSegments segments = kernel::pixel_segments(height, width);
  std::vector<float> blocks;
  for (long first = 0; first < n; first += block_samples) {
    std::vector<float> sample(block_samples);
    for (long s = first; s < n && s < first + block_samples; ++s) {
      std::vector<float> sums;
      for (long top = 0; top < height; top += segments.rows)
        for (long left = 0; left < width; left += segments.columns) {
          double sum = 0;
          for (long i = top; i < top + segments.rows && i < height; ++i)
            for (long j = left; j < left + segments.columns && j < width; ++j)
              sum += x[std::size_t(((s * channels + c) * height + i) * width + j)];
          sums.push_back(float(sum));
        }
      sample[std::size_t(s - first)] = support::long_sum(sums, 1);
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
      for (const auto& [height, width] :
           {std::pair{1L, 1L}, {1L, 7L}, {10L, 10L}, {28L, 28L}, {157L, 5L}, {2L, 901L}}) {
        const long pixels = height * width;
        if (n * channels * pixels > 1000000) continue;
        CAPTURE(n);
        CAPTURE(channels);
        CAPTURE(height);
        CAPTURE(width);
        const std::vector<float> x = reference::numbers<float>(n * channels * pixels, random);
        std::vector<float> blocks(std::size_t(whole_blocks(n) * channels * pixels)), rows(std::size_t(channels), 7.0f),
            from_blocks = rows, expected;
        kernel::pack_samples(x.data(), blocks.data(), n, channels * pixels, 0, whole_blocks(n) / block_samples);
        reference::in_parts(channels, 2, [&](long begin, long end) {
          kernel::channel_sums({n, channels, pixels, false}, width, x.data(), rows.data(), begin, end);
        });
        kernel::channel_sums({n, channels, pixels, true}, width, blocks.data(), from_blocks.data(), 0, channels);
        for (long c = 0; c < channels; ++c) expected.push_back(expected_sum(x, n, channels, height, width, c));
        CHECK(reference::same_bits(rows, expected));
        CHECK(reference::same_bits(from_blocks, expected));
      }
}
