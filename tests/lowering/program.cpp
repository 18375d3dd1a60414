// How threads share the tiles of a batch: every sample once, and nobody has much more than another.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
// Samples that each part takes for itself, behind them those of which all threads share the work.
std::vector<long> taken(long n, int threads) {
  const TileShares s = tile_shares(n, threads, true);
  std::vector<long> samples(std::size_t(s.parts) + 1);
  const auto of_tile = [&](long tile) { return std::min<long>(block_samples, n - tile * block_samples); };
  for (long part = 0; part < s.parts; ++part)
    for (long tile = s.begin(part); tile < s.begin(part + 1); ++tile) samples[std::size_t(part)] += of_tile(tile);
  for (long half = 0; half < 2 * s.halved; ++half) {
    const long all = of_tile(s.shared + half / 2), first = TileShares::first_half(all);
    samples.at(std::size_t(s.part_of(half))) += half % 2 ? all - first : first;
  }
  for (long tile = s.shared + s.halved; tile < s.tiles; ++tile) samples.back() += of_tile(tile);
  return samples;
}
}  // namespace

TEST_CASE("tiles and their halves: every sample once, on any number of threads") {
  for (int threads = 1; threads <= 40; ++threads)
    for (long n = 1; n <= 700; ++n) {
      CAPTURE(threads);
      CAPTURE(n);
      const std::vector<long> samples = taken(n, threads);
      long sum = 0;
      for (const long of_part : samples) sum += of_part;
      REQUIRE(sum == n);
      REQUIRE(long(samples.size()) - 1 <= threads);
    }
}

TEST_CASE("tiles and their halves: a rest of half a tile leaves no thread idle") {
  if constexpr (blocks_have_halves) {
    CHECK(taken(17, 2) == std::vector<long>{8, 9, 0});
    CHECK(taken(24, 2) == std::vector<long>{12, 12, 0});
    CHECK(taken(24, 3) == std::vector<long>{8, 8, 8, 0});
    CHECK(taken(72, 3) == std::vector<long>{24, 24, 24, 0});
    CHECK(taken(40, 4) == std::vector<long>{8, 8, 12, 12, 0});
  }
}
