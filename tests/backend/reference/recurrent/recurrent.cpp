// GRU and LSTM on Reference and on the CPU: dtypes, directions, with and without bias and first states, layers.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {

template <class T, int steps, int features, int hidden>
void check_lstm(long n) {
  CAPTURE(n);
  const auto x = random_tensor<T, Shape<dyn, steps, features>>(1, -2, 2, n);
  const auto from_x = random_tensor<T, Shape<4 * hidden, features>>(2, -0.7, 0.7);
  const auto from_h = random_tensor<T, Shape<4 * hidden, hidden>>(3, -0.7, 0.7);
  const auto bias = random_tensor<T, Shape<4 * hidden>>(4);
  const auto first = random_tensor<T, Shape<dyn, 2, hidden>>(5, -1, 1, n);
  both_modes([](const auto& v, const auto& a, const auto& b) { return std::get<0>(ops::lstm(v, a, b)); }, x, from_x,
             from_h);
  both_modes([](const auto& v, const auto& a, const auto& b) { return std::get<1>(ops::lstm<true>(v, a, b)); }, x,
             from_x, from_h);
  // the weights both from one tensor
  both_modes(
      [](const auto& w, const auto& b, const auto& s) {
        const auto v = ops::concat<1>(s, s, s);
        auto [all, last] = ops::lstm<true>(v, w, w, b, s);
        return ops::concat<1>(all, last);
      },
      from_h, bias, first);
  both_modes(
      [](const auto& v, const auto& w, const auto& s) {
        return std::get<0>(ops::lstm(v, w, ops::slice<Part{}, Part{0, hidden}>(ops::concat<1>(w, w, w)), s));
      },
      x, from_x, first);
}
template <class T, int steps, int hidden>
void check_gru(long n) {
  CAPTURE(n);
  const auto x = random_tensor<T, Shape<dyn, steps, 3 * hidden>>(1, -2, 2, n);
  const auto weight = random_tensor<T, Shape<3 * hidden, hidden>>(2, -0.7, 0.7);
  const auto bias = random_tensor<T, Shape<3 * hidden>>(3);
  const auto h0 = random_tensor<T, Shape<dyn, 1, hidden>>(4, -1, 1, n);
  both_modes([](const auto& v, const auto& w) { return std::get<0>(ops::gru(v, w)); }, x, weight);
  both_modes([](const auto& v, const auto& w, const auto& b) { return std::get<1>(ops::gru<true>(v, w, b)); }, x,
             weight, bias);
  both_modes([](const auto& v, const auto& w, const auto& h) { return std::get<0>(ops::gru<true>(v, w, h)); }, x,
             weight, h0);
  both_modes(
      [](const auto& w, const auto& b, const auto& h) {
        const auto one = ops::concat<2>(h, h, h);
        auto [all, last] = ops::gru(ops::concat<1>(one, one * 0.5f), w, b, h);
        return ops::concat<1>(all, last);
      },
      weight, bias, h0);
}
}  // namespace

TEST_CASE("lstm: float32") {
  check_lstm<float, 1, 3, 2>(1);
  check_lstm<float, 5, 7, 19>(1);
  check_lstm<float, 5, 7, 19>(11);
}
TEST_CASE("lstm: float64") {
  check_lstm<double, 4, 3, 5>(1);
  check_lstm<double, 4, 3, 5>(9);
}
TEST_CASE("gru: float32") {
  check_gru<float, 1, 2>(1);
  check_gru<float, 5, 19>(1);
  check_gru<float, 5, 19>(11);
}
TEST_CASE("gru: float64") {
  check_gru<double, 4, 5>(1);
  check_gru<double, 4, 5>(9);
}

TEST_CASE("lstm and gru: two layers, the second one backward") {
  both_modes(
      [](const auto& x, const auto& w, const auto& v) {
        const auto below = std::get<0>(ops::lstm(x, w, w));
        return tanh(std::get<1>(ops::lstm<true>(below, w, w)) * v);
      },
      random_tensor<float, Shape<dyn, 6, 7>>(1, -2, 2, 4), random_tensor<float, Shape<28, 7>>(2, -0.7, 0.7),
      random_tensor<float, Shape<2, 7>>(3));
}
