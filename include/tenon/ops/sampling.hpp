// Filters of logits before a token is drawn: top_k_filter, top_p_filter.
#pragma once
#include <limits>
#include <tuple>

#include <tenon/ops/compare.hpp>
#include <tenon/ops/cumsum.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/logical.hpp>
#include <tenon/ops/reduce_min.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/sort.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// -inf in place of all but the k largest logits of each row: `random_categorical(top_k_filter<40>(logits / t))` draws
/// one of 40. Logits that are equal to the smallest of these stay, too.
///
/// logits      [..., classes] with at least k classes; floating-point
/// source      Fan and others, arXiv 1805.04833; TopKLogitsWarper of Hugging Face
template <int k, Operand X>
constexpr auto top_k_filter(const X& logits, std::source_location at = std::source_location::current()) {
  const auto largest = topk<k>(logits, at);
  if constexpr (is_broken<std::remove_cvref_t<decltype(largest)>>) return largest;
  else if constexpr (is_broken<std::tuple_element_t<0, std::remove_cvref_t<decltype(largest)>>>)
    return std::get<0>(largest);
  else {
    const auto least = slice<X::dims.rank - 1, Part{k - 1, k}>(std::get<0>(largest), at);
    return select(less(logits, least, at), -std::numeric_limits<float>::infinity(), logits, at);
  }
}

/// -inf in place of the logits of each row beyond the fewest most probable ones whose probabilities sum to p or more:
/// `random_categorical(top_p_filter(logits / t, 0.9f))`, nucleus sampling. The largest logit always stays, and so do
/// those equal to the smallest that stays.
///
/// logits      [..., classes], floating-point
/// p           a number, or a tensor or nn::Setting that broadcasts to [..., 1]
/// source      Holtzman and others, arXiv 1904.09751; TopPLogitsWarper of Hugging Face
template <Operand X>
constexpr auto top_p_filter(const X& logits, const OperandOrScalar auto& p,
                            std::source_location at = std::source_location::current()) {
  const auto sorted = sort<-1, true>(logits, at);
  if constexpr (is_broken<std::remove_cvref_t<decltype(sorted)>>) return sorted;
  else if constexpr (is_broken<std::tuple_element_t<0, std::remove_cvref_t<decltype(sorted)>>>)
    return std::get<0>(sorted);
  else {
    constexpr int axis = X::dims.rank - 1, classes = X::dims.last();
    const auto& descending = std::get<0>(sorted);
    const auto probability = softmax(descending, at);
    const auto before = sub(cumsum<axis>(probability, at), probability, at);
    // the first is compared with no sum: rounding must not remove it, even for p = 0
    const auto first = less(arange<classes>(logits, at), 1, at);
    const auto kept = logical_or(less(before, p, at), first, at);
    const auto least = reduce_min_keep<axis>(select(kept, descending, std::numeric_limits<float>::infinity(), at), at);
    return select(less(logits, least, at), -std::numeric_limits<float>::infinity(), logits, at);
  }
}

}  // namespace tenon::ops
