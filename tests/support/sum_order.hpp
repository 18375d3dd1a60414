// The order of long sums, written from its description in backend/cpu/reduce/sum_tree.hpp.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include <tenon/core/config.hpp>

TENON_EXACT_BEGIN
namespace support {

/// Neighbours first: the first half, which is the greatest power of two that is less than all, and the rest.
inline float tree_sum(const std::vector<float>& terms, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return terms[begin];
  std::size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree_sum(terms, begin, begin + half) + tree_sum(terms, begin + half, end);
}
/// Chains of `length` terms, each from +0, and their tree. add(sum, term): what a term makes of a chain's sum.
template <class Add = std::plus<>>
float long_sum(const std::vector<float>& terms, std::size_t length, Add add = {}) {
  std::vector<float> chains(terms.size() / length + 1);
  for (std::size_t i = 0; i < terms.size(); ++i) chains[i / length] = add(chains[i / length], terms[i]);
  return tree_sum(chains, 0, chains.size());
}

}  // namespace support
TENON_EXACT_END
