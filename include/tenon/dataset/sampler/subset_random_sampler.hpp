// SubsetRandomSampler: the rows of a list in random order.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/sampler/subset_sampler.hpp>
#include <tenon/dataset/stage/seed.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The rows of a list, in a different order in each epoch; if num_samples is given, only this number of rows. Throws
/// ValueError if the list is empty or an index is no row. Source: MindSpore's SubsetRandomSampler.
struct SubsetRandomSampler {
  std::vector<long> indices;
  long num_samples = 0;
  std::uint64_t seed = default_seed();

  struct Prepared {
    static constexpr bool reorders = true;
    std::shared_ptr<const std::vector<Drawn>> list;
    long count;
    std::uint64_t seed;
    long size(long) const { return count; }
    void describe(auto& d) const {
      d.add(count, seed);
      for (const Drawn& drawn : *list) d.add(drawn.row);
      d.each_epoch_differs();
    }
    Drawn draw(long position, long, std::uint64_t epoch) const {
      const Permutation order(static_cast<long>(list->size()), detail::sampler_key(seed, epoch));
      return (*list)[static_cast<std::size_t>(order(position))];
    }
  };
  Prepared prepared(long rows) const {
    auto list = detail::listed_rows("SubsetRandomSampler", indices, rows);
    const long all = static_cast<long>(indices.size());
    return {std::move(list), detail::samples_among("SubsetRandomSampler", num_samples, all), seed};
  }
};

}  // namespace tenon::dataset
