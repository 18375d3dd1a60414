// Losses of probabilities: binary cross entropy with and without logits, Kullback-Leibler divergence, dice.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include <tenon/nn/loss/bce.hpp>
#include <tenon/nn/loss/bce_with_logits.hpp>
#include <tenon/nn/loss/dice.hpp>
#include <tenon/nn/loss/kl_div.hpp>

#include "support.hpp"

using namespace losses;

namespace {
using Elements = Tensor<float, Shape<dyn>>;
using Rows = Shape<dyn, 3>;
const auto probability = random_tensor<double, Rows>(1, 0.05, 0.95),
           target = random_tensor<double, Rows>(2, 0.05, 0.95), logits = random_tensor<double, Rows>(3, -4, 4);

struct PerClass {
  using shape = Shape<3>;
  static constexpr float values[]{1, 0.5f, 4};
};
struct Positives {
  using shape = Shape<3>;
  static constexpr float values[]{2, 1, 10};
};
template <Reduction reduction>
using BCE = nn::BCELoss<reduction>;
template <Reduction reduction>
using Logits = nn::BCEWithLogitsLoss<reduction>;
}  // namespace

namespace {
struct PerElement {
  using shape = Shape<2, 3>;
  static constexpr float values[]{1, 2, 3, 4, 3.3f, 2.2f};
};
}  // namespace

TEST_CASE("the examples of MindSpore's documentation") {
  const auto x = tensor_of<float, Shape<2, 3>>({0.1f, 0.2f, 0.3f, 0.5f, 0.7f, 0.9f}),
             y = tensor_of<float, Shape<2, 3>>({0, 1, 0, 0, 0, 1});
  CHECK(nn::BCELoss<Reduction::mean, PerElement>{}(x, y).item() == doctest::Approx(1.8952923).epsilon(1e-6));
  const auto a = tensor_of<float, Shape<2, 3>>({-0.8f, 1.2f, 0.7f, -0.1f, -0.4f, 0.7f}),
             b = tensor_of<float, Shape<2, 3>>({0.3f, 0.8f, 1.2f, -0.6f, 0.1f, 2.2f});
  CHECK(nn::BCEWithLogitsLoss{}(a, b).item() == doctest::Approx(0.3463612).epsilon(1e-6));
}

TEST_CASE("BCELoss: the definition, weights") {
  const auto x = tensor_of<float, Shape<2, 3>>({0.2f, 0.7f, 0.1f, 0.2f, 0.7f, 0.1f}),
             y = tensor_of<float, Shape<2, 3>>({0, 1, 0, 0, 0, 1}),
             all = nn::BCELoss<Reduction::none, PerClass>{}(x, y);
  const double loss[]{-std::log(0.8), -std::log(0.7), -std::log(0.9), -std::log(0.8), -std::log(0.3), -std::log(0.1)};
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    sum += loss[i];
    CHECK(all.values()[i] == doctest::Approx(loss[i] * double(PerClass::values[i % 3])));
  }
  CHECK(nn::BCELoss{}(x, y).item() == doctest::Approx(sum / 6));
  check_loss<nn::BCELoss<>>(probability, target);
  check_loss<nn::BCELoss<Reduction::none, PerClass>>(probability, target);
  check_empty<BCE, Elements, Elements>();
}

TEST_CASE("BCELoss: sure predictions are finite, and no gradient is NaN") {
  using Loss = nn::BCELoss<Reduction::sum>;
  for (const float x : {0.0f, 1.0f}) {
    const Point right = at<Loss>(x, x), wrong = at<Loss>(x, 1 - x);
    CHECK(right.loss == 0);
    CHECK(right.gradient == doctest::Approx(x == 1 ? -1 : 1));
    CHECK(wrong.loss == doctest::Approx(-std::log(1e-12)));
    CHECK(wrong.gradient == 0);
  }
  CHECK(at<Loss>(1e-6f, 1.0f).gradient == doctest::Approx(-1e6));
  CHECK(std::isnan(at<Loss>(not_a_number, 1.0f).loss));
  using Half = Tensor<float16, Shape<1>>;
  CHECK(float(nn::BCELoss{}(Half::full(float16(0.0f)), Half::full(float16(1.0f))).item()) ==
        doctest::Approx(14 * std::log(2.0)).epsilon(1e-3));
}

