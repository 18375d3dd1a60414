// Softmax and its logarithm at many shapes: against plain loops, gradients and second derivatives against central
// differences, both modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/log_softmax.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"

using namespace tenon;
using namespace support;

namespace {

template <class S, int axis>
void check_softmax(long n = 3) {
  const auto x = random_tensor<double, S>(17, -2, 2, n);
  const auto plain = [](const auto& v) { return softmax<axis>(v); };
  const auto logarithm = [](const auto& v) { return log_softmax<axis>(v); };
  const auto y = both_modes(plain, x).result, z = both_modes(logarithm, x).result;
  long inner = 1, count = x.extent(normalized_axis(axis, S::rank));
  for (int k = normalized_axis(axis, S::rank) + 1; k < S::rank; ++k) inner *= x.extent(k);
  const auto row_of = [&](long i) { return std::size_t(i / (inner * count) * inner + i % inner); };
  std::vector<double> sum(std::size_t(x.count()), 0.0);
  for (long i = 0; i < x.count(); ++i) sum[row_of(i)] += std::exp(x.data()[i]);
  double worst = 0;
  for (long i = 0; i < x.count(); ++i) {
    const double expected = std::exp(x.data()[i]) / sum[row_of(i)];
    worst = std::fmax(worst, std::fmax(std::fabs(y.data()[i] - expected), std::fabs(z.data()[i] - std::log(expected))));
  }
  CHECK(worst < 1e-13);
  check_gradients(plain, x);
  check_gradients(logarithm, x);
  check_second_derivatives(plain, x);
  check_second_derivatives(logarithm, x);
}

}  // namespace

TEST_CASE("softmax along every axis") {
  check_softmax<Shape<5>, 0>();
  check_softmax<Shape<2, 3, 4>, -1>();
  check_softmax<Shape<2, 3, 4>, 1>();
  check_softmax<Shape<2, 3, 4>, 0>();
  check_softmax<Shape<dyn, 3>, 1>();
  check_softmax<Shape<dyn, 2, 2>, 0>(4);
  check_softmax<Shape<2, 1>, 1>();
}
