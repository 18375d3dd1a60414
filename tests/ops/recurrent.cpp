// lstm and gru: gradients against differences in double, the time loop against single steps of other operators, modes,
// errors.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

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

template <class T, int... E>
auto numbers(std::uint64_t seed, double size = 1) {
  return random_tensor<T, Shape<E...>>(seed, -size, size);
}
template <int time, class X>
auto at_step(const X& x) {
  return ops::squeeze<1>(ops::slice<Part{}, Part{time, time + 1}>(x));
}
template <int gate, int hidden, class X>
auto gate_of(const X& x) {
  return ops::slice<Part{}, Part{gate * hidden, (gate + 1) * hidden}>(x);
}

template <class A, class B>
double distance(const A& a, const B& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i)
    worst = std::fmax(worst, std::fabs(double(a.values()[i]) - double(b.values()[i])));
  return worst;
}

}  // namespace

TEST_CASE("lstm: gradients against central differences") {
  const auto x = numbers<double, dyn, 4, 2>(1);
  const auto input_weight = numbers<double, 12, 2>(2);
  const auto weight = numbers<double, 12, 3>(3);
  const auto bias = numbers<double, 12>(6);
  const auto first = numbers<double, dyn, 2, 3>(4);
  check_gradients([](auto v, auto u, auto w) { return std::get<0>(ops::lstm(v, u, w)); }, x, input_weight, weight);
  check_gradients([](auto v, auto u, auto w) { return std::get<1>(ops::lstm<true>(v, u, w)); }, x, input_weight,
                  weight);
  check_gradients([](auto v, auto u, auto w, auto s) { return std::get<0>(ops::lstm<true>(v, u, w, s)); }, x,
                  input_weight, weight, first);
  check_gradients([](auto v, auto u, auto w, auto b, auto s) { return std::get<1>(ops::lstm(v, u, w, b, s)); }, x,
                  input_weight, weight, bias, first);
  const auto both = [](auto v, auto u, auto w, auto b) {
    auto [all, last] = ops::lstm<true>(v, u, w, b);
    return ops::add(all, ops::slice<Part{}, Part{0, 1}>(last) * ops::slice<Part{}, Part{1, 2}>(last));
  };
  check_gradients(both, x, input_weight, weight, bias);
}

TEST_CASE("gru: gradients against central differences") {
  const auto p = numbers<double, dyn, 4, 9>(1);
  const auto weight = numbers<double, 9, 3>(3);
  const auto bias = numbers<double, 9>(6);
  const auto h0 = numbers<double, dyn, 1, 3>(4);
  check_gradients([](auto x, auto u) { return std::get<0>(ops::gru(x, u)); }, p, weight);
  check_gradients([](auto x, auto u, auto b) { return std::get<1>(ops::gru<true>(x, u, b)); }, p, weight, bias);
  check_gradients([](auto x, auto u, auto h) { return std::get<1>(ops::gru(x, u, h)); }, p, weight, h0);
  const auto both = [](auto x, auto u, auto b, auto h) {
    auto [all, last] = ops::gru<true>(x, u, b, h);
    return ops::add(all, last * last);
  };
  check_gradients(both, p, weight, bias, h0);
}

TEST_CASE("lstm: the steps are those of the formula") {
  constexpr int H = 21;
  const auto x = numbers<float, dyn, 2, 5>(1, 3);
  const auto input_weight = numbers<float, 4 * H, 5>(3);
  const auto weight = numbers<float, 4 * H, H>(2);
  const auto bias = numbers<float, 4 * H>(4);
  const auto projected = [&](auto part) { return ops::matmul<ops::Transposed::second>(part, input_weight) + bias; };
  auto step = [](auto gates, auto c) {
    auto cell = sigmoid(gate_of<1, H>(gates)) * c + sigmoid(gate_of<0, H>(gates)) * tanh(gate_of<2, H>(gates));
    return std::pair(cell, sigmoid(gate_of<3, H>(gates)) * tanh(cell));
  };
  const auto [c1, h1] = step(projected(at_step<0>(x)), Tensor<float, Shape<dyn, H>>::full(0, x.n()));
  const auto [c2, h2] = step(projected(at_step<1>(x)) + ops::matmul<ops::Transposed::second>(h1, weight), c1);
  const auto [output, last] = ops::lstm(x, input_weight, weight, bias);
  CHECK(distance(at_step<0>(output), h1) < 2e-6);
  CHECK(distance(at_step<1>(output), h2) < 2e-6);
  CHECK(same_bits(at_step<0>(last), at_step<1>(output)));
  CHECK(distance(at_step<1>(last), c2) < 2e-6);
}

