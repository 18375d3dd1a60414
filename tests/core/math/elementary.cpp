// Elementary functions in float against the C library in double: error in units of the last place, and the special
// values.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), smallest = 0x1p-126f;

/// The largest error of f in ulp over every `stride`-th float from low to high (both positive or both negative).
template <class F, class G>
double worst_ulp(F f, G exact, float low, float high, std::uint32_t stride) {
  double worst = 0;
  const std::uint32_t from = std::bit_cast<std::uint32_t>(low < 0 ? high : low),
                      to = std::bit_cast<std::uint32_t>(low < 0 ? low : high);
  for (std::uint64_t bits = from; bits <= to; bits += stride) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double expected = exact(static_cast<double>(x)), size = std::fabs(expected);
    if (size < smallest || size > std::numeric_limits<float>::max()) continue;
    const double ulp = std::ldexp(1.0, std::ilogb(size) - 23),
                 error = std::fabs(static_cast<double>(f(x)) - expected) / ulp;
    if (!(error <= worst)) worst = error;
  }
  return worst;
}
template <class F, class G>
void check_ulp(F f, G exact, float low, float high, double limit) {
  const double worst = worst_ulp(f, exact, low, high, 61);
  CAPTURE(low);
  CAPTURE(high);
  CHECK(worst <= limit);
}

}  // namespace

TEST_CASE("exp") {
  const auto f = [](float x) { return math::exp(x); };
  const auto exact = [](double x) { return std::exp(x); };
  check_ulp(f, exact, 1e-30f, 88.7f, 1);
  check_ulp(f, exact, -87.3f, -1e-30f, 1);
  CHECK(f(0) == 1);
  CHECK(f(89) == infinity);
  CHECK(f(infinity) == infinity);
  CHECK(f(-infinity) == 0);
  CHECK(f(-104) == 0);
  CHECK(f(-100) == doctest::Approx(std::exp(-100.0)).epsilon(0.05));  // denormal where they are not flushed
  CHECK(std::isnan(f(std::nanf(""))));
  CHECK(f(88.72f) < infinity);
}

namespace {
template <int width>
void check_lanes() {
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 4099 * width) {
    float x[width], y[width];
    for (int lane = 0; lane < width; ++lane) x[lane] = std::bit_cast<float>(std::uint32_t(bits + 4099u * lane));
    math::exp(Simd<float, width>::load(x)).store(y);
    for (int lane = 0; lane < width; ++lane) {
      const float expected = math::exp(x[lane]);
      if (std::isnan(expected) ? !std::isnan(y[lane]) : std::memcmp(&expected, &y[lane], sizeof expected) != 0)
        FAIL("exp(", x[lane], ") is ", expected, ", in lanes ", y[lane]);
    }
  }
}
}  // namespace

TEST_CASE("exp: in lanes the bits of single numbers, NaN and denormal ones among them") {
  check_lanes<2>();
  check_lanes<4>();
  check_lanes<8>();
  check_lanes<16>();
  const double x[]{-1, 2.5};
  CHECK(math::exp(Simd<double, 2>::load(x))[1] == std::exp(2.5));
}

TEST_CASE("log") {
  const auto f = [](float x) { return math::log(x); };
  const auto exact = [](double x) { return std::log(x); };
  check_ulp(f, exact, smallest, 0.99f, 1);
  check_ulp(f, exact, 0.99f, 1.01f, 1);
  check_ulp(f, exact, 1.01f, std::numeric_limits<float>::max(), 1);
  CHECK(f(1) == 0);
  CHECK(f(0) == -infinity);
  CHECK(f(-0.0f) == -infinity);
  CHECK(f(infinity) == infinity);
  CHECK(std::isnan(f(-1)));
  CHECK(std::isnan(f(-infinity)));
  CHECK(std::isnan(f(std::nanf(""))));
  CHECK(f(0x1p-140f) == doctest::Approx(std::log(std::ldexp(1.0, -140))));
}

TEST_CASE("log1p") {
  const auto f = [](float x) { return math::log1p(x); };
  const auto exact = [](double x) { return std::log1p(x); };
  check_ulp(f, exact, 1e-30f, 1e30f, 2);
  check_ulp(f, exact, -0.999f, -1e-30f, 2);
  CHECK(f(0) == 0);
  CHECK(f(-1) == -infinity);
  CHECK(f(infinity) == infinity);
  CHECK(std::isnan(f(-2)));
  CHECK(std::isnan(f(std::nanf(""))));
}

