// The order of long sums, written from its description in backend/cpu/reduce/sum_tree.hpp.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace support {

/// Neighbours first: the first half, which is the greatest power of two that is less than all, and the rest.
template <class T>
T tree_sum(const std::vector<T>& terms, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return terms[begin];
  std::size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree_sum(terms, begin, begin + half) + tree_sum(terms, begin + half, end);
}
/// Chains of `length` terms, each from +0, and their tree. add(sum, term): what a term makes of a chain's sum.
template <class T, class Add = std::plus<>>
T long_sum(const std::vector<T>& terms, std::size_t length, Add add = {}) {
  std::vector<T> chains(terms.size() / length + 1);
  for (std::size_t i = 0; i < terms.size(); ++i) chains[i / length] = add(chains[i / length], terms[i]);
  return tree_sum(chains, 0, chains.size());
}

/// Runs of equal length in 16 lanes, chains of 8 elements of each: the order of sums of rows. Runs of one element:
/// chains of 8 runs.
template <class T>
T runs_sum(const std::vector<std::vector<T>>& runs) {
  std::vector<T> lane[16];
  for (const std::vector<T>& run : runs)
    for (std::size_t i = 0; i < (run.size() == 1 ? 1 : (run.size() + 15) / 16 * 16); ++i)
      lane[i % 16].push_back(i < run.size() ? run[i] : T(0));
  if (runs[0].size() == 1) return long_sum(lane[0], 8);
  T sum[16];
  for (int l = 0; l < 16; ++l) sum[l] = long_sum(lane[l], 8);
  for (int half = 8; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
  return sum[0];
}

}  // namespace support
TENON_EXACT_END