TEST_CASE("BCEWithLogitsLoss: the bits of two softplus") {
  const auto x = random_tensor<float, Rows>(4, -9, 9, 8), y = random_tensor<float, Rows>(5, 0, 1, 8);
  const auto by_steps = [](const auto& v, const auto& t) {
    return ops::mul(t, ops::softplus(ops::neg(v))) + ops::mul(1 - t, ops::softplus(v));
  };
  const auto steps = both_modes(by_steps, x, y), loss = both_modes(LossCall<Logits<Reduction::none>>{}, x, y);
  CHECK(bit_equal(loss.result, steps.result));
  CHECK(bit_equal(std::get<0>(loss.gradient), std::get<0>(steps.gradient)));
  CHECK(bit_equal(std::get<1>(loss.gradient), std::get<1>(steps.gradient)));
}

TEST_CASE("BCEWithLogitsLoss: BCELoss of a sigmoid, with all digits at both ends") {
  using Loss = nn::BCEWithLogitsLoss<Reduction::sum>;
  CHECK(at<Loss>(0, 1.0f).loss == doctest::Approx(std::log(2.0)));
  CHECK(at<Loss>(0, 1.0f).gradient == doctest::Approx(-0.5));
  CHECK(at<Loss>(0, 0.25f).gradient == doctest::Approx(0.25));
  for (const float y : {0.0f, 1.0f}) {
    const float sign = y == 1 ? 1.0f : -1.0f;
    CHECK(at<Loss>(sign * 30, y).loss ==
          doctest::Approx(std::exp(-30.0)).epsilon(1e-5).scale(0));  // right, and sure of it
    CHECK(sign * at<Loss>(sign * 30, y).gradient == doctest::Approx(-std::exp(-30.0)).epsilon(1e-5).scale(0));
    CHECK(at<Loss>(sign * -1000, y).loss == 1000);
    CHECK(at<Loss>(sign * -1000, y).gradient == doctest::Approx(-sign));
  }
  CHECK(std::isnan(at<Loss>(not_a_number, 1.0f).loss));
  check_empty<Logits, Elements, Elements>();
}

TEST_CASE("BCEWithLogitsLoss: weights of elements and of the positive ones") {
  using Loss = nn::BCEWithLogitsLoss<Reduction::none, PerClass, Positives>;
  const auto loss = Loss{}(logits, target);
  for (std::size_t i = 0; i < loss.values().size(); ++i) {
    const double s = 1 / (1 + std::exp(-logits.values()[i])), y = target.values()[i];
    const double w = double(PerClass::values[i % 3]), p = double(Positives::values[i % 3]);
    CHECK(loss.values()[i] == doctest::Approx(-w * (p * y * std::log(s) + (1 - y) * std::log(1 - s))));
  }
  check_loss<nn::BCEWithLogitsLoss<>>(logits, target);
  check_loss<Loss>(logits, target);
}

TEST_CASE("KLDivLoss: the definition; a share of 0 costs nothing") {
  const auto x = values({-1, -2, -0.5f}), t = values({0.5f, 0, 1});
  const auto loss = nn::KLDivLoss<Reduction::none>{}(x, t);
  CHECK(loss.values()[0] == doctest::Approx(0.5 * (std::log(0.5) + 1)));
  CHECK(loss.values()[1] == 0);
  CHECK(loss.values()[2] == 0.5f);
  using Loss = nn::KLDivLoss<Reduction::sum>;
  CHECK(at<Loss>(-2, 0.0f).gradient == 0);
  CHECK(at<Loss>(-2, 0.75f).gradient == doctest::Approx(-0.75));
  CHECK(at<Loss>(-infinity, 1.0f).loss == infinity);
  CHECK(std::isnan(at<Loss>(-infinity, 0.0f).loss));  // as the docstring says
  CHECK(std::isnan(at<Loss>(not_a_number, 0.5f).loss));
  check_loss<nn::KLDivLoss<>>(logits, target);
  check_loss<nn::KLDivLoss<Reduction::none>>(logits, target);
  check_empty<nn::KLDivLoss, Elements, Elements>();
}

TEST_CASE("DiceLoss: 0 for equal regions, near 1 for separate ones") {
  const auto left = values({1, 1, 0, 0}), right = values({0, 0, 1, 1}), nothing = values({0, 0, 0, 0});
  CHECK(nn::DiceLoss<>{}(left, left).item() == 0);
  CHECK(nn::DiceLoss<>{}(left, right).item() == doctest::Approx(1).epsilon(1e-5));
  CHECK(nn::DiceLoss<1>{}(left, right).item() == doctest::Approx(0.8));
  CHECK(nn::DiceLoss<>{}(nothing, nothing).item() == 0);
  CHECK(nn::DiceLoss<>{}(Elements::empty(0), Elements::empty(0)).item() == 0);
  CHECK(std::isnan(nn::DiceLoss<>{}(values({not_a_number}), values({1})).item()));
  check_loss<nn::DiceLoss<>>(probability, target);
  check_loss<nn::DiceLoss<0.5>>(probability, target);
}
