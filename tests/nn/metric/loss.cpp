// The metric Loss: means of batches, in every floating-point dtype.
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
/// One factor in float64, which no Dense has.
struct Factor : nn::Cell<Factor> {
  Parameter<double, Shape<1>, nn::One{}> factor;
  constexpr auto construct(auto x) const { return x * factor; }
};
}  // namespace

TEST_CASE("loss: the mean over batches of their means") {
  std::vector<float> one{2}, three{1, 2, 6};
  std::vector<float16> half{4.0f};
  const std::int64_t extents[]{3};
  nn::Loss loss;
  CHECK_THROWS_AS(loss.eval(), RuntimeError);
  loss.update(AnyTensor(Dtype::float32, {}, one.data()));
  loss.update(AnyTensor(Dtype::float32, extents, three.data()));
  CHECK(loss.eval() == 2.5);
  loss.update(AnyTensor(Dtype::float16, {}, half.data()));
  CHECK(loss.eval() == 3);
  const std::int64_t matrix[]{3, 1};
  CHECK_THROWS_WITH_AS(loss.update(AnyTensor(Dtype::float32, matrix, three.data())),
                       "Loss needs a number per batch or per sample, got [3, 1]: take the mean over the other axes.",
                       ValueError);
  CHECK(loss.eval() == 3);
}

TEST_CASE("loss: a float64 model evaluates in both modes") {
  const auto data = dataset::from_arrays(dataset::column<Shape<1>>(std::vector<double>{1, 2, 3}),
                                         dataset::column<Shape<1>>(std::vector<double>{2, 4, 6})) |
                    dataset::batch(2);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    Factor net;
    Model model{net, nn::MSELoss{}, NoOptimizer{}, nn::Loss{}};
    CHECK(model.eval(data)["loss"] == 5.75);  // (1 + 4) / 2 and 9
  }
}
