// The metric Loss: means of batches, in every floating-point dtype.
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

namespace {
/// One factor in float64, which no Dense has.
struct Factor : nn::Cell<Factor> {
  Parameter<double, Shape<1>, nn::One{}> factor;
  constexpr auto construct(auto x) const { return x * factor; }
};
}  // namespace

TEST_CASE("loss: the mean over samples, or over batches of their means, as in MindSpore") {
  std::vector<float> one{2}, three{1, 2, 6};
  std::vector<float16> half{4.0f};
  const std::int64_t extents[]{3};
  nn::Loss of_samples, loss{nn::MeanOver::batches};
  CHECK_THROWS_AS(loss.eval(), RuntimeError);
  of_samples.update(AnyTensor(Dtype::float32, {}, one.data()));
  of_samples.update(AnyTensor(Dtype::float32, extents, three.data()));
  CHECK(of_samples.eval() == 11.0 / 4);
  of_samples.update(AnyTensor(Dtype::float16, {}, half.data()), 4);  // a number of 4 samples
  CHECK(of_samples.eval() == 27.0 / 8);
  of_samples.clear();
  CHECK_THROWS_AS(of_samples.eval(), RuntimeError);
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
    Model model{net, nn::MSELoss{}, NoOptimizer{}, nn::Loss{}, nn::Named{"batches", nn::Loss{nn::MeanOver::batches}}};
    const auto result = model.eval(data);
    CHECK(result["loss"] == doctest::Approx(14.0 / 3));  // 1, 4, and 9
    CHECK(result["batches"] == 5.75);                    // (1 + 4) / 2 and 9
  }
}

TEST_CASE("eval_loss: a short last batch weighs less, unless batches count") {
  const auto data = dataset::from_arrays(dataset::column<Shape<1>>(std::vector<double>{1, 2, 3}),
                                         dataset::column<Shape<1>>(std::vector<double>{2, 4, 6}));
  for (const Mode mode : {Mode::graph, Mode::pynative})
    for (const nn::MeanOver over : {nn::MeanOver::samples, nn::MeanOver::batches}) {
      const ContextScope scope({.mode = mode});
      Factor net;
      Model model{net, nn::MSELoss{}, nn::SGD{.learning_rate = 1e-12f}, nn::Loss{}};
      double found = 0;
      const auto look = [&](RunInfo& run) { found = (*run.eval_results)["eval_loss"]; };
      model.fit(1, data | dataset::batch(3), data | dataset::batch(2), {.eval_loss = over},
                LambdaCallback{.on_train_epoch_end = look});
      CHECK(found == doctest::Approx(over == nn::MeanOver::samples ? 14.0 / 3 : 5.75));
      model.fit(1, data | dataset::batch(3), data | dataset::batch(1), LambdaCallback{.on_train_epoch_end = look});
      CHECK(found == doctest::Approx(14.0 / 3));
    }
}
