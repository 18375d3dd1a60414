// Every differentiable element-wise operator in double: first and second derivatives against central differences.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"

#include <tenon/ops/abs.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/pow.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/rsqrt.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/silu.hpp>
#include <tenon/ops/softplus.hpp>
#include <tenon/ops/sqrt.hpp>
#include <tenon/ops/square.hpp>
#include <tenon/ops/tanh.hpp>

using namespace tenon;
using namespace support;

namespace {

/// First derivative at 40 random points of [low, high).
template <class F>
void check_first(const F& f, double low, double high) {
  check_gradients(f, random_tensor<double, Shape<dyn, 4>>(1, low, high, 10));
}
template <class F>
void check_twice(const F& f, double low, double high) {
  check_first(f, low, high);
  check_second_derivatives(f, random_tensor<double, Shape<dyn, 4>>(2, low, high, 2));
}
/// An operator of two operands under every form of broadcasting.
template <class A, class B, class F>
void check_pair(const F& f, double low, double high) {
  check_gradients(f, random_tensor<double, A>(3, low, high, 2), random_tensor<double, B>(4, low, high, 2));
}
template <class F>
void check_broadcasting(const F& f, double low, double high) {
  check_pair<Shape<2, 3, 2>, Shape<2, 3, 2>>(f, low, high);
  check_pair<Shape<dyn, 3>, Shape<3>>(f, low, high);
  check_pair<Shape<>, Shape<dyn, 2>>(f, low, high);
  check_pair<Shape<2, 1, 4>, Shape<3, 1>>(f, low, high);
  check_pair<Shape<dyn, 1, 2>, Shape<dyn, 3, 1>>(f, low, high);
  check_pair<Shape<1>, Shape<times<2>, 1, 2>>(f, low, high);
}

}  // namespace

TEST_CASE("smooth functions of one operand, derived twice") {
  SUBCASE("neg") {
    check_twice([](const auto& x) { return -x; }, -3, 3);
  }
  SUBCASE("square") {
    check_twice([](const auto& x) { return square(x); }, -3, 3);
  }
  SUBCASE("exp") {
    check_twice([](const auto& x) { return exp(x); }, -2, 2);
  }
  SUBCASE("log") {
    check_twice([](const auto& x) { return log(x); }, 0.5, 3);
  }
  SUBCASE("sqrt") {
    check_twice([](const auto& x) { return sqrt(x); }, 0.5, 3);
  }
  SUBCASE("rsqrt") {
    check_twice([](const auto& x) { return rsqrt(x); }, 0.5, 3);
  }
  SUBCASE("sigmoid") {
    check_twice([](const auto& x) { return sigmoid(x); }, -6, 6);
  }
  SUBCASE("tanh") {
    check_twice([](const auto& x) { return tanh(x); }, -3, 3);
  }
  SUBCASE("softplus") {
    check_twice([](const auto& x) { return softplus(x); }, -6, 6);
  }
  SUBCASE("silu") {
    check_twice([](const auto& x) { return silu(x); }, -6, 6);
  }
  SUBCASE("gelu, tanh form") {
    check_twice([](const auto& x) { return gelu(x); }, -4, 4);
  }
  SUBCASE("gelu, erf form") {
    check_twice([](const auto& x) { return gelu<ops::GeluForm::erf>(x); }, -4, 4);
  }
}

TEST_CASE("functions with a kink, on both sides of it") {
  const auto kinks = [](const auto& f) { check_first(f, -3, -0.1), check_first(f, 0.1, 3); };
  SUBCASE("abs") {
    kinks([](const auto& x) { return abs(x); });
  }
  SUBCASE("relu") {
    kinks([](const auto& x) { return relu(x); });
  }
  SUBCASE("maximum with a number") {
    kinks([](const auto& x) { return maximum(x, 0); });
  }
  SUBCASE("minimum with a number") {
    kinks([](const auto& x) { return minimum(0, x); });
  }
}

TEST_CASE("two operands, every form of broadcasting") {
  SUBCASE("add") {
    check_broadcasting([](const auto& x, const auto& y) { return x + y; }, -2, 2);
  }
  SUBCASE("sub") {
    check_broadcasting([](const auto& x, const auto& y) { return x - y; }, -2, 2);
  }
  SUBCASE("mul") {
    check_broadcasting([](const auto& x, const auto& y) { return x * y; }, -2, 2);
  }
  SUBCASE("div") {
    check_broadcasting([](const auto& x, const auto& y) { return x / y; }, 0.5, 2);
  }
  SUBCASE("pow") {
    check_broadcasting([](const auto& x, const auto& y) { return pow(x, y); }, 0.5, 2);
  }
  SUBCASE("maximum") {
    check_broadcasting([](const auto& x, const auto& y) { return maximum(x, y); }, -2, 2);
  }
  SUBCASE("minimum") {
    check_broadcasting([](const auto& x, const auto& y) { return minimum(x, y); }, -2, 2);
  }
}

TEST_CASE("two operands, derived twice") {
  const auto x = random_tensor<double, Shape<dyn, 3>>(5, 0.5, 2), y = random_tensor<double, Shape<dyn, 3>>(6, 0.5, 2);
  const auto row = random_tensor<double, Shape<3>>(7, 0.5, 2);
  SUBCASE("mul") {
    check_second_derivatives([](const auto& a, const auto& b) { return a * b; }, x, row);
  }
  SUBCASE("div") {
    check_second_derivatives([](const auto& a, const auto& b) { return a / b; }, x, row);
  }
  SUBCASE("div, by the divisor") {
    check_second_derivatives([](const auto& a, const auto& b) { return b / a; }, x, row);
  }
  SUBCASE("pow, by the base") {
    check_second_derivatives([](const auto& a, const auto& b) { return pow(a, b); }, x, y);
  }
  SUBCASE("pow, by the exponent") {
    check_second_derivatives([](const auto& a, const auto& b) { return pow(b, a); }, x, row);
  }
  SUBCASE("maximum") {
    check_second_derivatives([](const auto& a, const auto& b) { return square(maximum(a, b)); }, x, y);
  }
}

TEST_CASE("a choice, with broadcasting") {
  const auto x = random_tensor<double, Shape<dyn, 3>>(8), row = random_tensor<double, Shape<dyn, 3>>(9);
  check_gradients([](const auto& c, const auto& a, const auto& b) { return select(c, a, b); },
                  random_tensor<bool, Shape<dyn, 1>>(10), x, random_tensor<double, Shape<3>>(11));
  check_gradients([](const auto& a, const auto& b) { return where(a > b, a * b, 2); }, x, row);
  check_second_derivatives([](const auto& a, const auto& b) { return where(b > 0, square(a), a * b); }, x, row);
}
