// Checks that the tests of losses share.
#pragma once
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/reduction.hpp>

#include "../../support/both_modes.hpp"
#include "../../support/gradient_check.hpp"

namespace losses {

using namespace tenon;
using nn::Reduction;
using support::both_modes;
using support::check_gradients;
using support::random_tensor;
using support::tensor_of;

inline constexpr float infinity = std::numeric_limits<float>::infinity(),
                       not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class Loss>
struct LossCall {
  constexpr auto operator()(const auto&... x) const { return Loss{}(x...); }
};

/// What a compiler says of a loss of these operands.
template <class Loss, class... X>
std::string_view sentence() {
  return Compiled<tenon::detail::Forward<Loss, typename tenon::detail::KeyFor<X>::type...>>::sentence.view();
}
/// The gradients of a loss against central differences, and equal bits in both modes.
template <class Loss, class... X>
void check_loss(const X&... x) {
  check_gradients(LossCall<Loss>{}, x...);
  both_modes(LossCall<Loss>{}, x...);
}
/// Of a batch of no samples all numbers agree in both modes, which are NaN for a mean and 0 for a sum.
template <template <Reduction> class Loss, class... X>
void check_empty() {
  CHECK(std::isnan(both_modes<support::SameNumbers>(LossCall<Loss<Reduction::mean>>{}, X::empty(0)...).result.item()));
  CHECK(both_modes(LossCall<Loss<Reduction::sum>>{}, X::empty(0)...).result.item() == 0);
  CHECK(both_modes(LossCall<Loss<Reduction::none>>{}, X::empty(0)...).result.count() == 0);
}
/// Elements as [n], of float unless another type is named.
template <class T = float>
Tensor<T, Shape<dyn>> values(std::initializer_list<std::type_identity_t<T>> elements) {
  return tensor_of<T, Shape<dyn>>(elements);
}
/// A loss and its gradient for the first operand, one element each.
struct Point {
  double loss, gradient;
};
template <class Loss, class... Numbers>
Point at(float x, Numbers... label) {
  const auto outcome = both_modes<support::SameNumbers>(LossCall<Loss>{}, tensor_of<float, Shape<1>>({x}),
                                                        tensor_of<Numbers, Shape<1>>({label})...);
  const double weight = random_tensor<float, Shape<>>(815, -1, 1).item();  // of both_modes: gradients are multiplied
  return {outcome.result.item(), std::get<0>(outcome.gradient).item() / weight};
}

}  // namespace losses
