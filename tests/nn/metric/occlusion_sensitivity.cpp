// What a prediction rests on: MindSpore's sample, images, boxes, what is refused.
#include <algorithm>

#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/metric/occlusion_sensitivity.hpp>

#include "../../support/tensors.hpp"
#include "support.hpp"

using namespace tenon;
using namespace batches;

TEST_CASE("occlusion sensitivity: the document's sample, in one batch and in several") {
  nn::Dense<4, 2> model;
  model.init_parameters();
  const std::vector<float> weight{0.1f, 0.8f, 0.1f, 0.1f, 1, 1, 1, 1}, bias{0.3f, 0.6f};
  std::copy(weight.begin(), weight.end(), model.weight.values().begin());
  std::copy(bias.begin(), bias.end(), model.bias.values().begin());
  const auto x = support::tensor_of<float, Shape<dyn, 4>>({0.1f, 0.2f, 0.3f, 0.4f});
  for (const long n_batch : {128L, 3L, 1L}) {
    nn::OcclusionSensitivity metric{{.n_batch = n_batch}};
    metric.update(model, x, 1);
    check_near(metric.eval(), {0.29999995, 0.6, 1.0, 0.9}, 1e-6);
  }
}
TEST_CASE("occlusion sensitivity: an image, a box of it, another padding") {
  // the score is the sum of the image
  const auto model = [](const auto& x) {
    auto sums = Tensor<float, Shape<dyn, 1>>::empty(x.n());
    for (long i = 0; i < x.n(); ++i) {
      sums.data()[i] = 0;
      for (long k = 0; k < 6; ++k) sums.data()[i] += x.data()[6 * i + k];
    }
    return sums;
  };
  const auto x = support::tensor_of<float, Shape<dyn, 2, 3>>({1, 2, 3, 4, 5, 6});
  nn::OcclusionSensitivity metric{{.margin = 1}};
  metric.update(model, x, 0);
  check_near(metric.eval(), {1, 3, 5, 5, 12, 16});
  nn::OcclusionSensitivity part{{.pad_value = 1, .margin = 1, .box = {{1, 1}, {0, 1}}}};
  part.update(model, x, 0);
  check_near(part.eval(), {5 - 2, 12 - 4});
  metric.clear();
  CHECK_THROWS_AS(metric.eval(), RuntimeError);
}
TEST_CASE("occlusion sensitivity: what is refused") {
  const nn::Dense<4, 2> model;
  nn::OcclusionSensitivity metric;
  CHECK_THROWS_AS(metric.update(model, Tensor<float, Shape<dyn, 4>>::ones(2), 0), ValueError);
  CHECK_THROWS_AS(metric.update(model, Tensor<float, Shape<dyn, 4>>::ones(1), 2), ValueError);
  CHECK_THROWS_AS(nn::OcclusionSensitivity({.margin = 0}), ValueError);
  nn::OcclusionSensitivity box{{.box = {{0, 4}}}}, axes{{.box = {{0, 1}, {0, 1}}}};
  CHECK_THROWS_AS(box.update(model, Tensor<float, Shape<dyn, 4>>::ones(1), 0), ValueError);
  CHECK_THROWS_AS(axes.update(model, Tensor<float, Shape<dyn, 4>>::ones(1), 0), ValueError);
}