TEST_CASE("tanh") {
  const auto f = [](float x) { return math::tanh(x); };
  const auto exact = [](double x) { return std::tanh(x); };
  check_ulp(f, exact, 1e-30f, 20, 2);
  check_ulp(f, exact, -20, -1e-30f, 2);
  CHECK(f(0) == 0);
  CHECK(f(100) == 1);
  CHECK(f(-infinity) == -1);
  CHECK(std::isnan(f(std::nanf(""))));
}

TEST_CASE("pow") {
  for (const float y : {0.5f, -0.75f, 2.0f, 3.0f, -7.3f, 0.01f, 41.7f}) {
    CAPTURE(y);
    check_ulp([y](float x) { return math::pow(x, y); }, [y](double x) { return std::pow(x, double(y)); }, 1e-37f, 1e38f,
              0.501);
  }
  for (const float x : {0.3f, 1.0001f, 1e-20f, 3e30f}) {
    CAPTURE(x);
    for (const float sign : {1.0f, -1.0f})
      check_ulp([x](float y) { return math::pow(x, y); }, [x](double y) { return std::pow(double(x), y); },
                sign * 1e-30f, sign * 1e6f, 0.501);
  }
  const float special[]{0,           1,    2,     3,     0.5f, 0.9f,     1e30f,        16777215.0f,
                        16777216.0f, 2.5f, 3e38f, 1e38f, 0.1f, infinity, std::nanf("")};
  for (const float x : special)
    for (const float y : special)
      for (const float a : {x, -x})
        for (const float b : {y, -y}) {
          CAPTURE(a);
          CAPTURE(b);
          const float power = math::pow(a, b), expected = static_cast<float>(std::pow(double(a), double(b)));
          const bool same =
              std::memcmp(&power, &expected, sizeof power) == 0 || (power != power && expected != expected);
          CHECK((same || (power == 0 && std::fabs(expected) < smallest)));
        }
}

TEST_CASE("erfc") {
  const auto f = [](float x) { return math::erfc(x); };
  const auto exact = [](double x) { return std::erfc(x); };
  check_ulp(f, exact, 1e-30f, 9.1f, 5);
  check_ulp(f, exact, -10, -1e-30f, 3);
  CHECK(f(0) == 1);
  CHECK(f(infinity) == 0);
  CHECK(f(-infinity) == 2);
  CHECK(std::isnan(f(std::nanf(""))));
}

TEST_CASE("functions of vectors have the bits of those of numbers in each lane") {
  const auto check = []<class T>(T) {
    using V = Simd<T>;
    Random random(5);
    T x[V::width], y[V::width];
    for (int i = 0; i < V::width; ++i) x[i] = T(random.uniform(0, 9)) / 3, y[i] = T(random.uniform(0, 9)) / 3;
    x[0] = T(-0.0), y[0] = T(0);
    if (V::width > 3) x[1] = T(NAN), y[2] = T(NAN), x[3] = T(INFINITY);
    const V a = V::load(x), b = V::load(y);
    const auto same = [&](V lanes, auto number) {
      for (int i = 0; i < V::width; ++i) {
        const T one = number(x[i], y[i]), lane = lanes[i];
        CHECK((std::memcmp(&one, &lane, sizeof one) == 0 || (std::isnan(one) && std::isnan(lane))));
      }
    };
    same(math::sqrt(a), [](T v, T) { return std::sqrt(v); });
    same(math::pow(a, T(0.75)), [](T v, T) { return math::pow(v, T(0.75)); });
    same(math::larger(a, b), [](T v, T w) { return math::larger(v, w); });
    same(math::larger(a, b), [](T v, T w) { return v > w ? v : w; });
    same(math::smaller(a, b), [](T v, T w) { return math::smaller(v, w); });
    same(math::smaller(a, b), [](T v, T w) { return v < w ? v : w; });
    same(math::where_greater(a, b, b + b, a - b), [](T v, T w) { return math::where_greater(v, w, w + w, v - w); });
    CHECK(std::isnan(math::sqrt(V(T(-1)))[0]));
  };
  check(1.0f), check(1.0);
}

TEST_CASE("a loop that the compiler may vectorise gives the bits of single calls") {
  Random random(3);
  std::vector<float> x(1003);
  for (float& element : x) element = random.uniform(-30, 30);
  const auto check = [&](auto f) {
    std::vector<float> together(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) together[i] = f(x[i]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      volatile float one = x[i];
      const float alone = f(one);
      CHECK(std::bit_cast<std::uint32_t>(alone) == std::bit_cast<std::uint32_t>(together[i]));
    }
  };
  check([](float v) { return math::exp(v); });
  check([](float v) { return math::log(v * v); });
  check([](float v) { return math::log1p(v * v); });
  check([](float v) { return math::tanh(v); });
  check([](float v) { return math::erfc(v); });
}
