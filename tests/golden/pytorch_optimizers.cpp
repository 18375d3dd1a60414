// Optimizers against PyTorch (pytorch_optimizers.txt, written by pytorch_optimizers.py): every dtype, both modes, on
// the CPU and on Reference, which share the definition of an update and so do not check it. What PyTorch does not have
// is compared with MindSpore in golden/trajectories (Adam with Nesterov, AdamWeightDecay, Lamb, FTRL, ProximalAdagrad),
// and LARS, l1, and clipping with formulas in nn/optim/.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/nn.hpp>
#include <tenon/nn/optim/adamw.hpp>
#include <tenon/train/model.hpp>

using namespace tenon;

namespace {
constexpr int rows = 3, columns = 13, steps = 5, elements = rows * columns;
std::set<std::string> compared;

std::map<std::string, std::vector<double>> read_cases() {
  const auto here = std::filesystem::path(std::source_location::current().file_name()).parent_path();
  std::ifstream file(here / "pytorch_optimizers.txt");
  REQUIRE(file);
  std::map<std::string, std::vector<double>> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double element; words >> element;) cases[name].push_back(element);
    CHECK(cases[name].size() == elements);
  }
  return cases;
}

/// Its loss is the sum of x * weight, hence the gradient of weight is x.
template <class T>
struct Net : nn::Cell<Net<T>> {
  Parameter<T, Shape<rows, columns>, nn::Zero{}> weight;
  constexpr auto construct(auto x) const { return reduce_sum(x * weight); }
};
template <class T>
auto gradients() {
  constexpr float values[]{1, -2, 0.5f, 0.25f, 1, -1, 3, 0.75f, 0.125f, -0.5f, 0.75f, 2, -0.25f};
  std::vector<T> x;
  for (int step = 0; step < steps; ++step)
    for (int i = 0; i < elements; ++i) x.push_back(T(values[(40 * step + i + i / columns) % int(std::size(values))]));
  return dataset::from_arrays(dataset::column<Shape<rows, columns>>(x)) | dataset::batch(1);
}

/// The largest distance of the weight, or of the moment `slot`, from PyTorch's.
template <class T, class Optimizer>
double distance(const Optimizer& optimizer, const std::vector<double>& expected, int slot) {
  Net<T> net;
  Model model{net, NoLoss{}, optimizer};
  for (int i = 0; i < elements; ++i) net.weight.values()[std::size_t(i)] = T(0.5f - 0.25f * float(i % 6));
  model.train(1, gradients<T>());
  double worst = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const T value =
        slot < 0 ? net.weight.values()[i] : model.optimizer_state()[std::size_t(slot)].tensor.template as<T>()[i];
    const double error = std::fabs(static_cast<double>(value) - expected[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

template <class Optimizer>
void check(const std::string& name, const Optimizer& optimizer, int slot = -1) {
  static const auto cases = read_cases();
  REQUIRE(cases.contains(name));
  compared.insert(name);
  const std::vector<double>& expected = cases.at(name);
  const auto compare = [&]<class T>(T, double tolerance) {
    for (const std::string_view target : {"CPU", "Reference"})
      for (const Mode mode : {Mode::graph, Mode::pynative}) {
        const ContextScope scope({.mode = mode, .device_target = target});
        CAPTURE(name);
        CAPTURE(target);
        CAPTURE(tenon::name(dtype_of<T>));
        CHECK(distance<T>(optimizer, expected, slot) <= tolerance);
      }
  };
  // numbers of an optimizer are float32, also for float64; 16 bits are rounded after each step
  compare(1.0f, 3e-6), compare(1.0, 5e-7), compare(float16(1.0f), 4e-3), compare(bfloat16(1.0f), 4e-2);
}
constexpr nn::AdamConfig amsgrad{.use_amsgrad = true};
}  // namespace

TEST_CASE("sgd, momentum") {
  check("sgd", nn::SGD{.learning_rate = 0.1});
  check("sgd_decay_scale", nn::SGD{.learning_rate = 0.1, .weight_decay = 0.25f, .loss_scale = 4});
  check("sgd_momentum", nn::SGD{.learning_rate = 0.1, .momentum = 0.9f, .dampening = 0.25f, .weight_decay = 0.25f});
  check("sgd_nesterov", nn::NesterovSGD{.learning_rate = 0.1, .momentum = 0.9f});
  check("momentum", nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f});
  check("momentum_decay_scale",
        nn::Momentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f, .loss_scale = 4});
  check("momentum_nesterov", nn::NesterovMomentum{.learning_rate = 0.1, .momentum = 0.9f, .weight_decay = 0.25f});
}

