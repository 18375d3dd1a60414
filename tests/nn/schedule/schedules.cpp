// Schedules of the learning rate that MindSpore does not have, and how an optimizer takes any of them. They are
// compared with PyTorch's numbers in tests/train/steering_numbers.cpp, the others with MindSpore's in
// tests/golden/lr_schedules.cpp.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/nn/optim/learning_rate.hpp>
#include <tenon/nn/schedule/cosine_decay.hpp>
#include <tenon/nn/schedule/one_cycle.hpp>
#include <tenon/nn/schedule/piecewise_constant.hpp>
#include <tenon/nn/schedule/step_decay.hpp>
#include <tenon/nn/schedule/warm_up.hpp>

using namespace tenon;

TEST_CASE("one cycle: where it begins, its top, where it ends") {
  const nn::OneCycleLR cycle(1.0, 10);
  CHECK(cycle(0) == doctest::Approx(0.04).epsilon(1e-12));
  CHECK(cycle(1) == doctest::Approx(0.52).epsilon(1e-12));  // half way up
  CHECK(cycle(2) == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(cycle(9) == doctest::Approx(4e-6).epsilon(1e-9));
  CHECK(cycle(50) == cycle(9));
  for (long step = 3; step < 10; ++step) CHECK(cycle(step) < cycle(step - 1));
  const nn::OneCycleLR late(2.0, 21, {.pct_start = 0.5, .div_factor = 4, .final_div_factor = 2});
  CHECK(late(0) == doctest::Approx(0.5));
  CHECK(late(20) == doctest::Approx(0.25));
}
TEST_CASE("step decay, and a warm-up in front of a schedule") {
  const nn::StepLR step(0.8, 3, 0.5);
  CHECK(step(0) == 0.8);
  CHECK(step(2) == 0.8);
  CHECK(step(3) == 0.4);
  CHECK(step(8) == 0.2);
  const nn::WarmUpThen warm(3, nn::CosineDecayLR(0, 0.4, 10));
  CHECK(warm(0) == doctest::Approx(0.1));
  CHECK(warm(2) == doctest::Approx(0.3));
  CHECK(warm(3) == doctest::Approx(0.4));
  CHECK(warm(8) == doctest::Approx(0.2));
  CHECK(warm(13) == doctest::Approx(0.0));
  const nn::WarmUpThen constant(1, [](long) { return 0.5; });
  CHECK(constant(0) == 0.25);
  CHECK(constant(1) == 0.5);
}
TEST_CASE("a learning rate takes schedules and lists") {
  const nn::LearningRate rate = nn::WarmUpThen(2, nn::StepLR(0.1, 5));
  CHECK(rate.at(2) == 0.1f);
  CHECK_FALSE(rate.is_number());
  const nn::LearningRate listed = nn::piecewise_constant_lr({2, 2, 3}, {0.1, 0.2, 0.3});
  CHECK(listed.length() == 3);
  CHECK(listed.at(2) == 0.3f);
}
TEST_CASE("what they refuse") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(nn::OneCycleLR(0, 10), ValueError);
  CHECK_THROWS_AS(nn::OneCycleLR(1, 1), ValueError);
  CHECK_THROWS_AS(nn::OneCycleLR(1, 10, {.pct_start = 1}), ValueError);
  CHECK_THROWS_AS(nn::OneCycleLR(1, 10, {.div_factor = nan}), ValueError);
  CHECK_THROWS_AS(nn::StepLR(infinity, 3), ValueError);
  CHECK_THROWS_AS(nn::StepLR(0.1, 0), ValueError);
  CHECK_THROWS_AS(nn::WarmUpThen(0, nn::StepLR(0.1, 3)), ValueError);
  CHECK_THROWS_AS(nn::CosineDecayLR(0.1, 0.1, 10), ValueError);
  CHECK_THROWS_AS(nn::piecewise_constant_lr({}, {}), ValueError);
  CHECK_THROWS_AS(nn::piecewise_constant_lr({0}, {0.1}), ValueError);
}
