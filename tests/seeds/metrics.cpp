// The founding documents' metrics in C++: by hand, five of them in a Model, one of the user's own, and callbacks in an
// evaluation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>

#include <tenon/core/tensor/print.hpp>
#include <tenon/nn/metric/metric_set.hpp>
#include <tenon/train/callback/time_monitor.hpp>

#include "../support/console.hpp"
#include "../train/callback/output.hpp"
#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;

namespace {
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }

/// Document 002: a metric has clear, update, and eval. Written as that describes Accuracy.
struct OwnAccuracy {
  static constexpr std::string_view name = "own";
  long correct = 0, total = 0;

  void clear() { correct = total = 0; }
  void update(const AnyTensor& y_pred, const AnyTensor& y) {
    const auto scores = y_pred.as<float>();
    const auto labels = y.as<std::int32_t>();
    const std::size_t classes = scores.size() / labels.size();
    for (std::size_t i = 0; i < labels.size(); ++i, ++total) {
      const auto row = scores.begin() + long(i * classes);
      correct += std::max_element(row, row + long(classes)) - row == labels[i];
    }
  }
  double eval() const { return double(correct) / double(total); }
};

/// Four numbers in, three classes out, as the network of golden/console.
struct Classes : nn::Cell<Classes> {
  nn::Dense<4, 3> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
}  // namespace

TEST_CASE("accuracy of three predictions by hand is 0.6667") {
  const Tensor x{{0.2, 0.5}, {0.3, 0.1}, {0.9, 0.6}};
  const Tensor y{1, 0, 1};
  CHECK(printed([&] {
          nn::Accuracy metric;
          metric.clear();
          metric.update(x.view(), y.view());
          const double accuracy = metric.eval();
          std::printf("Accuracy is %.4f\n", accuracy);
        }) == "Accuracy is 0.6667\n");
}

TEST_CASE("a metric that document 002 names and MindSpore does not have is unknown here, too") {
  CHECK_THROWS_AS(nn::metric_by_name("tolerance"), KeyError);
  for (const char* known : {"accuracy", "loss", "recall", "F1"}) CHECK_NOTHROW(nn::metric_by_name(known));
  if (!support::have_shared("golden/console")) return;
  const std::string there = support::console("bad_metric.pynative", "stderr");
  CHECK(there.find("KeyError: \"For 'get_metric_fn', unsupported metric tolerance") != std::string::npos);
}

TEST_CASE("five metrics under names of the user's, in a Model's evaluation") {
  const auto ds_eval = samples(90) | dataset::batch(32);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    const nn::MetricSet metrics{{"accuracy", nn::Accuracy{}},
                                {"loss", nn::Loss{}},
                                {"precision", nn::Precision{}},
                                {"recall", nn::Recall{}},
                                {"f1_score", nn::F1{}}};
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), metrics, OwnAccuracy{}};
    model.train(3, ds_eval);
    const EvalResult output = model.eval(ds_eval, TimeMonitor{});

    std::vector<std::string> names;
    for (const auto& [name, value] : output) names.push_back(name);
    CHECK(names == std::vector<std::string>{"accuracy", "loss", "precision", "recall", "f1_score", "own"});
    double right = 0, predicted[2]{}, wanted[2]{}, hits[2]{};
    for (const auto& row : samples(90) | dataset::batch(90)) {
      const auto x =
          Tensor<float, Shape<dyn, 3>>::from(std::vector<float>(row.values<0>().begin(), row.values<0>().end()));
      const auto scores = model.predict(x);
      for (long i = 0; i < 90; ++i) {
        const int guess = scores.data()[2 * i + 1] > scores.data()[2 * i], label = row.values<1>()[std::size_t(i)];
        ++predicted[guess], ++wanted[label];
        if (guess == label) ++right, ++hits[guess];
      }
    }
    CHECK(output["accuracy"] == doctest::Approx(right / 90));
    CHECK(output["own"] == output["accuracy"]);
    double precision[2], recall[2], f1 = 0;
    for (int c = 0; c < 2; ++c) {
      precision[c] = hits[c] / predicted[c], recall[c] = hits[c] / wanted[c];
      f1 += 2 * precision[c] * recall[c] / (precision[c] + recall[c]) / 2;
    }
    CHECK(output["precision"] == doctest::Approx((precision[0] + precision[1]) / 2));
    CHECK(output["recall"] == doctest::Approx((recall[0] + recall[1]) / 2));
    CHECK(output["f1_score"] == doctest::Approx(f1));
    CHECK(output["loss"] > 0);
    CHECK(output["loss"] < 1);
    CHECK(model.metric<nn::MetricSet>()["recall"].as<nn::Recall>()->per_class()[1] == doctest::Approx(recall[1]));
  }
}

TEST_CASE("callbacks in an evaluation: its steps, and the metrics at its end") {
  struct Heard {
    long steps = 0;
    double accuracy = -1;
    void step_end(RunInfo& run) { steps += !run.training; }
    void end(RunInfo& run) { accuracy = (*run.metrics)["accuracy"]; }
  };
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::Accuracy{}};
  Heard heard;
  const double accuracy = model.eval(samples(90) | dataset::batch(32), heard)["accuracy"];
  CHECK(heard.steps == 3);
  CHECK(heard.accuracy == accuracy);
}

TEST_CASE("the results of an evaluation have MindSpore's names, a prediction prints in its form") {
  if (!support::have_shared("golden/console")) return;
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    std::vector<float> x;
    std::vector<std::int32_t> y;
    for (int i = 0; i < 12; ++i) {
      for (int k = 0; k < 4; ++k) x.push_back(float(i * k % 5) - 2);
      y.push_back(i % 3);
    }
    const auto data = dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<>>(y));
    Classes net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum(), nn::MetricSet{"acc", "loss", "top_1_accuracy"}};
    std::string line = "<class 'dict'> {";
    for (const auto& [name, value] : model.eval(data | dataset::batch(3)))
      line += (line.ends_with('{') ? "'" : ", '") + name + "': ('float64', #)";
    line += "}\n";
    const std::string there = support::console("eval_return." + get_context("mode"), "stdout");
    const std::size_t first = there.find('\n') + 1;
    CHECK(line == support::without_reals(there.substr(0, first)));

    // Its weights were ones; what its random biases were can be seen in what it printed.
    float printed_row[3]{};
    REQUIRE(std::sscanf(there.c_str() + first, "[[%f %f %f]", printed_row, printed_row + 1, printed_row + 2) == 3);
    const Tensor bias{printed_row[0] - 4, printed_row[1] - 4, printed_row[2] - 4};
    net.parameters_dict()["fc.weight"].set_data(Tensor<float, Shape<3, 4>>::full(1).view());
    net.parameters_dict()["fc.bias"].set_data(bias.view());
    const auto prediction = model.predict(Tensor<float, Shape<dyn, 4>>::full(1, 2));
    CHECK(to_string(prediction, TensorForm::str) + "\n" == there.substr(first));
  }
}