TEST_CASE("lstm and gru: equal bits in both modes, with the gradients") {
  const auto x = numbers<float, dyn, 5, 7>(1, 2);
  const auto input_weight = numbers<float, 4 * 19, 7>(2, 0.5);
  const auto weight = numbers<float, 4 * 19, 19>(2, 0.5);
  const auto first = numbers<float, dyn, 2, 19>(4);
  both_modes([](auto v, auto u, auto w) { return std::get<0>(ops::lstm(v, u, w)); }, x, input_weight, weight);
  const auto both = [](auto v, auto u, auto w) {
    auto [all, last] = ops::lstm<true>(v, u, w);
    return ops::add(all, ops::slice<Part{}, Part{1, 2}>(last));
  };
  both_modes(both, x, input_weight, weight);
  both_modes(
      [](auto v, auto w, auto s) {
        return std::get<1>(ops::lstm(v, w, ops::concat<1>(w, w, ops::slice<Part{}, Part{0, 5}>(w)), s));
      },
      x, input_weight, first);
  const auto q = numbers<float, dyn, 5, 3 * 19>(1, 2);
  const auto small = numbers<float, 3 * 19, 19>(2, 0.5);
  const auto h0 = numbers<float, dyn, 1, 19>(4);
  both_modes([](auto v, auto w) { return std::get<0>(ops::gru<true>(v, w)); }, q, small);
  both_modes([](auto v, auto w, auto h) { return std::get<1>(ops::gru(v, w, h)); }, q, small, h0);
  const auto both_of_gru = [](auto v, auto w, auto h) {
    auto [all, last] = ops::gru(v, w, h);
    return ops::mul(all, last);
  };
  both_modes(both_of_gru, q, small, h0);
}

