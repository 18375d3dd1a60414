// Recurrent layers of one direction: LSTM by its operator; GRU, whose reset gate ONNX applies before the product, and
// RNN step by step.
#pragma once
#include "axes.hpp"

namespace onnx {

namespace detail {
/// x as [n, steps, features]: `layout` 0 has the steps first.
template <class Node, class X>
constexpr auto batch_first(const X& x) {
  if constexpr (whole<Node>("layout", 0) == 0) return ops::transpose<1, 0, 2>(x);
  else return ops::identity(x);
}
/// Rows k hidden .. (k + 1) hidden of a matrix, or such elements of a vector.
template <int hidden, int k>
constexpr auto gate(const auto& all) {
  return ops::slice<0, tenon::Part{k * hidden, (k + 1) * hidden}>(all);
}
template <class X>
constexpr auto without_direction(const X& x) {
  return ops::squeeze<0>(x);
}
/// Y and its last steps, as ONNX has them.
template <class Node>
constexpr auto outputs(const auto& all, const auto&... last) {
  if constexpr (whole<Node>("layout", 0) == 0)
    return std::tuple(ops::expand_dims<1>(ops::transpose<1, 0, 2>(all)), ops::expand_dims<0>(last)...);
  else return std::tuple(ops::expand_dims<2>(all), ops::expand_dims<1>(last)...);
}
/// All steps of a state from `step(x of a step, state)`.
template <int t = 0, class X>
constexpr auto steps(const X& x, const auto& state, auto step) {
  const auto next = step(ops::squeeze<1>(ops::slice<1, tenon::Part{t, t + 1}>(x)), state);
  const auto now = ops::expand_dims<1>(next);
  if constexpr (t + 1 == type<X>.extent[1]) return now;
  else return ops::concat<1>(now, steps<t + 1>(x, next, step));
}
template <class X>
constexpr auto last_step(const X& all) {
  constexpr int count = int(type<X>.extent[1]);
  return ops::squeeze<1>(ops::slice<1, tenon::Part{count - 1, count}>(all));
}
/// Zeros [n, hidden] beside x [n, steps, features].
template <int hidden, class X>
constexpr auto no_state(const X& x) {
  constexpr int n = int(type<X>.extent[0]), count = int(type<X>.extent[1]), features = int(type<X>.extent[2]);
  static_cast<void>(count), static_cast<void>(features);
  const auto zero = ops::mul(ops::slice<1, tenon::Part{0, 1}>(ops::reshape<tenon::Shape<n, count * features>>(x)), 0);
  return ops::broadcast_to<tenon::Shape<n, hidden>>(zero);
}
template <int hidden, int gates>
constexpr auto summed_bias(const auto& b) {
  const auto both = without_direction(b);
  return ops::add(ops::slice<0, tenon::Part{0, gates * hidden}>(both),
                  ops::slice<0, tenon::Part{gates * hidden, 2 * gates * hidden}>(both));
}
constexpr auto times(const auto& x, const auto& w) { return ops::matmul<ops::Transposed::second>(x, w); }
}  // namespace detail

template <class Node, class X, class B = Absent>
constexpr auto LSTM(const X& x, const auto& w, const auto& r, const B& b = {}) {
  constexpr int hidden = int(whole<Node>("hidden_size", 1));
  // ONNX has the gates in the order i, o, f, c
  const auto ordered = [](const auto& all) {
    using namespace detail;
    return ops::concat<0>(gate<hidden, 0>(all), gate<hidden, 2>(all), gate<hidden, 3>(all), gate<hidden, 1>(all));
  };
  const auto sequence = detail::batch_first<Node>(x);
  const auto input_weight = ordered(detail::without_direction(w)), weight = ordered(detail::without_direction(r));
  const auto results = [&] {
    if constexpr (is_absent<B>) return ops::lstm(sequence, input_weight, weight);
    else return ops::lstm(sequence, input_weight, weight, ordered(detail::summed_bias<hidden, 4>(b)));
  }();
  const auto& states = std::get<1>(results);
  return detail::outputs<Node>(std::get<0>(results), ops::squeeze<1>(ops::slice<1, tenon::Part{0, 1}>(states)),
                               ops::squeeze<1>(ops::slice<1, tenon::Part{1, 2}>(states)));
}
template <class Node, class X>
constexpr auto RNN(const X& x, const auto& w, const auto& r) {
  constexpr int hidden = int(whole<Node>("hidden_size", 1));
  const auto sequence = detail::batch_first<Node>(x);
  const auto input_weight = detail::without_direction(w), weight = detail::without_direction(r);
  const auto all = detail::steps(sequence, detail::no_state<hidden>(sequence), [&](const auto& now, const auto& h) {
    return ops::tanh(ops::add(detail::times(now, input_weight), detail::times(h, weight)));
  });
  return detail::outputs<Node>(all, detail::last_step(all));
}
template <class Node, class X>
constexpr auto GRU(const X& x, const auto& w, const auto& r) {
  constexpr int hidden = int(whole<Node>("hidden_size", 1));
  const auto sequence = detail::batch_first<Node>(x);
  const auto v = detail::without_direction(w), u = detail::without_direction(r);
  const auto all = detail::steps(sequence, detail::no_state<hidden>(sequence), [&](const auto& now, const auto& h) {
    using namespace detail;
    const auto update = ops::sigmoid(ops::add(times(now, gate<hidden, 0>(v)), times(h, gate<hidden, 0>(u))));
    const auto reset = ops::sigmoid(ops::add(times(now, gate<hidden, 1>(v)), times(h, gate<hidden, 1>(u))));
    const auto fresh =
        ops::tanh(ops::add(times(now, gate<hidden, 2>(v)), times(ops::mul(reset, h), gate<hidden, 2>(u))));
    return ops::add(ops::mul(ops::sub(1, update), fresh), ops::mul(update, h));
  });
  return detail::outputs<Node>(all, detail::last_step(all));
}

}  // namespace onnx
