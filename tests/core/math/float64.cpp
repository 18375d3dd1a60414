// exp and log of float64 that have the same bits everywhere: error in units of the last place against long double,
// special values, and a hash of many results, which every processor with a fused multiply-add must give.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/core/math/float64.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), smallest = std::numeric_limits<double>::min();
constexpr int count = 200000;

TENON_EXACT_BEGIN
/// Number i of those drawn between low and high.
double drawn(int i, double low, double high) {
  return low + (high - low) * (double(philox(1, std::uint64_t(i), 0).word[0]) * 0x1p-32);
}
TENON_EXACT_END
/// The largest error of f in ulp for numbers between low and high, or for e to the power of such numbers.
template <class F, class G>
double worst_ulp(F f, G exact, double low, double high, bool powers = false) {
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const double x = powers ? std::exp(drawn(i, low, high)) : drawn(i, low, high);
    const long double expected = exact(static_cast<long double>(x));
    const long double ulp = std::ldexp(1.0L, std::ilogb(static_cast<double>(expected)) - 52);
    const double error = double(std::fabs(static_cast<long double>(f(x)) - expected) / ulp);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}
double own_exp(double x) { return math::float64::exp(x); }
double own_log(double x) { return math::float64::log(x); }
long double exact_exp(long double x) { return std::exp(x); }
long double exact_log(long double x) { return std::log(x); }

}  // namespace

TEST_CASE("within 1 ulp") {
  CHECK(worst_ulp(own_exp, exact_exp, -708.39, 709.78) < 1);
  CHECK(worst_ulp(own_exp, exact_exp, -1, 1) < 1);
  CHECK(worst_ulp(own_log, exact_log, 0.5, 2) < 1);
  CHECK(worst_ulp(own_log, exact_log, 0.999, 1.001) < 1);
  CHECK(worst_ulp(own_log, exact_log, -700, 700, true) < 1);
}

TEST_CASE("special values; what is denormal is 0") {
  CHECK(own_exp(0) == 1);
  CHECK(own_exp(-0.0) == 1);
  CHECK(own_exp(infinity) == infinity);
  CHECK(own_exp(709.79) == infinity);
  CHECK(own_exp(1e300) == infinity);
  CHECK(own_exp(709.78) < infinity);
  CHECK(own_exp(-infinity) == 0);
  CHECK(own_exp(-708.4) == 0);
  CHECK(own_exp(-708.3963) >= smallest);
  CHECK(std::isnan(own_exp(std::nan(""))));
  CHECK(own_log(1) == 0);
  CHECK(own_log(0) == -infinity);
  CHECK(own_log(-0.0) == -infinity);
  CHECK(own_log(smallest / 2) == -infinity);
  CHECK(own_log(infinity) == infinity);
  CHECK(std::isnan(own_log(-1)));
  CHECK(std::isnan(own_log(-infinity)));
  CHECK(std::isnan(own_log(std::nan(""))));
}

TEST_CASE("equal bits everywhere") {
  if (!has_fused_multiply_add) return;
  std::uint64_t hash = 0;
  for (int i = 0; i < count; ++i)
    for (const double value : {own_exp(drawn(i, -700, 700)), own_log(drawn(i, 0, 10)), own_log(drawn(i, 0.7, 1.5))})
      hash = hash * 0x9e3779b97f4a7c15 + std::bit_cast<std::uint64_t>(value);
  CHECK(hash == 0x5268c3969eff5c9);
}