TEST_CASE("lstm and gru: each sample has the bits that it has alone, whatever the batch") {
  constexpr int H = 70;
  const auto input_weight = numbers<float, 4 * H, 5>(1, 0.3);
  const auto weight = numbers<float, 4 * H, H>(2, 0.3);
  const auto bias = numbers<float, 4 * H>(4, 0.3);
  const auto small = numbers<float, 3 * H, H>(3, 0.3);
  for (const long n : {2l, 8l, 9l, 23l}) {
    const auto x = random_tensor<float, Shape<dyn, 11, 5>>(5, -2, 2, n);
    const auto q = random_tensor<float, Shape<dyn, 6, 3 * H>>(6, -2, 2, n);
    const auto [all, cells] = ops::lstm<true>(x, input_weight, weight, bias);
    const auto [others, states] = ops::gru<true>(q, small);
    for (long i = 0; i < n; ++i) {
      CAPTURE(i);
      auto one = Tensor<float, Shape<dyn, 11, 5>>::empty(1);
      std::copy_n(x.data() + i * one.count(), one.count(), one.data());
      auto other = Tensor<float, Shape<dyn, 6, 3 * H>>::empty(1);
      std::copy_n(q.data() + i * other.count(), other.count(), other.data());
      const auto [h, last] = ops::lstm<true>(one, input_weight, weight, bias);
      const auto [g, state] = ops::gru<true>(other, small);
      CHECK(std::memcmp(h.data(), all.data() + i * h.count(), std::size_t(h.count()) * sizeof(float)) == 0);
      CHECK(std::memcmp(last.data(), cells.data() + i * last.count(), std::size_t(last.count()) * sizeof(float)) == 0);
      CHECK(std::memcmp(g.data(), others.data() + i * g.count(), std::size_t(g.count()) * sizeof(float)) == 0);
      CHECK(std::memcmp(state.data(), states.data() + i * H, H * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("gru: the steps are those of the formula, the last h is that of the last step") {
  constexpr int H = 21;
  const auto p = numbers<float, dyn, 2, 3 * H>(1, 3);
  const auto weight = numbers<float, 3 * H, H>(2);
  const auto bias = numbers<float, 3 * H>(4);
  const auto step = [&](auto input, auto h) {
    const auto own = ops::matmul<ops::Transposed::second>(h, weight) + bias;
    const auto r = sigmoid(gate_of<0, H>(input) + gate_of<0, H>(own));
    const auto z = sigmoid(gate_of<1, H>(input) + gate_of<1, H>(own));
    const auto m = tanh(gate_of<2, H>(input) + r * gate_of<2, H>(own));
    return m + z * (h - m);
  };
  const auto h1 = step(at_step<0>(p), Tensor<float, Shape<dyn, H>>::full(0, p.n())), h2 = step(at_step<1>(p), h1);
  const auto [output, last] = ops::gru(p, weight, bias);
  CHECK(distance(at_step<0>(output), h1) < 2e-6);
  CHECK(distance(at_step<1>(output), h2) < 2e-6);
  CHECK(same_bits(at_step<0>(last), at_step<1>(output)));
  const auto [reversed, first] = ops::gru<true>(p, weight, bias);
  CHECK(same_bits(at_step<0>(first), at_step<0>(reversed)));
}

TEST_CASE("lstm: reverse runs from the last step to the first") {
  const auto x = numbers<float, dyn, 3, 4>(1);
  const auto input_weight = numbers<float, 8, 4>(3);
  const auto weight = numbers<float, 8, 2>(2);
  const auto turned = ops::concat<1>(ops::slice<Part{}, Part{2, 3}>(x), ops::slice<Part{}, Part{1, 2}>(x),
                                     ops::slice<Part{}, Part{0, 1}>(x));
  const auto [h, last] = ops::lstm<true>(x, input_weight, weight);
  const auto [h2, last2] = ops::lstm(turned, input_weight, weight);
  CHECK(same_bits(last, last2));
  CHECK(same_bits(at_step<0>(h), at_step<2>(h2)));
  CHECK(same_bits(at_step<2>(h), at_step<0>(h2)));
}

TEST_CASE("lstm and gru: operands that do not fit are named") {
  const TensorType x = support::type<float, dyn, 5, 3>(), input = support::type<float, 8, 3>(),
                   weight = support::type<float, 8, 2>(), bias = support::type<float, 8>();
  const auto lstm = [](std::initializer_list<TensorType> types) { return support::refusal<ops::Lstm>({}, types); };
  CHECK(lstm({x, input, weight}) == "");
  CHECK(lstm({x, input, weight, bias, support::type<float, dyn, 2, 2>()}) == "");
  CHECK(lstm({support::type<float, dyn, 3>(), input, weight}) == "LSTM needs an input [n,T,features], got [n,3]");
  CHECK(lstm({x, support::type<float, 8, 4>(), weight}) ==
        "LSTM got an input of 3 features [n,5,3], its weight [8,4] needs 4");
  CHECK(lstm({support::type<float, dyn, 1 << 29, 3>(), input, weight})
            .starts_with("LSTM of [n,536870912,3]: a sample has at most "));
  CHECK(lstm({x, input, support::type<float, 8, 3>()}) ==
        "LSTM got the weights [8,3] and [8,3]: it needs [4H,features], [4H,H], and [4H]");
  CHECK(lstm({x, input, weight, support::type<float, 4>()}) ==
        "LSTM got the weights [8,3] and [8,2] and a bias of another extent: it needs [4H,features], [4H,H], and [4H]");
  CHECK(lstm({support::type<int, dyn, 5, 3>(), input, weight}) ==
        "LSTM needs an input of float32 or float64, got int32 [n,5,3]");
  CHECK(lstm({x, input, support::type<double, 8, 2>()}) ==
        "LSTM of float32 [n,5,3] and float64 [8,2]: dtypes must agree");
  CHECK(lstm({x, input, weight, support::type<float, dyn, 2, 3>()}) ==
        "LSTM of [n,5,3] got first states h and c [n,2,3], it needs [n,2,2]");
  const auto gru = [](std::initializer_list<TensorType> types) { return support::refusal<ops::Gru>({}, types); };
  CHECK(gru({support::type<float, dyn, 5, 6>(), support::type<float, 6, 2>(), support::type<float, 6>(),
             support::type<float, dyn, 1, 2>()}) == "");
  CHECK(gru({support::type<float, dyn, 5, 6>(), support::type<float, 6, 2>(), support::type<int, dyn, 1, 2>()}) ==
        "GRU of float32 [n,5,6] got int32 [n,1,2] as last operand: first states are float32, lengths int32 [n]");
  CHECK(gru({support::type<float, dyn, 6>(), support::type<float, 6, 2>()}) ==
        "GRU needs an input [n,T,features], got one of rank 2");
  CHECK(gru({support::type<float, dyn, 5, 6>(), support::type<float, 6, 3>()}) ==
        "GRU got float32 [6,3] as recurrent weight of 6 gates of float32");
  CHECK(gru({support::type<float, dyn, 5, 6>(), support::type<float, 6, 2>(), support::type<float, 6>(),
             support::type<float, dyn, 2, 2>()}) ==
        "GRU got an initial state float32 [n,2,2], it needs float32 [n,1,2] per layer and direction");
}
