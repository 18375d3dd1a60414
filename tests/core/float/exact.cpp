// The probe of exact rounding: the region holds where g++ contracts by default, and the probe would see one rounding.
// flags: -O3
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/float/exact.hpp>

TEST_CASE("a Model may run in this program") { CHECK_NOTHROW(tenon::check_exact_rounding()); }

TEST_CASE("the probe's numbers tell one rounding from two") {
  volatile float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  CHECK(tenon::detail::product_plus(a, a, c) == 0);
  CHECK(std::fma(a, a, c) == 0x1p-24f);
}
