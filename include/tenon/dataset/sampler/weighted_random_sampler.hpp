// WeightedRandomSampler: rows drawn with probabilities in proportion to weights.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <tenon/dataset/operation/epoch_lists.hpp>
#include <tenon/dataset/sampler/sample.hpp>
#include <tenon/dataset/stage/seed.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
struct WeightedDraw {
  static constexpr bool reorders = true;
  std::shared_ptr<const std::vector<double>> weights, sums;  // of each row, the largest near 1; of it and those before
  std::shared_ptr<EpochLists> orders;                        // without replacement: the rows of an epoch
  long count;
  bool replacement;
  std::uint64_t seed;

  long size(long) const { return count; }
  void describe(auto& d) const {
    d.add(*weights, count, replacement, seed);
    d.each_epoch_differs();
  }
  Drawn draw(long position, long, std::uint64_t epoch) const {
    const std::uint64_t at = static_cast<std::uint64_t>(position);
    if (!replacement) {
      const auto list = orders->of(epoch);
      const std::lock_guard lock(list->mutex);
      if (!list->complete) order(*list, epoch);
      return {list->numbers[static_cast<std::size_t>(position)]};
    }
    const double point = uniform(at, sampler_key(seed, epoch)) * sums->back();
    const auto found = std::upper_bound(sums->begin(), sums->end(), point);
    // by rounding the point may be the sum of all
    const auto last = std::lower_bound(sums->begin(), sums->end(), sums->back());
    return {static_cast<long>(std::min(found, last) - sums->begin()), at + 1};
  }

 private:
  static double uniform(std::uint64_t number, std::uint64_t key) {
    return static_cast<double>(hash_number(number, key) >> 11) * 0x1p-53;
  }
  /// Each row gets a time that is exponentially distributed with its weight as rate; they come in order of time, which
  /// is drawing one after the other among those left (Efraimidis and Spirakis, 2006).
  void order(EpochLists::List& list, std::uint64_t epoch) const {
    std::vector<std::pair<double, long>> times;
    for (std::size_t row = 0; row < weights->size(); ++row)
      if ((*weights)[row] > 0)
        times.emplace_back(-std::log1p(-uniform(row, sampler_key(seed, epoch))) / (*weights)[row], long(row));
    std::partial_sort(times.begin(), times.begin() + count, times.end());
    for (long i = 0; i < count; ++i) list.numbers.push_back(times[static_cast<std::size_t>(i)].second);
    list.complete = true;
  }
};
}  // namespace detail

/// Draws num_samples rows (at most as many as the data set has), with probabilities in proportion to their weights,
/// different rows in each epoch. Rows after the list of weights are never drawn. Throws ValueError if a weight is
/// negative or not finite, if none is greater than 0, if there are more weights than rows, or if num_samples without
/// replacement exceeds the number of rows with a weight greater than 0. Source: MindSpore's WeightedRandomSampler.
struct WeightedRandomSampler {
  std::vector<double> weights;
  long num_samples = 0;
  bool replacement = true;
  std::uint64_t seed = default_seed();

  detail::WeightedDraw prepared(long rows) const {
    if (static_cast<long>(weights.size()) > rows)
      throw_error<ValueError>("WeightedRandomSampler: there are ", weights.size(), " weights, but ", rows, " rows.");
    long drawable = 0;
    double largest = 0;
    for (const double weight : weights) {
      if (!(weight >= 0) || !std::isfinite(weight))
        throw_error<ValueError>("WeightedRandomSampler: a weight is ", weight, "; weights are finite and 0 or more.");
      drawable += weight > 0;
      largest = std::max(largest, weight);
    }
    if (drawable == 0) throw_error<ValueError>("WeightedRandomSampler: no weight is greater than 0.");
    const long count = detail::samples_among("WeightedRandomSampler", num_samples, rows);
    if (!replacement && count > drawable)
      throw_error<ValueError>("WeightedRandomSampler: without replacement, ", count, " of ", drawable,
                              " rows with a weight greater than 0 cannot be drawn; lower num_samples.");
    // The sum of large weights would overflow. A power of two as the factor changes no draw.
    auto scaled = std::make_shared<std::vector<double>>(weights);
    auto sums = std::make_shared<std::vector<double>>(weights.size());
    // nor becomes a weight 0 that is not: its row can be drawn, and 37 divided by it is a number
    for (double& weight : *scaled)
      if (weight > 0) weight = std::max(std::scalbn(weight, -std::ilogb(largest)), 0x1p-1000);
    std::partial_sum(scaled->begin(), scaled->end(), sums->begin());
    return {std::move(scaled), std::move(sums), std::make_shared<detail::EpochLists>(), count, replacement, seed};
  }
};

}  // namespace tenon::dataset
