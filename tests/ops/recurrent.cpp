// lstm and gru: gradients against differences in double, the time loop against single steps of other operators, modes, errors.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/gru.hpp>
#include <tenon/ops/lstm.hpp>
#include <tenon/ops/ops.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using support::both_modes;
using support::check_gradients;
using support::random_tensor;
using support::same_bits;

namespace {

template <class T, int... E> auto numbers(std::uint64_t seed, double size = 1) { return random_tensor<T, Shape<E...>>(seed, -size, size); }
template <int time, class X> auto at_step(const X& x) { return ops::squeeze<1>(ops::slice<Part{}, Part{time, time + 1}>(x)); }
template <int gate, int hidden, class X> auto gate_of(const X& x) { return ops::slice<Part{}, Part{gate * hidden, (gate + 1) * hidden}>(x); }

template <class A, class B>
double distance(const A& a, const B& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i) worst = std::fmax(worst, std::fabs(double(a.values()[i]) - double(b.values()[i])));
  return worst;
}

}  // namespace

TEST_CASE("lstm: gradients against central differences") {
  const auto p = numbers<double, dyn, 4, 12>(1), w = numbers<double, dyn, 4, 12>(2);
  const auto weight = numbers<double, 12, 3>(3);
  const auto h0 = numbers<double, dyn, 1, 3>(4), c0 = numbers<double, dyn, 1, 3>(5);
  check_gradients([](auto x, auto u) { return std::get<0>(ops::lstm(x, u)); }, p, weight);
  check_gradients([](auto x, auto u) { return std::get<1>(ops::lstm(x, u)); }, p, weight);
  check_gradients([](auto x, auto u, auto h, auto c) { return std::get<0>(ops::lstm(x, u, h, c)); }, p, weight, h0, c0);
  check_gradients([](auto x, auto u, auto h, auto c) { return std::get<1>(ops::lstm<true>(x, u, h, c)); }, p, weight, h0, c0);
  check_gradients([](auto x, auto u) { return ops::add(std::get<0>(ops::lstm<true>(x, u)), std::get<1>(ops::lstm<true>(x, u))); }, w, weight);
}

TEST_CASE("gru: gradients against central differences") {
  const auto p = numbers<double, dyn, 4, 9>(1);
  const auto weight = numbers<double, 9, 3>(3);
  const auto bias = numbers<double, 9>(6);
  const auto h0 = numbers<double, dyn, 1, 3>(4);
  check_gradients([](auto x, auto u) { return ops::gru(x, u); }, p, weight);
  check_gradients([](auto x, auto u, auto b) { return ops::gru<true>(x, u, b); }, p, weight, bias);
  check_gradients([](auto x, auto u, auto h) { return ops::gru(x, u, h); }, p, weight, h0);
  check_gradients([](auto x, auto u, auto b, auto h) { return ops::gru<true>(x, u, b, h); }, p, weight, bias, h0);
}

TEST_CASE("lstm: the steps are those of the formula") {
  constexpr int H = 21;
  const auto p = numbers<float, dyn, 2, 4 * H>(1, 3);
  const auto weight = numbers<float, 4 * H, H>(2);
  auto step = [](auto gates, auto c) {
    auto cell = sigmoid(gate_of<1, H>(gates)) * c + sigmoid(gate_of<0, H>(gates)) * tanh(gate_of<2, H>(gates));
    return std::pair(cell, sigmoid(gate_of<3, H>(gates)) * tanh(cell));
  };
  const auto [c1, h1] = step(at_step<0>(p), Tensor<float, Shape<dyn, H>>::full(0, p.n()));
  const auto [c2, h2] = step(at_step<1>(p) + ops::matmul<ops::Transposed::second>(h1, weight), c1);
  const auto [output, c] = ops::lstm(p, weight);
  CHECK(distance(at_step<0>(output), h1) < 1e-6);
  CHECK(distance(at_step<1>(output), h2) < 1e-6);
  CHECK(distance(ops::squeeze<1>(c), c2) < 1e-6);
}

