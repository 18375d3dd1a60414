// Accuracy: what it counts, and what it refuses to judge.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/nn/metric/metric.hpp>
#include <tenon/nn/metric/recall.hpp>
#include <tenon/ops/argmax.hpp>

using namespace tenon;

namespace {
template <class T>
AnyTensor view(std::vector<T>& values, std::vector<std::int64_t> extents) {
  return AnyTensor(dtype_of<T>, extents, values.data());
}
constexpr TensorType batch_of(Dtype dtype) { return {{dyn}, 1, dtype}; }
constexpr TensorType batch_of(Dtype dtype, int classes) { return {{dyn, classes}, 2, dtype}; }
constexpr bool judged(const TensorType& prediction, const TensorType& label) {
  return nn::Accuracy::check(prediction, label).empty();
}
}  // namespace

TEST_CASE("accuracy: class numbers and one-hot labels give the same share") {
  std::vector<float> prediction{0.1f, 0.9f, 0.8f, 0.2f, 0.5f, 0.5f}, one_hot{0, 1, 0, 1, 1, 0};
  std::vector<std::int64_t> label{1, 1, 0};
  nn::Accuracy accuracy;
  CHECK_THROWS_AS(accuracy.eval(), RuntimeError);
  accuracy.update(view(prediction, {3, 2}), view(label, {3}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  accuracy.clear();
  accuracy.update(view(prediction, {3, 2}), view(one_hot, {3, 2}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
}

TEST_CASE("accuracy: places behind the axis of the classes are samples") {
  std::vector<float> prediction{0.2f, 0.3f, 0.9f, 0.5f, 0.1f, 0.6f};
  std::vector<std::int32_t> label{1, 0, 1}, one_hot{0, 1, 0, 1, 0, 1};
  nn::Accuracy accuracy;
  accuracy.update(view(prediction, {1, 2, 3}), view(label, {1, 3}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  accuracy.update(view(prediction, {1, 2, 1, 3}), view(one_hot, {1, 2, 1, 3}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  static_assert(judged({{dyn, 5, 2, 3}, 4, Dtype::float32}, {{dyn, 2, 3}, 3, Dtype::int32}));
  std::vector<double> largest(12);  // [2, 3, 2] with classes 2, 0 and 1, 2
  for (const std::size_t at : {4, 1, 8, 11}) largest[at] = 1;
  std::vector<std::int64_t> right{2, 0, 1, 2}, one_wrong{2, 0, 1, 1};
  accuracy.clear();
  accuracy.update(view(largest, {2, 3, 2}), view(right, {2, 2}));
  CHECK(accuracy.eval() == 1);
  accuracy.update(view(largest, {2, 3, 2}), view(one_wrong, {2, 2}));
  CHECK(accuracy.eval() == 7.0 / 8);
  CHECK_THROWS_WITH_AS(accuracy.update(view(prediction, {1, 2, 3}), view(label, {3, 1})),
                       "Accuracy got predictions [1,2,3] and labels int32 [3,1], which must be int32 or int64 without "
                       "the axis of the classes, the last or axis 1, or one-hot like the predictions.",
                       ValueError);
}

TEST_CASE("accuracy: the classes are last, as in the losses, where the labels lack that axis") {
  static_assert(judged({{dyn, 5, 2}, 3, Dtype::float32}, {{dyn, 5}, 2, Dtype::int32}));
  static_assert(judged({{dyn, 2, 3, 4}, 4, Dtype::float32}, {{dyn, 2, 3}, 3, Dtype::int64}));
  static_assert(!judged({{dyn, 5, 1}, 3, Dtype::float32}, {{dyn, 5}, 2, Dtype::int32}));
  static_assert(!judged({{dyn, 5, 2, 4}, 4, Dtype::float32}, {{dyn, 5, 4}, 3, Dtype::int32}));  // axis 2 of 4
  std::vector<float> tokens{0, 1, 2, 5, 3, 4, 1, 0, 0};                                         // classes 2, 0, 0
  std::vector<std::int32_t> label{2, 0, 0}, other{2, 0, 1};
  nn::Accuracy accuracy;
  accuracy.update(view(tokens, {1, 3, 3}), view(label, {1, 3}));  // both axes fit: the last
  CHECK(accuracy.eval() == 1);
  accuracy.clear();
  accuracy.update(view(tokens, {3, 1, 1, 3}), view(other, {3, 1, 1}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  nn::Recall recall;
  recall.update(view(tokens, {3, 1, 3}), view(label, {3, 1}));
  CHECK(recall.per_class() == std::vector<double>{1, 0, 1});
}

TEST_CASE("accuracy: a set of labels is right as a whole") {
  std::vector<std::int32_t> prediction{0, 1, 1, 1, 1, 1}, label{0, 1, 1, 0, 1, 1};
  nn::MultilabelAccuracy accuracy;
  CHECK_THROWS_AS(accuracy.eval(), RuntimeError);
  accuracy.update(view(prediction, {3, 2}), view(label, {3, 2}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  std::vector<float> places{0, 1, 1, 1, 1, 1}, other{0, 1, 1, 0, 1, 1};  // the classes are the rows
  accuracy.clear();
  accuracy.update(view(places, {1, 2, 3}), view(other, {1, 2, 3}));
  CHECK(accuracy.eval() == doctest::Approx(2.0 / 3));
  CHECK_THROWS_AS(accuracy.update(view(places, {2, 3}), view(other, {2, 3})), ValueError);
  std::vector<float> half{0.5f, 1};
  CHECK_THROWS_WITH_AS(
      accuracy.update(view(half, {1, 2}), view(half, {1, 2})),
      "MultilabelAccuracy needs elements 0 or 1, got 0.5 in the prediction at place 0: compare numbers "
      "with a threshold first.",
      ValueError);
  static_assert(nn::PredictionMetric<nn::MultilabelAccuracy>);
  static_assert(nn::MultilabelAccuracy::check(batch_of(Dtype::bool_, 3), batch_of(Dtype::uint8, 3)).empty());
  static_assert(!nn::MultilabelAccuracy::check(batch_of(Dtype::int32, 3), batch_of(Dtype::int32)).empty());
}

TEST_CASE("accuracy: types that it judges are known to the compiler") {
  static_assert(nn::PredictionMetric<nn::Accuracy>);
  static_assert(judged(batch_of(Dtype::float32, 10), batch_of(Dtype::int32)));
  static_assert(judged(batch_of(Dtype::float64, 2), batch_of(Dtype::int64)));
  static_assert(judged(batch_of(Dtype::float32, 2), batch_of(Dtype::int32, 2)));
  static_assert(!judged(batch_of(Dtype::float32, 1), batch_of(Dtype::float32, 1)));
  static_assert(!judged(batch_of(Dtype::float32), batch_of(Dtype::int32)));
  static_assert(!judged(batch_of(Dtype::float16, 2), batch_of(Dtype::int32)));
  static_assert(!judged(batch_of(Dtype::float32, 2), batch_of(Dtype::uint8)));
  static_assert(!judged(batch_of(Dtype::float32, 2), batch_of(Dtype::float32)));
  static_assert(!judged(batch_of(Dtype::float32, 2), batch_of(Dtype::float32, 3)));
  static_assert(!judged({{dyn, 5, 2}, 3, Dtype::float32}, {{dyn, 4}, 2, Dtype::int32}));
}

TEST_CASE("accuracy: another number of classes needs a clear() before") {
  std::vector<float> prediction(12, 0.5f);
  std::vector<std::int32_t> label(6, 0);
  nn::Accuracy accuracy;
  accuracy.update(view(prediction, {6, 2}), view(label, {6}));
  CHECK_THROWS_WITH_AS(accuracy.update(view(prediction, {4, 3}), view(label, {4})),
                       "Accuracy got predictions of 3 classes after some of 2: call clear() before it judges another "
                       "network.",
                       ValueError);
  CHECK(accuracy.eval() == 1);
  accuracy.clear();
  accuracy.update(view(prediction, {4, 3}), view(label, {4}));
  CHECK(accuracy.eval() == 1);
}

TEST_CASE("accuracy: by hand it throws what a Model says at compile time") {
  std::vector<float> prediction(10, 0.5f), target(10, 0.5f);
  std::vector<std::int32_t> label(10, 0);
  nn::Accuracy accuracy;
  CHECK_THROWS_WITH_AS(accuracy.update(view(prediction, {10, 1}), view(target, {10, 1})),
                       "Accuracy compares classes, and got one number per sample, float32 [10,1]: give two classes two "
                       "outputs and nn::SoftmaxCrossEntropyWithLogits; nn::MAE{} and nn::Loss{} judge a regression.",
                       ValueError);
  CHECK_THROWS_AS(accuracy.update(view(prediction, {1, 5, 2}), view(label, {1, 4})), ValueError);
  CHECK_THROWS_AS(accuracy.update(view(prediction, {1, 1, 1, 1, 1, 1, 5, 2}), view(label, {5})), ValueError);
  CHECK_THROWS_WITH_AS(accuracy.update(view(prediction, {5, 2}), view(label, {4})),
                       "Accuracy got predictions [5,2] and labels int32 [4], which must be int32 or int64 [n], or "
                       "one-hot like the predictions.",
                       ValueError);
  CHECK_THROWS_AS(accuracy.eval(), RuntimeError);  // nothing was counted
}

TEST_CASE("accuracy: a NaN is the largest prediction, as in argmax, so that the number behind it is not right") {
  const float nan = NAN;
  std::vector<float> prediction{0.1f, nan, 0.9f, 0.1f, 0.9f, nan, nan, nan, 2};
  std::vector<std::int32_t> label{2, 1, 0};
  nn::Accuracy accuracy;
  accuracy.update(view(prediction, {3, 3}), view(label, {3}));
  CHECK(accuracy.eval() == doctest::Approx(1.0 / 3));  // classes 1, 2, 0
  const auto x = Tensor<float, Shape<dyn, 3>>::from({0.1f, nan, 0.9f, 0.1f, 0.9f, nan, nan, nan, 2});
  CHECK(bit_equal(ops::argmax<1>(x), Tensor<std::int32_t, Shape<dyn>>::from({1, 2, 0})));
}
