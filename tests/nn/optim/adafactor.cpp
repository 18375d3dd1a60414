// AdaFactor: its rule for matrices and rows, shapes of its state, saving and loading, refused numbers.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <tenon/nn/optim/adafactor.hpp>
#include <tenon/train/training_file.hpp>

#include "rule.hpp"

using namespace rules;

namespace {
double rms(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum / double(x.size()));
}
/// Of `matrices` of rows x columns; one row is not factored. a of element 0 in each row, b in each column: the means.
WholeRule adafactor_rule(long rows, long columns, double decay, bool moment, bool scaled, double scale = 1) {
  return [=](States& s, const std::vector<double>& gradient, double rate, int t) {
    const double share = std::pow(t, -double(0.8f));
    const auto at = [&](long matrix, long r, long c) { return std::size_t((matrix * rows + r) * columns + c); };
    const long matrices = long(s.size()) / rows / columns;
    const auto square = [&](std::size_t i) { return gradient[i] * gradient[i] / scale / scale + 1e-30; };
    std::vector<double> u(s.size()), p;
    for (const State& state : s) p.push_back(state.p);
    for (long m = 0; m < matrices; ++m) {
      std::vector<double> row_mean, column_mean;
      for (long r = 0; r < rows; ++r) {
        double sum = 0;
        for (long c = 0; c < columns; ++c) sum += square(at(m, r, c));
        double& mean = s[at(m, r, 0)].a;
        row_mean.push_back(mean = (1 - share) * mean + share * sum / double(columns));
      }
      for (long c = 0; c < columns; ++c) {
        double sum = 0;
        for (long r = 0; r < rows; ++r) sum += square(at(m, r, c));
        double& mean = s[at(m, 0, c)].b;
        column_mean.push_back(mean = (1 - share) * mean + share * sum / double(rows));
      }
      double mean = 0;
      for (const double v : row_mean) mean += v / double(rows);
      for (long r = 0; r < rows; ++r)
        for (long c = 0; c < columns; ++c) {
          const double v =
              rows == 1 ? column_mean[std::size_t(c)] : row_mean[std::size_t(r)] * column_mean[std::size_t(c)] / mean;
          u[at(m, r, c)] = gradient[at(m, r, c)] / scale / std::sqrt(v);
        }
    }
    const double now = rate * (scaled ? std::max(double(1e-3f), rms(p)) : 1), clip = std::max(1.0, rms(u));
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double step = now * u[i] / clip;
      s[i].c = moment ? 0.9f * s[i].c + (1 - 0.9f) * step : step;
      s[i].p -= decay * now * s[i].p + s[i].c;
    }
  };
}
}  // namespace

TEST_CASE("adafactor: its rule for matrices, stacks of them, and rows") {
  const nn::AdaFactor plain{.learning_rate = 0.125};
  check_whole_rule<float, Shape<7, 300>>(plain, adafactor_rule(7, 300, 0, true, true), 1e-6);
  check_whole_rule<float, Shape<300, 7>>(plain, adafactor_rule(300, 7, 0, true, true), 1e-6);
  check_whole_rule<float, Shape<3, 2, 5, 70>>(plain, adafactor_rule(5, 70, 0, true, true), 1e-6);
  check_whole_rule<float, Shape<2000>>(plain, adafactor_rule(1, 2000, 0, true, true), 1e-6);
  check_whole_rule<double, Shape<7, 300>>(plain, adafactor_rule(7, 300, 0, true, true), 1e-6);
  check_whole_rule<float16, Shape<7, 30>>(plain, adafactor_rule(7, 30, 0, true, true), 2e-3);
}

TEST_CASE("adafactor: decay, loss scale, without a first moment, without the parameter's scale, its own rate") {
  using Bare = nn::AdaFactorWith<false>;
  check_whole_rule<float, Shape<7, 300>>(Bare{.learning_rate = 0.125, .weight_decay = 0.25f},
                                         adafactor_rule(7, 300, 0.25, false, true), 1e-6);
  check_whole_rule<float, Shape<40>>(Bare{.learning_rate = 0.125, .weight_decay = 0.25f, .scale_parameter = false},
                                     adafactor_rule(1, 40, 0.25, false, false), 1e-6);
  check_whole_rule<float, Shape<7, 30>>(nn::AdaFactor{.loss_scale = 4}, adafactor_rule(7, 30, 0, true, true, 4), 1e-6);
  CHECK(nn::AdaFactor{}.learning_rate.at(0) == 0.01f);
  CHECK(nn::AdaFactor{}.learning_rate.at(39999) == 0.005f);
}

TEST_CASE("adafactor: what its state is") {
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AdaFactorWith<false>{}};
  std::string state;
  for (const auto& [name, tensor] : model.optimizer_state()) state += name + shape_text(tensor.shape()) + " ";
  CHECK(state == "exp_avg_sq_row.fc1.weight[8] exp_avg_sq_row.fc2.weight[2] exp_avg_sq_col.fc1.weight[3] "
                 "exp_avg_sq_col.fc2.weight[8] exp_avg_sq.fc1.bias[8] exp_avg_sq.fc2.bias[2] ");
  Wide<bfloat16, Shape<2, 3>> half;
  CHECK(Model(half, NoLoss{}, nn::AdaFactor{}).optimizer_state()[0].tensor.dtype == Dtype::float32);
}

TEST_CASE("adafactor: a training that was saved goes on with the same bits") {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("adafactor" + std::to_string(getpid()) + ".safetensors")).string();
  const auto trained = [&](bool interrupted) {
    set_context({.seed = 5});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::AdaFactor{}};
    model.train(1, ten());
    if (!interrupted) {
      model.train(1, ten());
      return all_bits(net, model);
    }
    save_training(model, file);
    Net other;
    Model again{other, nn::SoftmaxCrossEntropyWithLogits{}, nn::AdaFactor{}};
    load_training(file, again);
    again.train(1, ten());
    return all_bits(other, again);
  };
  CHECK(trained(true) == trained(false));
  std::filesystem::remove(file);
}

TEST_CASE("adafactor: a step that overflows is left out") { check_overflow_skips(nn::AdaFactor{}); }

TEST_CASE("adafactor: illegal numbers are refused when the Model is made") {
  Net net;
  const auto make = [&](nn::AdaFactor factor) { Model(net, nn::SoftmaxCrossEntropyWithLogits{}, factor); };
  CHECK_THROWS_WITH_AS(make({.eps = {0, 1e-3f}}), "AdaFactor: eps[0] must be a finite number above 0, got 0.",
                       ValueError);
  CHECK_THROWS_AS(make({.eps = {1e-30f, -1}}), ValueError);
  CHECK_THROWS_AS(make({.clip_threshold = 0}), ValueError);
  CHECK_THROWS_AS(make({.decay_rate = 1}), ValueError);
  CHECK_THROWS_AS(make({.beta1 = 1}), ValueError);
}

TEST_CASE("adafactor: a norm that is NaN makes all of the parameter NaN, in both modes") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Wide<float, Shape<4>> net;
    net.init_parameters();
    for (float& w : net.weight.values()) w = 1;
    Model model{net, NoLoss{}, nn::AdaFactor{}};
    const auto data = dataset::from_arrays(dataset::column<Shape<4>>(std::vector<float>{1, NAN, 0, 4}));
    CHECK_THROWS_AS(model.train(1, data | dataset::batch(1)), Error);
    for (const float w : net.weight.values()) CHECK(std::isnan(w));
  }
}
