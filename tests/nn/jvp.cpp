// Products with the Jacobian: jvp and vjp.
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::same_bits, support::tensor_of, support::random_tensor;

namespace {
using Number64 = Tensor<double, Shape<>>;
using Vector = Tensor<double, Shape<3>>;
Number64 number64(double v) { return Number64::full(v); }

constexpr auto cube = [](auto x) { return x * x * x; };
constexpr auto two_of_two = [](auto a, auto b) { return std::tuple(a * b, reduce_sum(a * a + b)); };
}  // namespace

TEST_CASE("jvp: one argument, several, several results, in both modes") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const auto [y, dy] = jvp(cube, number64(2), number64(5));
    CHECK(y.item() == 8);
    CHECK(dy.item() == 60);
    const auto a = tensor_of<double, Shape<3>>({1, 2, 3}), b = tensor_of<double, Shape<3>>({4, 5, 6}),
               u = tensor_of<double, Shape<3>>({1, 0, -1}), v = tensor_of<double, Shape<3>>({0, 2, 1});
    const auto [values, tangents] = jvp(two_of_two, std::tuple(a, b), std::tuple(u, v));
    CHECK(same_bits(std::get<0>(values), tensor_of<double, Shape<3>>({4, 10, 18})));
    CHECK(std::get<1>(values).item() == 29);
    CHECK(same_bits(std::get<0>(tangents), tensor_of<double, Shape<3>>({4, 4, -3})));
    CHECK(std::get<1>(tangents).item() == -1);
    const auto along_b = std::get<1>(jvp<1>(two_of_two, std::tuple(a, b), v));
    CHECK(same_bits(std::get<0>(along_b), tensor_of<double, Shape<3>>({0, 4, 3})));
    CHECK(std::get<1>(along_b).item() == 3);
    // what does not depend on an argument, and an argument that is itself the result
    const auto zero = std::get<1>(jvp([](auto x) { return stop_gradient(x) * 2.0; }, a, u));
    CHECK(same_bits(zero, Vector::zeros()));
    CHECK(same_bits(std::get<1>(jvp([](auto x) { return x; }, a, u)), u));
  }
}

TEST_CASE("vjp: one argument, several, several results; equal bits by tape and graph") {
  const auto a = tensor_of<double, Shape<3>>({1, 2, 3}), b = tensor_of<double, Shape<3>>({4, 5, 6}),
             w = tensor_of<double, Shape<3>>({2, 0, 1});
  const auto product = [](auto x, auto y) { return x * y; };
  const auto [y, gradients] = vjp(product, std::tuple(a, b), w);
  CHECK(same_bits(y, tensor_of<double, Shape<3>>({4, 10, 18})));
  CHECK(same_bits(std::get<0>(gradients), tensor_of<double, Shape<3>>({8, 0, 6})));
  CHECK(same_bits(std::get<1>(gradients), tensor_of<double, Shape<3>>({2, 0, 3})));
  const auto compiled = jit([](auto x, auto y, auto v) {
    const auto [value, two] = vjp([](auto p, auto q) { return p * q; }, std::tuple(x, y), v);
    return std::tuple(value, std::get<0>(two), std::get<1>(two));
  })(a, b, w);
  CHECK(same_bits(std::get<1>(compiled), std::get<0>(gradients)));
  CHECK(same_bits(std::get<2>(compiled), std::get<1>(gradients)));
  const auto [values, of_a] = vjp<0>(two_of_two, std::tuple(a, b), std::tuple(w, number64(10)));
  CHECK(std::get<1>(values).item() == 29);
  CHECK(same_bits(of_a, tensor_of<double, Shape<3>>({28, 40, 66})));
  const double factor = 3;
  CHECK(same_bits(std::get<1>(vjp([&](auto x) { return x * factor; }, a, w)), tensor_of<double, Shape<3>>({6, 0, 3})));
}

