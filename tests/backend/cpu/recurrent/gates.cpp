// Sigmoid and tanh of recurrent layers against the C library in double.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/backend/cpu/recurrent/gates.hpp>

using namespace tenon;

namespace {

using V = Simd<float>;

/// The largest error of f in units of the last place of the reference, over the numbers of (-limit, limit) of which
/// every `step`th is taken.
template <class F, class Reference>
double worst_ulp(float limit, std::uint32_t step, F f, Reference reference) {
  double worst = 0;
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(limit); bits += step)
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const double expected = reference(double(x)), found = f(V(x))[0];
      const float size = std::fmax(static_cast<float>(std::fabs(expected)), std::numeric_limits<float>::min());
      worst = std::fmax(worst, std::fabs(found - expected) / (double(std::nextafterf(size, INFINITY)) - double(size)));
    }
  return worst;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
float sigmoid_of(float x) { return kernel::gate_sigmoid(V(x))[0]; }
float tanh_of(float x) { return kernel::gate_tanh(V(x))[0]; }

}  // namespace

TEST_CASE("gate_sigmoid and gate_tanh: within a few units of the last place") {
  CHECK(worst_ulp(87.0f, 997, [](V x) { return kernel::gate_sigmoid(x); }, sigmoid) < 3);
  CHECK(worst_ulp(20.0f, 997, [](V x) { return kernel::gate_tanh(x); }, [](double x) { return std::tanh(x); }) < 6);
}

TEST_CASE("gate_sigmoid and gate_tanh: ends, zero, NaN") {
  const float inf = INFINITY;
  CHECK(sigmoid_of(0) == 0.5f);
  CHECK((sigmoid_of(inf) == 1 && sigmoid_of(1e30f) == 1));
  CHECK((sigmoid_of(-inf) > 0 && sigmoid_of(-inf) < 1e-37f));
  CHECK((tanh_of(0.0f) == 0 && !std::signbit(tanh_of(0.0f)) && std::signbit(tanh_of(-0.0f))));
  CHECK((tanh_of(1e-20f) == 1e-20f && tanh_of(-1e-20f) == -1e-20f));
  CHECK((std::fabs(tanh_of(inf) - 1) < 3e-7f && tanh_of(-inf) == -tanh_of(inf)));
  CHECK((std::isnan(sigmoid_of(NAN)) && std::isnan(tanh_of(NAN))));
}

TEST_CASE("gate_sigmoid and gate_tanh: each lane has its own number, with the bits that the number has in a vector of "
          "half the width") {
  constexpr int width = V::width, half = width / 2;
  float x[width], tanh_x[width], sigmoid_x[width];
  for (int i = 0; i < width; ++i) x[i] = float(i) * 0.77f - 6;
  for (int i = 0; i < width; i += half) {
    kernel::gate_tanh(Simd<float, half>::load(x + i)).store(tanh_x + i);
    kernel::gate_sigmoid(Simd<float, half>::load(x + i)).store(sigmoid_x + i);
  }
  for (int i = 0; i < width; ++i) {
    CHECK(std::bit_cast<std::uint32_t>(tanh_x[i]) == std::bit_cast<std::uint32_t>(kernel::gate_tanh(V::load(x))[i]));
    CHECK(std::bit_cast<std::uint32_t>(sigmoid_x[i]) ==
          std::bit_cast<std::uint32_t>(kernel::gate_sigmoid(V::load(x))[i]));
  }
}
