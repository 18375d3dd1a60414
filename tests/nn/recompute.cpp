// Recomputation of cells: the same bits with less memory.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor;

namespace {
struct Block : nn::Cell<Block> {
  nn::Dense<16, 64> up;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> dropout;
  nn::LayerNorm<Shape<64>> norm;
  nn::Dense<64, 16> down;
  constexpr auto construct(auto x) const {
    const auto h = dropout(gelu(up(x)));
    return x + down(norm(h) * sigmoid(h) + dropout(h));
  }
};
template <bool again>
struct Net : nn::Cell<Net<again>> {
  nn::Dense<8, 16> first;
  Block blocks[4];
  nn::BatchNorm1d<16> norm;
  nn::Dense<16, 3> last;
  constexpr auto construct(auto x) const {
    auto h = first(x);
    for (const Block& block : blocks)
      if constexpr (again) h = recompute(block)(h);
      else h = block(h);
    if constexpr (again) h = recompute(norm)(h) + recompute(blocks[0])(h);
    else h = norm(h) + blocks[0](h);
    return last(h);
  }
};

auto rows(long n) {
  std::vector<float> x(48 * 8);
  std::vector<std::int32_t> y(48);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 37 % 101) / 50 - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[8 * i] > 0 ? 1 : x[8 * i + 1] > 0 ? 2 : 0;
  return dataset::from_arrays(dataset::column<Shape<8>>(x), dataset::column<Shape<>>(y)) | dataset::batch(n);
}
template <bool again>
auto trained(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 5});
  Net<again> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}, nn::Loss{}};
  const float before = float(model.eval(rows(16))["loss"]);
  model.train(3, rows(16));
  CHECK(float(model.eval(rows(16))["loss"]) < before);
  std::vector<float> values;
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const auto all = parameter.view().template as<float>();
    values.insert(values.end(), all.begin(), all.end());
  }
  return values;
}
template <bool again>
long bytes_of_step() {
  const Net<again> net;
  const Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 0.01f}};
  return plan_of(model, rows(16)).bytes(256, 1);
}
}  // namespace

TEST_CASE("recompute: a training with dropout and batch statistics has the same bits, in both modes") {
  const auto plain = trained<false>(Mode::graph);
  CHECK(trained<true>(Mode::graph) == plain);
  CHECK(trained<true>(Mode::pynative) == plain);
  CHECK(trained<false>(Mode::pynative) == plain);
}

namespace {
struct Stage : nn::Cell<Stage> {
  nn::Conv2d<8, 8, 3> conv;
  nn::BatchNorm2d<8> norm;
  constexpr auto construct(auto x) const { return ops::max_pool2d<3, 1>(relu(norm(conv(x)))); }
};
template <bool again>
struct Images : nn::Cell<Images<again>> {
  nn::Conv2d<1, 8, 3> first;
  Stage one, two;
  nn::Dense<8 * 4 * 4, 3> last;
  constexpr auto construct(auto x) const {
    const auto h = first(x);
    if constexpr (again) return last(flatten(recompute(two)(recompute(one)(h))));
    else return last(flatten(two(one(h))));
  }
};
template <bool again>
auto gradients_of_images(Mode mode) {
  const ContextScope scope({.mode = mode, .seed = 5});
  const auto x = random_tensor<float, Shape<dyn, 1, 8, 8>>(3, -1, 1, 32);
  auto y = Tensor<std::int32_t, Shape<dyn>>::empty(32);
  for (int i = 0; i < 32; ++i) y.data()[i] = i % 3;
  Images<again> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::SGD{.learning_rate = 0.1f}};
  const std::vector<float> pixels(x.data(), x.data() + x.count());
  const std::vector<std::int32_t> labels(y.data(), y.data() + 32);
  model.train(1, dataset::from_arrays(dataset::column<Shape<1, 8, 8>>(pixels), dataset::column<Shape<>>(labels)) |
                     dataset::batch(16));
  std::vector<float> values;
  for (const auto& [name, parameter] : net.parameters_and_names()) {
    const auto all = parameter.view().template as<float>();
    values.insert(values.end(), all.begin(), all.end());
  }
  return values;
}
}  // namespace

TEST_CASE("recompute: images in blocks of samples, effects happen once") {
  const auto plain = gradients_of_images<false>(Mode::graph);
  CHECK(gradients_of_images<true>(Mode::graph) == plain);
  CHECK(gradients_of_images<true>(Mode::pynative) == plain);
}

namespace {
struct Fickle : nn::Cell<Fickle> {
  nn::Dense<4, 4> fc;
  constexpr auto construct(auto x) const {
    if (!std::is_constant_evaluated() && calls++ % 2) return fc(x);
    return tanh(fc(x));
  }
  static inline int calls = 0;
};
struct Around : nn::Cell<Around> {
  Fickle inner;
  constexpr auto construct(auto x) const { return recompute(inner)(x); }
};
}  // namespace

TEST_CASE("recompute: a cell that does something else when it runs again is an error") {
  const ContextScope scope({.mode = Mode::pynative});
  Around net;
  const auto x = Tensor<float, Shape<dyn, 4>>::ones(2);
  CHECK_THROWS_WITH_AS(value_and_grad([&](auto v) { return reduce_sum(net(v)); }, net)(x),
                       doctest::Contains("called other operators when it ran again"), RuntimeError);
}

TEST_CASE("recompute: the plan of a step needs less memory") {
  const long with = bytes_of_step<true>(), without = bytes_of_step<false>();
  CAPTURE(with);
  CAPTURE(without);
  CHECK(2 * with < without);
}
