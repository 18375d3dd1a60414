// Functions with a gradient that the caller writes.
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"

using namespace tenon;

namespace {
/// The identity forward, -2 dy backward.
constexpr auto reversed = custom_gradient([](auto x) { return x; }, [](auto, auto, auto dy) { return dy * -2.0; });
/// Rounding with the gradient of the identity.
constexpr auto straight_through =
    custom_gradient([](auto x) { return round(x); }, [](auto, auto, auto dy) { return dy; });
/// x² w by parts, whose gradients are the right ones.
constexpr auto weighted_square =
    custom_gradient([](auto x, auto w) { return x * x * w; },
                    [](auto x, auto w, auto, auto dy) { return std::tuple(dy * x * w * 2.0, reduce_sum(dy * x * x)); });
/// Rows by number, with a gradient for the table alone: an argument of integers has none.
constexpr auto rows =
    custom_gradient([](auto table, auto numbers) { return gather(table, numbers); },
                    [](auto table, auto, auto, auto) { return std::tuple(ones_like(table), None{}); });

using Vector = Tensor<double, Shape<4>>;
}  // namespace

TEST_CASE("custom_gradient: the gradient that was written, in both modes") {
  const Vector x{-1.25, 0.5, 2.75, 3.0};
  const auto slope = support::both_modes([](const auto& v) { return reversed(v * v); }, x);
  CHECK(bit_equal(slope.result, x * x));
  CHECK(bit_equal(grad([](auto v) { return reversed(v * v); })(x), x * -4.0));
  CHECK(bit_equal(jit(grad([](auto v) { return reversed(v * v); }))(x), x * -4.0));
  CHECK(bit_equal(straight_through(x), Vector{-1, 0, 3, 3}));
  CHECK(bit_equal(grad([](auto v) { return straight_through(v) * v; })(x), straight_through(x) + x));
}

TEST_CASE("custom_gradient: several arguments, broadcast ones, integers; second derivatives") {
  const Vector x{-1.25, 0.5, 2.75, 3.0};
  const auto w = Tensor<double, Shape<>>::full(1.5);
  support::check_gradients([](const auto& v, const auto& u) { return weighted_square(v, u); }, x, w);
  support::check_second_derivatives([](const auto& v, const auto& u) { return weighted_square(v, u); }, x, w);
  support::both_modes([](const auto& v, const auto& u) { return weighted_square(v, u) * v; }, x, w);
  const auto table = Tensor<double, Shape<3, 2>>::full(2);
  const auto numbers = support::tensor_of<std::int32_t, Shape<dyn>>({0, 2});
  const auto taken = support::both_modes([](const auto& t, const auto& k) { return rows(t, k); }, table, numbers);
  CHECK(bit_equal(std::get<0>(taken.gradient), Tensor<double, Shape<3, 2>>::full(1)));
}

namespace {
struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 4, 3> conv;
  Parameter<float, Shape<1>, nn::One{}> scale;
  constexpr auto construct(auto x) const {
    // clipped gradients of the images; the gradient of a parameter that is an argument
    const auto scaled = custom_gradient([](auto v, auto s) { return v * s; },
                                        [](auto v, auto s, auto, auto dy) {
                                          return std::tuple(clip_by_value(dy * s, -0.01f, 0.01f),
                                                            reshape<Shape<1>>(reduce_sum(dy * v)));
                                        });
    return reduce_mean(square(scaled(relu(conv(x)), scale) - 0.5f));
  }
};
std::vector<float> trained(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 3});
  std::vector<float> pixels(32 * 36);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = float(i * 37 % 101) / 50 - 1;
  Net net;
  Model model{net, NoLoss{}, nn::SGD{.learning_rate = 0.5f}};
  model.train(2, dataset::from_arrays(dataset::column<Shape<1, 6, 6>>(pixels)) | dataset::batch(16));
  std::vector<float> values(net.conv.weight.values().begin(), net.conv.weight.values().end());
  values.push_back(net.scale.values()[0]);
  return values;
}
}  // namespace

TEST_CASE("custom_gradient: in a network, with a parameter among the arguments") {
  const auto graph = trained(Mode::graph);
  CHECK(trained(Mode::pynative) == graph);
  CHECK(graph.back() != 1);
}

TEST_CASE("custom_gradient: in mixed precision a parameter has the dtype of the values") {
  const ContextScope scope({.seed = 3});
  Net net;
  Model model{pinned<Mode::graph>, net, NoLoss{}, nn::SGD{.learning_rate = 0.5f}, amp<AmpLevel::O2>};
  model.train(2, dataset::from_arrays(Tensor<float, Shape<32, 1, 6, 6>>::full(0.5f)) | dataset::batch(16));
  CHECK(std::isfinite(net.scale.values()[0]));
  CHECK(net.scale.values()[0] != 1);
}
