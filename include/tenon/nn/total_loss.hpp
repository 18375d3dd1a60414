// The number that training minimizes, computed from the loss that a network or a function returns.
#pragma once
#include <tuple>

#include <tenon/core/spread.hpp>
#include <tenon/nn/checked_cell.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/reduce_sum.hpp>

namespace tenon::inline TENON_ABI::detail {

template <class A>
constexpr auto total_of(const A& a) {
  return a;
}
template <class A, class B, class... C>
constexpr auto total_of(const A& a, const B& b, const C&... c) {
  return total_of(ops::add(a, b), c...);
}

/// Each loss brought to one number and all of them added: the root of the backward pass.
template <class L>
constexpr auto total_loss(const L& loss) {
  if constexpr (is_tuple<L>)
    return detail::spread([](const auto&... one) { return total_of(total_loss(one)...); }, loss);
  else if constexpr (is_broken<L>) return loss;
  else if constexpr (L::dims.rank == 0) return loss;
  else return ops::reduce_sum(loss);
}

}  // namespace tenon::inline TENON_ABI::detail