TEST_CASE("adam, adamax") {
  check("adam", nn::Adam{.learning_rate = 0.1});
  check("adam_decay_scale",
        nn::Adam{.learning_rate = 0.1, .beta1 = 0.75f, .beta2 = 0.5f, .weight_decay = 0.25f, .loss_scale = 4});
  check("adam_amsgrad", nn::AdamWith<amsgrad>{.learning_rate = 0.1, .beta2 = 0.5f});
  check("adam_amsgrad_decay",
        nn::AdamWith<amsgrad>{.learning_rate = 0.1, .beta1 = 0.75f, .beta2 = 0.5f, .weight_decay = 0.25f});
  check("adamw", nn::AdamW{.learning_rate = 0.1});
  check("adamw_decay_scale",
        nn::AdamW{.learning_rate = 0.1, .beta1 = 0.75f, .beta2 = 0.5f, .weight_decay = 0.25f, .loss_scale = 4});
  check("adamax", nn::AdaMax{.learning_rate = 0.1});
  check("adamax_decay_scale",
        nn::AdaMax{.learning_rate = 0.1, .beta1 = 0.75f, .beta2 = 0.5f, .weight_decay = 0.25f, .loss_scale = 4});
}

TEST_CASE("rmsprop, adagrad, adadelta") {
  check("rmsprop", nn::RMSProp{.learning_rate = 0.1});
  check("rmsprop_momentum",
        nn::RMSProp{.learning_rate = 0.1, .decay = 0.75f, .momentum = 0.5f, .weight_decay = 0.25f, .loss_scale = 4});
  check("rmsprop_centered", nn::CenteredRMSProp{.learning_rate = 0.1, .decay = 0.75f, .momentum = 0.5f});
  check("adagrad", nn::Adagrad{.learning_rate = 0.1});
  check("adagrad_decay_scale",
        nn::Adagrad{.accum = 0.5f, .learning_rate = 0.1, .weight_decay = 0.25f, .loss_scale = 4});
  check("adadelta", nn::Adadelta{});
  check("adadelta_decay_scale",
        nn::Adadelta{.learning_rate = 0.5, .rho = 0.5f, .epsilon = 0.125f, .weight_decay = 0.25f, .loss_scale = 4});
}

TEST_CASE("asgd, rprop, adafactor") {
  check("asgd", nn::ASGD{.learning_rate = 0.1});
  check("asgd_decay_scale",
        nn::ASGD{.learning_rate = 0.1, .lambd = 0.5f, .alpha = 2, .weight_decay = 0.25f, .loss_scale = 4});
  check("asgd_average", nn::ASGD{.learning_rate = 0.1, .lambd = 0.5f, .t0 = 1}, 0);
  check("rprop", nn::Rprop{});
  check("rprop_limits", nn::Rprop{.learning_rate = 0.5, .etas = {0.25f, 2}, .step_sizes = {0.25f, 0.75f}});
  check("adafactor", nn::AdaFactorWith<false>{.learning_rate = 0.125});
  check("adafactor_scale",
        nn::AdaFactorWith<false>{.learning_rate = 0.125, .clip_threshold = 1.5f, .decay_rate = 0.5f, .loss_scale = 4});
}

TEST_CASE("all cases of the file were compared") { CHECK(compared.size() == read_cases().size()); }
