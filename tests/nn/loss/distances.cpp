// Losses of a distance between numbers: Huber, smooth L1, root of the mean square.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include <tenon/nn/loss/huber.hpp>
#include <tenon/nn/loss/l1.hpp>
#include <tenon/nn/loss/rmse.hpp>
#include <tenon/nn/loss/smooth_l1.hpp>

#include "support.hpp"

using namespace losses;

namespace {
using Rows = Tensor<double, Shape<dyn, 4>>;
using Elements = Tensor<float, Shape<dyn>>;
const Rows x = random_tensor<double, Shape<dyn, 4>>(1), y = random_tensor<double, Shape<dyn, 4>>(2);
template <Reduction reduction>
using Huber2 = nn::HuberLoss<reduction, 2>;
template <Reduction reduction>
using Smooth = nn::SmoothL1Loss<reduction, 0.25f>;
}  // namespace

TEST_CASE("HuberLoss: a parabola up to delta, a line beyond") {
  const auto e = values({0, 0.5f, -1, 3, -infinity}), zero = values({0, 0, 0, 0, 0});
  CHECK(bit_equal(nn::HuberLoss<Reduction::none>{}(e, zero), values({0, 0.125f, 0.5f, 2.5f, infinity})));
  CHECK(bit_equal(nn::HuberLoss<Reduction::none, 2>{}(e, zero), values({0, 0.125f, 0.5f, 4, infinity})));
  CHECK(nn::HuberLoss{}(values({1, 3}), values({0, 0})).item() == 1.5f);
  CHECK(std::isnan(nn::HuberLoss{}(values({not_a_number}), values({0})).item()));
  check_loss<nn::HuberLoss<>>(x, y);
  check_loss<nn::HuberLoss<Reduction::none, 0.7>>(x, y);
  check_empty<Huber2, Elements, Elements>();
}

TEST_CASE("HuberLoss, SmoothL1Loss: the bits of the same as operators one by one") {
  const auto a = random_tensor<float, Shape<dyn, 5>>(1, -3, 3, 9), b = random_tensor<float, Shape<dyn, 5>>(2, -1, 1, 9);
  const auto by_steps = [](const auto& p, const auto& t) {
    const auto d = ops::abs(p - t), near = ops::minimum(d, 0.75f);
    return near * (d - near * 0.5f);
  };
  const auto steps = both_modes(by_steps, a, b),
             loss = both_modes(LossCall<nn::HuberLoss<Reduction::none, 0.75f>>{}, a, b);
  CHECK(bit_equal(loss.result, steps.result));
  CHECK(bit_equal(std::get<0>(loss.gradient), std::get<0>(steps.gradient)));
  CHECK(bit_equal(std::get<1>(loss.gradient), std::get<1>(steps.gradient)));
  CHECK(bit_equal(nn::SmoothL1Loss<Reduction::none, 0.5f>{}(a, b), nn::HuberLoss<Reduction::none, 0.5f>{}(a, b) * 2));
}

TEST_CASE("HuberLoss: the gradient is the error, at most delta") {
  using Loss = nn::HuberLoss<Reduction::sum, 2>;
  CHECK(at<Loss>(0, 0.0f).gradient == 0);
  CHECK(at<Loss>(1.5f, 0.0f).gradient == doctest::Approx(1.5));
  CHECK(at<Loss>(2, 0.0f).gradient == doctest::Approx(2));  // at the seam
  CHECK(at<Loss>(-50, 0.0f).gradient == doctest::Approx(-2));
  CHECK(at<Loss>(infinity, 0.0f).gradient == doctest::Approx(2));
}

TEST_CASE("SmoothL1Loss: HuberLoss divided by beta; the example of MindSpore's documentation") {
  CHECK(bit_equal(nn::SmoothL1Loss<Reduction::none>{}(values({1, 2, 3}), values({1, 2, 2})), values({0, 0, 0.5f})));
  CHECK(bit_equal(nn::SmoothL1Loss<Reduction::none, 0.25f>{}(values({0.125f, 2}), values({0, 0})),
                  values({0.03125f, 1.875f})));
  check_loss<nn::SmoothL1Loss<>>(x, y);
  check_loss<nn::SmoothL1Loss<Reduction::none, 0.25>>(x, y);
  check_empty<Smooth, Elements, Elements>();
  using Loss = nn::SmoothL1Loss<Reduction::sum, 0.25f>;
  CHECK(at<Loss>(0, 0.0f).gradient == 0);
  CHECK(at<Loss>(0.125f, 0.0f).gradient == doctest::Approx(0.5));
  CHECK(at<Loss>(-3, 0.0f).gradient == doctest::Approx(-1));
}

TEST_CASE("RMSELoss: a root, whose gradient is 0 and not NaN where all is right") {
  CHECK(nn::RMSELoss{}(values({1, 2, 3, 4}), values({1, 2, 3, 0})).item() == 2);
  const Point right = at<nn::RMSELoss>(3, 3.0f), near = at<nn::RMSELoss>(1e-18f, 0.0f);
  CHECK((right.loss == 0 && right.gradient == 0));
  CHECK(near.loss == doctest::Approx(1e-18).epsilon(1e-5).scale(0));
  CHECK(near.gradient == doctest::Approx(1));
  CHECK(std::isnan(at<nn::RMSELoss>(not_a_number, 0.0f).loss));
  CHECK(at<nn::RMSELoss>(infinity, 0.0f).loss == infinity);
  CHECK(std::isnan(nn::RMSELoss{}(Elements::empty(0), Elements::empty(0)).item()));
  check_loss<nn::RMSELoss>(x, y);
}

TEST_CASE(
    "a prediction that is NaN has a gradient of NaN where PyTorch has one: not in L1Loss, whose slope is a sign") {
  using enum Reduction;
  CHECK(std::isnan(at<nn::HuberLoss<sum>>(not_a_number, 0.0f).gradient));
  CHECK(std::isnan(at<nn::HuberLoss<mean, 2>>(not_a_number, 0.0f).gradient));
  CHECK(std::isnan(at<nn::SmoothL1Loss<sum>>(not_a_number, 0.0f).gradient));
  CHECK(std::isnan(at<nn::RMSELoss>(not_a_number, 0.0f).gradient));
  CHECK(at<nn::L1Loss<sum>>(not_a_number, 0.0f).gradient == 0);
  CHECK(std::isnan(at<nn::L1Loss<sum>>(not_a_number, 0.0f).loss));
}
