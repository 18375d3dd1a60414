// Schedules of the learning rate against MindSpore's numbers (golden/lr_schedules).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/nn/schedule/cosine_decay.hpp>
#include <tenon/nn/schedule/exponential_decay.hpp>
#include <tenon/nn/schedule/inverse_decay.hpp>
#include <tenon/nn/schedule/natural_exp_decay.hpp>
#include <tenon/nn/schedule/piecewise_constant.hpp>
#include <tenon/nn/schedule/polynomial_decay.hpp>
#include <tenon/nn/schedule/warm_up.hpp>

#include "../support/json.hpp"
#include "../support/shared.hpp"

using namespace tenon;
using support::Json;

namespace {
Json golden() { return support::load_json(support::shared_folder() + "/golden/lr_schedules/schedules.json"); }

/// The arguments of a call, as numbers.
class Arguments {
 public:
  explicit Arguments(const std::vector<Json>& items) : items_(items) {}
  double real(std::size_t i) const { return items_.at(i).number(); }
  long count(std::size_t i) const { return long(items_.at(i).number()); }
  bool flag(std::size_t i) const { return i < items_.size() && items_[i].boolean(); }
  std::vector<double> reals(std::size_t i) const { return items_.at(i).numbers(); }

 private:
  const std::vector<Json>& items_;
};

std::vector<double> list(const std::string& function, const Arguments& a) {
  if (function == "piecewise_constant_lr") {
    const std::vector<double> milestones = a.reals(0);
    return nn::piecewise_constant_lr(std::vector<long>(milestones.begin(), milestones.end()), a.reals(1));
  }
  if (function == "cosine_decay_lr")
    return nn::cosine_decay_lr(a.real(0), a.real(1), a.count(2), a.count(3), a.count(4));
  if (function == "polynomial_decay_lr")
    return nn::polynomial_decay_lr(a.real(0), a.real(1), a.count(2), a.count(3), a.count(4), a.real(5), a.flag(6));
  if (function == "warmup_lr") return nn::warmup_lr(a.real(0), a.count(1), a.count(2), a.count(3));
  const auto decay = function == "exponential_decay_lr"   ? nn::exponential_decay_lr
                     : function == "natural_exp_decay_lr" ? nn::natural_exp_decay_lr
                                                          : nn::inverse_decay_lr;
  REQUIRE((function == "inverse_decay_lr" || decay != nn::inverse_decay_lr));
  return decay(a.real(0), a.real(1), a.count(2), a.count(3), a.count(4), a.flag(5));
}
double value(const std::string& name, const Arguments& a, long step) {
  if (name == "ExponentialDecayLR") return nn::ExponentialDecayLR(a.real(0), a.real(1), a.count(2), a.flag(3))(step);
  if (name == "NaturalExpDecayLR") return nn::NaturalExpDecayLR(a.real(0), a.real(1), a.count(2), a.flag(3))(step);
  if (name == "InverseDecayLR") return nn::InverseDecayLR(a.real(0), a.real(1), a.count(2), a.flag(3))(step);
  if (name == "CosineDecayLR") return nn::CosineDecayLR(a.real(0), a.real(1), a.count(2))(step);
  if (name == "PolynomialDecayLR")
    return nn::PolynomialDecayLR(a.real(0), a.real(1), a.count(2), a.real(3), a.flag(4))(step);
  REQUIRE(name == "WarmUpLR");
  return nn::WarmUpLR(a.real(0), a.count(1))(step);
}
}  // namespace

TEST_CASE("lists: a value per step") {
  if (!support::have_shared("golden/lr_schedules")) return;
  const Json all = golden();
  CHECK(all["lists"].array().size() == 11);
  for (const Json& one : all["lists"].array()) {
    const std::string function = one["function"].string();
    CAPTURE(function);
    const std::vector<double> found = list(function, Arguments(one["args"].array())),
                              expected = one["values"].numbers();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) <= 1e-12 * expected[i]);
  }
}
TEST_CASE("functions of the step") {
  if (!support::have_shared("golden/lr_schedules")) return;
  const Json all = golden();
  CHECK(all["cells"].array().size() == 10);
  for (const Json& one : all["cells"].array()) {
    const std::string name = one["class"].string();
    CAPTURE(name);
    const std::vector<double> steps = one["steps"].numbers(), expected = one["values_float32"].numbers();
    REQUIRE(steps.size() == expected.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      CHECK(std::fabs(value(name, Arguments(one["args"].array()), long(steps[i])) - expected[i]) <= 1e-6 * 0.1);
  }
}
TEST_CASE("what MindSpore refuses is refused") {
  if (!support::have_shared("golden/lr_schedules")) return;
  const Json all = golden();
  for (const Json& one : all["errors"].array()) {
    CAPTURE(one["message"].string());
    CHECK_THROWS_AS(list(one["function"].string(), Arguments(one["args"].array())), ValueError);
  }
}
