// check_gradients: the derivative of a function against differences of its values.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/run/tape.hpp>

namespace tenon::inline TENON_ABI {

/// How check_gradients compares. 0 means the default for the dtype.
///
/// step        an element x is moved by step max(1, |x|): 1e-5 for float64, 5e-3 for float32
/// tolerance   of the difference, relative to the expected value where that is above 1: 1e-6, and 1e-2 for float32
struct GradientCheck {
  double step = 0, tolerance = 0;
};

namespace detail {

/// Throws if an element of `gradient` differs from the central difference of `loss`, which evaluates the function at
/// the current elements of x. Returns the largest difference. Does not depend on the function: compiled once per dtype.
template <class T>
[[gnu::cold, gnu::noinline]] double check_operand(int position, FunctionRef<double&> loss, std::span<T> x,
                                                  std::span<const T> gradient, GradientCheck check) {
  if (check.step == 0) check.step = sizeof(T) == 8 ? 1e-5 : 5e-3;
  if (check.tolerance == 0) check.tolerance = sizeof(T) == 8 ? 1e-6 : 1e-2;
  double largest = 0, expected_there = 0;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T before = x[i], h = T(check.step * std::fmax(1.0, std::fabs(double(before))));
    double above = 0, below = 0;
    x[i] = before + h;
    const double width = double(x[i]) - double(before - h);
    loss(above);
    x[i] = before - h;
    loss(below);
    x[i] = before;
    const double expected = (above - below) / width;
    const double difference = std::fabs(double(gradient[i]) - expected) / std::fmax(1.0, std::fabs(expected));
    if (!(difference <= check.tolerance) && wrong++ == 0) first = i, expected_there = expected;
    if (!(difference <= largest)) largest = difference;
  }
  if (wrong)
    throw_error<RuntimeError>("check_gradients: argument ", position, ", element ", first, ", which is ",
                              double(x[first]), ": the derivative gives ", double(gradient[first]),
                              ", differences of the values give ", expected_there, "; ", wrong, " of ", x.size(),
                              " elements of this argument differ by more than ", check.tolerance, ".");
  return largest;
}

/// Numbers in [0.5, 1.5), so that errors of several results do not cancel.
template <class Y>
Y check_weights(const Y& like, std::uint64_t seed) {
  Random random(seed);
  Y weights = Y::empty(like.n());
  for (auto& w : weights.values()) w = typename Y::type(0.5 + random.word() * 0x1p-32);
  return weights;
}
template <class Y>
double weighted_sum(const Y& y, const Y& weights) {
  double total = 0;
  for (std::size_t i = 0; i < y.values().size(); ++i) total += double(y.values()[i]) * double(weights.values()[i]);
  return total;
}
template <class Y>
inline constexpr bool is_checked = is_floating(Y::dims.dtype);

// The number whose gradient is checked, of a result or of a tuple of results: sum(y * weights). Indices give none.
template <class Y>
double checked_number(const Y& y, std::uint64_t result = 0) {
  if constexpr (is_checked<Y>) return weighted_sum(y, check_weights(y, 4711 + result));
  else return 0;
}
template <class... Y>
double checked_number(const std::tuple<Y...>& all) {
  return [&]<std::size_t... k>(std::index_sequence<k...>) {
    return (checked_number(std::get<k>(all), k) + ...);
  }(std::index_sequence_for<Y...>());
}
template <class Y>
void run_backward(eager::Tape& tape, const Y& y) {
  static_assert(is_checked<Y>, "check_gradients: the function returns a floating-point tensor, or a tuple with one");
  tape.backward(y, check_weights(y, 4711));
}
template <class... Y>
void run_backward(eager::Tape& tape, const std::tuple<Y...>& all) {
  static_assert((is_checked<Y> || ...),
                "check_gradients: the function returns a floating-point tensor, or a tuple with one");
  const auto term = []<std::size_t k>(const auto& y, std::integral_constant<std::size_t, k>) {
    if constexpr (is_checked<std::remove_cvref_t<decltype(y)>>)
      return ops::cast<double>(ops::reduce_sum(y * check_weights(y, 4711 + k)));
    else return Tensor<double, Shape<>>::full(0.0);
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    tape.backward((term(std::get<k>(all), std::integral_constant<std::size_t, k>()) + ...));
  }(std::index_sequence_for<Y...>());
}

template <class F, std::size_t... I, class... X>
double check_gradients_of(GradientCheck check, const F& f, std::index_sequence<I...>, const X&... given) {
  auto x = std::make_tuple(given.copy()...);
  eager::Tape tape;
  (tape.watch(std::get<I>(x)), ...);
  run_backward(tape, f(std::get<I>(x)...));
  const auto gradients = std::make_tuple(tape.gradient(std::get<I>(x))...);
  tape.pause();
  const auto loss = [&](double& result) { result = checked_number(f(std::get<I>(x)...)); };
  double largest = 0;
  const auto compare = [&](int position, auto& operand, const auto& gradient) {
    using Element = typename std::remove_cvref_t<decltype(operand)>::type;
    if constexpr (std::is_same_v<Element, double> || std::is_same_v<Element, float>)
      largest = std::fmax(largest, check_operand<Element>(position, loss, operand.values(), gradient.values(), check));
  };
  (compare(int(I), std::get<I>(x), std::get<I>(gradients)), ...);
  return largest;
}

}  // namespace detail

/// Compares the derivative of f, as a tape computes it, with central differences of its values. Graphs have its bits.
///
///     check_gradients([](auto x, auto y) { return mine::scaled(x, y); }, x, y);
///
/// f        a function of tensors that returns a tensor or a std::tuple of tensors, each time the same (no dropout)
/// x        its arguments. Elements of float64 and of float32 are moved one by one, so f is called 2 * elements times;
///          arguments of other dtypes are held fixed. Use float64 where f accepts it, small tensors, and values away
///          from kinks, such as the 0 of relu
/// returns  the largest difference, relative to the expected value where that is above 1
/// throws   RuntimeError that names the argument and the first element whose derivative differs from the expected one
/// source   PyTorch's torch.autograd.gradcheck
template <class F, class... X>
double check_gradients(GradientCheck check, const F& f, const X&... x) {
  return detail::check_gradients_of(check, f, std::index_sequence_for<X...>{}, x...);
}
template <class F, class... X>
double check_gradients(const F& f, const X&... x) requires(!std::is_same_v<F, GradientCheck>)
{
  return check_gradients(GradientCheck{}, f, x...);
}

}  // namespace tenon
