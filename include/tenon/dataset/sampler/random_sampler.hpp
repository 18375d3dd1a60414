// RandomSampler: rows in random order, or drawn with replacement.
#pragma once
#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/sampler/sample.hpp>
#include <tenon/dataset/stage/seed.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// num_samples random rows (all rows if it is 0), each at most once, or with replacement. The rows differ in each
/// epoch. A num_samples above the number of rows means all rows. Source: MindSpore's RandomSampler.
struct RandomSampler {
  bool replacement = false;
  long num_samples = 0;
  std::uint64_t seed = default_seed();

  struct Prepared {
    static constexpr bool reorders = true;
    long count;
    bool replacement;
    std::uint64_t seed;
    long size(long) const { return count; }
    void describe(auto& d) const {
      d.add(count, replacement, seed);
      d.each_epoch_differs();
    }
    Drawn draw(long position, long rows, std::uint64_t epoch) const {
      const std::uint64_t key = detail::sampler_key(seed, epoch), at = static_cast<std::uint64_t>(position);
      if (!replacement) return {Permutation(rows, key)(position)};
      return {static_cast<long>(hash_number(at, key) % static_cast<std::uint64_t>(rows)), at + 1};
    }
  };
  Prepared prepared(long rows) const {
    return {detail::samples_among("RandomSampler", num_samples, rows), replacement, seed};
  }
};

}  // namespace tenon::dataset