TEST_CASE("lstm and gru: equal bits in both modes, with the gradients") {
  const auto p = numbers<float, dyn, 5, 4 * 19>(1, 2);
  const auto weight = numbers<float, 4 * 19, 19>(2, 0.5);
  const auto h0 = numbers<float, dyn, 1, 19>(4);
  both_modes([](auto x, auto u) { return std::get<0>(ops::lstm(x, u)); }, p, weight);
  both_modes([](auto x, auto u) { return ops::add(std::get<0>(ops::lstm<true>(x, u)), std::get<1>(ops::lstm<true>(x, u))); }, p, weight);
  both_modes([](auto x, auto u, auto h) { return std::get<1>(ops::lstm(x, u, h, h)); }, p, weight, h0);
  const auto q = numbers<float, dyn, 5, 3 * 19>(1, 2);
  const auto small = numbers<float, 3 * 19, 19>(2, 0.5);
  both_modes([](auto x, auto u) { return ops::gru<true>(x, u); }, q, small);
  both_modes([](auto x, auto u, auto h) { return ops::gru(x, u, h); }, q, small, h0);
}

TEST_CASE("lstm and gru: each sample has the bits that it has alone, whatever the batch") {
  constexpr int H = 70;
  const auto weight = numbers<float, 4 * H, H>(2, 0.3);
  const auto small = numbers<float, 3 * H, H>(3, 0.3);
  for (const long n : {2l, 8l, 9l, 23l}) {
    const auto p = random_tensor<float, Shape<dyn, 6, 4 * H>>(5, -2, 2, n);
    const auto q = random_tensor<float, Shape<dyn, 6, 3 * H>>(6, -2, 2, n);
    const auto [all, cells] = ops::lstm(p, weight);
    const auto others = ops::gru<true>(q, small);
    for (long i = 0; i < n; ++i) {
      CAPTURE(i);
      auto one = Tensor<float, Shape<dyn, 6, 4 * H>>::empty(1);
      std::copy_n(p.data() + i * one.count(), one.count(), one.data());
      auto other = Tensor<float, Shape<dyn, 6, 3 * H>>::empty(1);
      std::copy_n(q.data() + i * other.count(), other.count(), other.data());
      const auto [h, c] = ops::lstm(one, weight);
      const auto g = ops::gru<true>(other, small);
      CHECK(std::memcmp(h.data(), all.data() + i * h.count(), std::size_t(h.count()) * sizeof(float)) == 0);
      CHECK(std::memcmp(c.data(), cells.data() + i * c.count(), std::size_t(c.count()) * sizeof(float)) == 0);
      CHECK(std::memcmp(g.data(), others.data() + i * g.count(), std::size_t(g.count()) * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("lstm: reverse runs from the last step to the first") {
  const auto p = numbers<float, dyn, 3, 8>(1);
  const auto weight = numbers<float, 8, 2>(2);
  const auto turned = ops::concat<1>(ops::slice<Part{}, Part{2, 3}>(p), ops::slice<Part{}, Part{1, 2}>(p), ops::slice<Part{}, Part{0, 1}>(p));
  const auto [h, c] = ops::lstm<true>(p, weight);
  const auto [h2, c2] = ops::lstm(turned, weight);
  CHECK(same_bits(c, c2));
  CHECK(same_bits(at_step<0>(h), at_step<2>(h2)));
  CHECK(same_bits(at_step<2>(h), at_step<0>(h2)));
}

TEST_CASE("lstm and gru: operands that do not fit are named") {
  const TensorType p = type_of<float, Shape<dyn, 5, 8>>, weight = type_of<float, Shape<8, 2>>;
  CHECK((support::refusal<ops::LstmStates>({}, {p, weight}) == ""));
  CHECK((support::refusal<ops::LstmStates>({}, {type_of<float, Shape<dyn, 8>>, weight}) == "LSTM needs an input [n,T,features], got one of rank 2"));
  CHECK((support::refusal<ops::LstmStates>({}, {p, type_of<float, Shape<8, 3>>}) == "LSTM got float32 [8,3] as recurrent weight of 8 gates of float32"));
  CHECK((support::refusal<ops::LstmStates>({}, {type_of<int, Shape<dyn, 5, 8>>, type_of<int, Shape<8, 2>>}) == "LSTM needs an input of float32 or float64, got int32"));
  CHECK((support::refusal<ops::LstmStates>({}, {p, weight, type_of<float, Shape<dyn, 1, 3>>, type_of<float, Shape<dyn, 1, 2>>}) ==
        "LSTM got an initial state float32 [n,1,3], it needs float32 [n,1,2] per layer and direction"));
  CHECK((support::refusal<ops::GruStates>({}, {type_of<float, Shape<dyn, 5, 6>>, type_of<float, Shape<6, 2>>, type_of<float, Shape<6>>, type_of<float, Shape<dyn, 2, 2>>}) ==
        "GRU got an initial state float32 [n,2,2], it needs float32 [n,1,2] per layer and direction"));
}
