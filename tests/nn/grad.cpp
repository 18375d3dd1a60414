#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/grad.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/parameter_gradients.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/relu.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::same_bits, support::tensor_of;

namespace {
using Number64 = Tensor<double, Shape<>>;
using Vector = Tensor<double, Shape<3>>;
Number64 number64(double v) { return Number64::full(v); }

// y = x^4: derivatives 4 x^3, 12 x^2, 24 x, all exact for small integers.
constexpr auto fourth_power = [](auto x) { return x * x * x * x; };

struct Line : nn::Cell<Line> {
  nn::Dense<2, 3> fc;
  Parameter<float, Shape<3>, nn::Zero{}> unused;
  constexpr auto construct(auto x) const { return fc(x); }
};
}  // namespace

TEST_CASE("grad and value_and_grad, eager and compiled, against the analytic value") {
  const Number64 x = number64(3);
  CHECK(grad(fourth_power)(x).item() == 108);
  CHECK(jit(grad(fourth_power))(x).item() == 108);
  const auto [value, slope] = value_and_grad(fourth_power)(x);
  CHECK(value.item() == 81);
  CHECK(slope.item() == 108);
  const auto [value2, slope2] = jit(value_and_grad(fourth_power))(x);
  CHECK(value2.item() == 81);
  CHECK(slope2.item() == 108);
}

TEST_CASE("second, third, and fourth order") {
  const Number64 x = number64(3);
  CHECK(grad(grad(fourth_power))(x).item() == 108);
  CHECK(grad(grad(grad(fourth_power)))(x).item() == 72);
  CHECK(jit(grad(grad(grad(grad(fourth_power)))))(x).item() == 24);
  const auto mixed = grad<1>(grad<0>([](auto a, auto b) { return a * a * b * b * b; }));
  CHECK(mixed(number64(2), number64(3)).item() == 2 * 2 * 3 * 9);
  const auto hessian_row =
      jit(grad([](auto v) { return reduce_sum(grad([](auto u) { return reduce_sum(u * u * u); })(v)); }));
  CHECK(same_bits(hessian_row(tensor_of<double, Shape<3>>({1, 2, 3})), tensor_of<double, Shape<3>>({6, 12, 18})));
}

TEST_CASE("several arguments give a tuple, in the order asked for") {
  const auto f = [](auto a, auto b, auto c) { return a * b + c; };
  const auto [gc, ga] = grad<2, 0>(f)(number64(2), number64(5), number64(7));
  CHECK(gc.item() == 1);
  CHECK(ga.item() == 5);
  const auto compiled = jit(value_and_grad<0, 1>(f))(number64(2), number64(5), number64(7));
  CHECK(std::get<0>(compiled).item() == 17);
  CHECK(std::get<1>(compiled).item() == 5);
  CHECK(std::get<2>(compiled).item() == 2);
}

TEST_CASE("a tensor's gradient is that of the sum; an argument without influence gets zeros") {
  const Vector x = tensor_of<double, Shape<3>>({1, 2, 3});
  CHECK(same_bits(grad([](auto v) { return v * v; })(x), tensor_of<double, Shape<3>>({2, 4, 6})));
  CHECK(same_bits(grad<1>([](auto a, auto) { return a * a; })(x, x), Vector::full(0)));
  CHECK(same_bits(jit(grad<1>([](auto a, auto) { return a * a; }))(x, x), Vector::full(0)));
}

TEST_CASE(
    "a loss without influence of the parameters: zeros, and a training step that changes nothing, in both modes") {
  const auto x = Tensor<float, Shape<dyn, 3>>::ones(2);
  nn::Dense<3, 2> net;
  const auto gradients = std::get<1>(value_and_grad([](auto v) { return reduce_sum(v); }, net)(x));
  CHECK(same_bits(gradients(net.weight), Tensor<float, Shape<2, 3>>::zeros()));
  constexpr auto constant = [](const auto& v) { return reduce_sum(stop_gradient(v)); };
  CHECK(same_bits(grad(constant)(x), Tensor<float, Shape<dyn, 3>>::zeros(2)));
  CHECK(same_bits(jit(grad(constant))(x), Tensor<float, Shape<dyn, 3>>::zeros(2)));
}

TEST_CASE("one tensor given for two arguments is two variables") {
  const Number64 x = number64(3);
  const auto product = [](auto a, auto b) { return a * a * b; };
  CHECK(grad(product)(x, x).item() == 18);
  CHECK(grad<1>(product)(x, x).item() == 9);
  CHECK(jit(grad(product))(x, x).item() == 18);
}

TEST_CASE("functions that capture values work eagerly") {
  const Number64 factor = number64(5);
  const auto f = [&](auto x) { return x * factor * 2.0; };
  CHECK(grad(f)(number64(1)).item() == 10);
}

TEST_CASE("a gradient that would silently be lost is an error") {
  const Number64 x = number64(3), w = number64(2);
  const auto captures = [&](auto v) { return v * w; };
  eager::Tape tape;
  tape.watch(x), tape.watch(w);
  CHECK_THROWS_WITH_AS(grad(fourth_power)(x), doctest::Contains("would lose the outer gradient"), RuntimeError);
  CHECK_THROWS_WITH_AS(grad(captures)(number64(1)), doctest::Contains("would lose the outer gradient"), RuntimeError);
  CHECK_THROWS_WITH_AS(grad(grad(fourth_power))(x), doctest::Contains("would lose the outer gradient"), RuntimeError);
  CHECK_THROWS_AS(jit(grad(grad(fourth_power)))(x), RuntimeError);
  CHECK(eager::Tape::active() == &tape);
  CHECK(grad(fourth_power)(number64(2)).item() == 32);  // what the tape does not watch is free
  Line net;
  net.init_parameters();
  CHECK_THROWS_AS(grad([&](auto v) { return net(v); })(Tensor<float, Shape<dyn, 2>>::full(1, 1)), RuntimeError);
}

TEST_CASE("gradients of a network's parameters, by parameter and by name") {
  Line net;
  const auto x = tensor_of<float, Shape<dyn, 2>>({1, 2, 3, 4});
  const auto labels = tensor_of<std::int32_t, Shape<dyn>>({0, 2});
  for (Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const auto [sum, gradients] = value_and_grad([&](auto v) { return reduce_sum(net(v)); }, net)(x);
    CHECK(same_bits(gradients(net.fc.weight), tensor_of<float, Shape<3, 2>>({4, 6, 4, 6, 4, 6})));
    CHECK(same_bits(gradients(net.fc.bias), Tensor<float, Shape<3>>::full(2)));
    CHECK(same_bits(gradients(net.unused), Tensor<float, Shape<3>>::full(0)));
    CHECK(gradients["fc.weight"].as<float>()[1] == 6);
    CHECK(gradients["unused"].data == nullptr);
    CHECK_THROWS_WITH_AS(gradients["fc.wieght"], doctest::Contains("Did you mean 'fc.weight'?"), KeyError);
  }
  const nn::SoftmaxCrossEntropyWithLogits<> loss_fn;
  const auto [loss, gradients] = value_and_grad([&](auto v, auto y) { return loss_fn(net(v), y); }, net)(x, labels);
  float total = 0;
  for (float g : gradients["fc.bias"].as<float>()) total += g;
  CHECK(loss.item() > 0);
  CHECK(std::abs(total) < 1e-6f);  // softmax minus target sums to zero
}
