// Gradients of the tape against central differences, in double.
#pragma once
#include <cmath>
#include <span>

#include <doctest/doctest.h>

#include <tenon/core/function_ref.hpp>
#include <tenon/run/tape.hpp>

#include "tensors.hpp"

namespace support {

namespace detail {

// sum(f(x...) * weight): the number whose gradient is checked.
template <class R>
double weighted_sum(const R& y, const R& weight) {
  double total = 0;
  for (std::size_t i = 0; i < y.values().size(); ++i) total += y.values()[i] * weight.values()[i];
  return total;
}

// `loss` writes the number for the elements of x as they are. No template: CAPTURE takes long to compile.
[[gnu::noinline]] inline void check_operand(int position, tenon::FunctionRef<double&> loss, std::span<double> x,
                                            std::span<const double> gradient, double tolerance) {
  CAPTURE(position);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = x[i], h = 1e-5 * std::fmax(1.0, std::fabs(before));
    double above = 0, below = 0;
    x[i] = before + h;
    loss(above);
    x[i] = before - h;
    loss(below);
    x[i] = before;
    const double expected = (above - below) / (2 * h), found = gradient[i];
    CAPTURE(i);
    CAPTURE(before);
    CAPTURE(expected);
    CAPTURE(found);
    CHECK(std::fabs(found - expected) <= tolerance * std::fmax(1.0, std::fabs(expected)));
  }
}

template <class F, std::size_t... I, class... X>
void check_gradients_of(double tolerance, const F& f, std::index_sequence<I...>, const X&... given) {
  auto x = std::make_tuple(given.copy()...);
  tenon::eager::Tape tape;
  (tape.watch(std::get<I>(x)), ...);
  const auto y = f(std::get<I>(x)...);
  using Result = std::remove_cvref_t<decltype(y)>;
  static_assert(std::is_same_v<typename Result::type, double>, "the function to check must return double");
  const Result weight = random_tensor<double, typename Result::shape_type>(4711, 0.5, 1.5, y.n());
  tape.backward(y, weight);
  const auto gradients = std::make_tuple(tape.gradient(std::get<I>(x))...);
  tape.pause();
  const auto loss = [&](double& result) { result = weighted_sum(f(std::get<I>(x)...), weight); };
  const auto check = [&](int position, auto& operand, const auto& gradient) {
    if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(operand)>::type, double>)
      check_operand(position, loss, operand.values(), gradient.values(), tolerance);
  };
  (check(int(I), std::get<I>(x), std::get<I>(gradients)), ...);
}

}  // namespace detail

/// Checks the gradient of f with respect to every Tensor<double, S> among the operands; others are held fixed. Every
/// element is moved by 1e-5 (relative above 1), so keep clear of kinks. f is called 2 * elements times: small tensors.
///
/// tolerance   of the difference, relative to the expected value where that is above 1
template <class F, class... X>
void check_gradients_within(double tolerance, const F& f, const X&... x) {
  detail::check_gradients_of(tolerance, f, std::index_sequence_for<X...>{}, x...);
}
template <class F, class... X>
void check_gradients(const F& f, const X&... x) {
  check_gradients_within(1e-6, f, x...);
}

}  // namespace support