TEST_CASE("the two products agree: <w, J v> = <J^T w, v>, through layers with a batch") {
  using Rows = Tensor<double, Shape<dyn, 6>>;
  constexpr auto f = [](auto x, auto m) { return softmax<1>(tanh(matmul(gelu(x), m)) + reduce_max_keep<1>(x)); };
  const auto x = random_tensor<double, Shape<dyn, 6>>(1, -1, 1, 4),
             v = random_tensor<double, Shape<dyn, 6>>(2, -1, 1, 4);
  const auto m = random_tensor<double, Shape<6, 6>>(3, -1, 1, 1), u = random_tensor<double, Shape<6, 6>>(4, -1, 1, 1);
  const Rows w = random_tensor<double, Shape<dyn, 6>>(5, -1, 1, 4);
  const auto [y, dy] = jvp(f, std::tuple(x, m), std::tuple(v, u));
  const auto [y2, gradients] = vjp(f, std::tuple(x, m), w);
  CHECK(same_bits(y, y2));
  const double forward = reduce_sum(w * dy).item();
  const double reverse = reduce_sum(std::get<0>(gradients) * v).item() + reduce_sum(std::get<1>(gradients) * u).item();
  CHECK(std::fabs(forward) > 1e-3);
  CHECK(forward == doctest::Approx(reverse).epsilon(1e-13));
}

TEST_CASE("the product with a Hessian matrix: forward over reverse; derivatives of jvp") {
  const auto x = tensor_of<double, Shape<3>>({1, 2, 3}), v = tensor_of<double, Shape<3>>({1, -1, 2});
  constexpr auto loss = [](auto u) { return reduce_sum(u * u * u); };
  const auto [gradient, product] = jvp(grad(loss), x, v);
  CHECK(same_bits(gradient, tensor_of<double, Shape<3>>({3, 12, 27})));
  CHECK(same_bits(product, tensor_of<double, Shape<3>>({6, -12, 36})));
  // d/dx of f'(x) 5 = 6 x 5
  const auto slope = jit(grad([](auto u) { return std::get<1>(jvp(cube, u, full_like(u, 5.0))); }));
  CHECK(slope(number64(2)).item() == 60);
  CHECK(std::get<1>(jvp(grad(grad(cube)), number64(2), number64(7))).item() == 42);
}

TEST_CASE("gradients of single samples, with respect to what they share: a map of gradients") {
  const auto x = tensor_of<double, Shape<3, 2>>({1, 2, 3, 4, 2, 1});
  const auto w = tensor_of<double, Shape<2>>({1, -1});
  const auto all = jit([](auto rows, auto weight) {
    return map([&](auto row) { return grad<1>([](auto a, auto b) { return square(reduce_sum(a * b)); })(row, weight); },
               rows);
  })(x, w);
  CHECK(same_bits(all, tensor_of<double, Shape<3, 2>>({-2, -4, -6, -8, 4, 2})));
}

namespace {
/// u'' + u and both products with the Jacobian of u = x³, whose functions capture the cell.
struct Oscillator : nn::Cell<Oscillator> {
  nn::Setting<1.0, double> one;
  constexpr auto u(auto x) const { return x * x * x * one; }
  constexpr auto construct(auto x) const {
    const auto first = [this](auto v) { return reduce_sum(u(v)); };
    const auto [y, slope] = jvp([this](auto v) { return u(v); }, x, full_like(x, 1.0));
    const auto [z, back] = vjp([this](auto v) { return std::tuple(u(v), v); }, x, std::tuple(x, x));
    return grad(grad(first))(x) + y + slope + back;
  }
};
}  // namespace

TEST_CASE(
    "a cell whose construct takes a gradient of a gradient runs by itself, and in eval and predict, in both modes") {
  using Column = Tensor<double, Shape<dyn>>;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const Oscillator cell;
    const Column x = Column::from({1, 2}), expected = Column::from({6 + 1 + 3 + 4, 12 + 8 + 12 + 26});
    CHECK(same_bits(cell(x), expected));
    Oscillator network;
    Model model{network, nn::MSELoss{}, NoOptimizer{}, nn::MSE{}};
    CHECK(same_bits(model.predict(x), expected));
    const auto data = dataset::from_arrays(dataset::column<Shape<>>(std::vector<double>{1, 2}),
                                           dataset::column<Shape<>>(std::vector<double>{14, 58}));
    CHECK(model.eval(data | dataset::batch(2))["mse"] == 0);
  }
}

TEST_CASE("a gradient that would be lost is an error") {
  eager::Tape tape;
  const Number64 x = number64(3);
  tape.watch(x);
  CHECK_THROWS_AS(jvp(cube, x, number64(1)), RuntimeError);
  CHECK_THROWS_WITH_AS(vjp(cube, x, number64(1)), doctest::Contains("would lose the outer gradient"), RuntimeError);
}
