// Initial values: moments of each distribution, determinism, independence of threads, and speed.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/nn/init/initializer.hpp>

using namespace tenon;

namespace {

struct Moments {
  double mean = 0, deviation = 0, skew = 0, kurtosis = 0, least = 1e30, largest = -1e30;
};
Moments moments(const std::vector<float>& x) {
  Moments m;
  for (float v : x) m.mean += v, m.least = std::fmin(m.least, v), m.largest = std::fmax(m.largest, v);
  m.mean /= double(x.size());
  double second = 0, third = 0, fourth = 0;
  for (float v : x) {
    const double d = v - m.mean;
    second += d * d, third += d * d * d, fourth += d * d * d * d;
  }
  second /= double(x.size()), third /= double(x.size()), fourth /= double(x.size());
  m.deviation = std::sqrt(second);
  m.skew = third / (second * m.deviation);
  m.kurtosis = fourth / (second * second);
  return m;
}
template <class Init>
std::vector<float> drawn(const Init& init, const TensorType& type, std::uint64_t key = 7) {
  std::vector<float> x(std::size_t(type.count(1)), -99.0f);
  init.fill(x.data(), type, key);
  return x;
}
constexpr TensorType large{{1000, 1000}, 2, Dtype::float32};
constexpr TensorType odd{{3, 7, 5, 5}, 4, Dtype::float32};  // 525 elements: no multiple of a group

}  // namespace

TEST_CASE("constants fill every element, of any type") {
  for (float v : drawn(nn::Zero{}, odd)) CHECK(v == 0);
  for (float v : drawn(nn::One{}, odd)) CHECK(v == 1);
  for (float v : drawn(nn::Constant{0.25f}, odd)) CHECK(v == 0.25f);
  std::vector<int> whole(std::size_t(odd.count(1)));
  nn::Constant{3}.fill(whole.data(), odd, 1);
  for (int v : whole) CHECK(v == 3);
}

TEST_CASE("Normal: moments of a million numbers, tails, and the fractions within one, two, and three deviations") {
  const auto x = drawn(nn::Normal{0.5f, 2.0f}, large);
  const Moments m = moments(x);
  CHECK(std::fabs(m.mean - 2) < 0.002);
  CHECK(std::fabs(m.deviation - 0.5) < 0.002);
  CHECK(std::fabs(m.skew) < 0.01);
  CHECK(std::fabs(m.kurtosis - 3) < 0.02);
  CHECK(m.largest > 2 + 0.5 * 4);
  CHECK(m.largest < 2 + 0.5 * 6);
  int within[3]{};
  for (float v : x)
    for (int k = 0; k < 3; ++k) within[k] += std::fabs(v - 2) < 0.5 * (k + 1);
  CHECK(std::fabs(within[0] / 1e6 - 0.682689) < 0.002);
  CHECK(std::fabs(within[1] / 1e6 - 0.954500) < 0.001);
  CHECK(std::fabs(within[2] / 1e6 - 0.997300) < 0.0003);
}

TEST_CASE("Normal: neighbours, and elements a group apart, are not correlated") {
  const auto x = drawn(nn::Normal{1.0f}, large);
  for (std::size_t distance : {1u, 2u, 15u, 16u, 17u, 32u, 48u, 64u, 128u}) {
    CAPTURE(distance);
    double sum = 0;
    for (std::size_t i = distance; i < x.size(); ++i) sum += double(x[i]) * x[i - distance];
    CHECK(std::fabs(sum / double(x.size())) < 0.005);
  }
}

TEST_CASE("the series behind Normal agree with the C library") {
  double worst_log = 0, worst_turn = 0;
  for (int k = 1; k <= 1 << 24; k += k < 4096 ? 1 : 997) {
    const float u = float(k) * 0x1p-24f;
    const double expected = -2 * std::log(double(u));
    worst_log = std::fmax(worst_log, std::fabs(math::minus_two_log(u) - expected) / std::fmax(1e-3, expected));
    if (k == 1 << 24) continue;
    float cosine, sine;
    math::turn(u, cosine, sine);
    worst_turn = std::fmax(worst_turn, std::fabs(cosine - std::cos(2 * M_PI * u)));
    worst_turn = std::fmax(worst_turn, std::fabs(sine - std::sin(2 * M_PI * u)));
  }
  CHECK(math::minus_two_log(1.0f) == 0.0f);
  CHECK(worst_log < 4e-7);
  CHECK(worst_turn < 3e-7);
}

TEST_CASE("words of a group are those of Philox") {
  std::uint32_t word[4][math::random_lanes];
  math::draw_words(0x123456789abcdefull, 0x1234567890ull, 0xfedcba9876543210ull, word);
  for (int l = 0; l < math::random_lanes; ++l) {
    const Philox4 expected =
        philox(0x123456789abcdefull, 0x1234567890ull * math::random_lanes + unsigned(l), 0xfedcba9876543210ull);
    for (int k = 0; k < 4; ++k) CHECK(word[k][l] == expected.word[k]);
  }
}

TEST_CASE("TruncatedNormal: nothing beyond two deviations, the deviation that this leaves") {
  const Moments m = moments(drawn(nn::TruncatedNormal{0.5f}, large));
  CHECK(m.least >= -1.0);
  CHECK(m.largest <= 1.0);
  CHECK(m.largest > 0.99);
  CHECK(std::fabs(m.mean) < 0.002);
  CHECK(std::fabs(m.deviation / 0.5 - 0.879626) < 0.003);  // sqrt(1 - 4 phi(2) / (2 Phi(2) - 1))
}

TEST_CASE("uniform distributions: bounds and deviations") {
  struct Case {
    std::vector<float> x;
    double bound;
  };
  const TensorType weight{{40, 50, 10, 10}, 4, Dtype::float32};  // fan in 5000, fan out 4000
  const Case cases[]{{drawn(nn::Uniform{0.3f}, large), 0.3},
                     {drawn(nn::XavierUniform{2.0f}, weight), 2 * std::sqrt(6.0 / 9000)},
                     {drawn(nn::HeUniform{}, weight), std::sqrt(2.0) * std::sqrt(3.0 / 5000)},
                     {drawn(nn::default_weight, weight), 1 / std::sqrt(5000.0)},
                     {drawn(nn::DefaultBias{400}, large), 1 / 20.0}};
  for (const Case& c : cases) {
    CAPTURE(c.bound);
    const Moments m = moments(c.x);
    CHECK(m.least >= -c.bound * 1.000001);
    CHECK(m.largest <= c.bound * 1.000001);
    CHECK(m.least < -c.bound * 0.999);
    CHECK(m.largest > c.bound * 0.999);
    CHECK(std::fabs(m.mean) < c.bound * 0.01);
    CHECK(std::fabs(m.deviation / c.bound - std::sqrt(1.0 / 3)) < 0.005);
  }
}

TEST_CASE("HeNormal: deviation from the fan in and the slope") {
  const TensorType weight{{400, 500, 2, 2}, 4, Dtype::float32};
  CHECK(std::fabs(moments(drawn(nn::HeNormal{}, weight)).deviation / std::sqrt(2.0 / 2000) - 1) < 0.01);
  CHECK(std::fabs(moments(drawn(nn::HeNormal{1.0f}, weight)).deviation / std::sqrt(1.0 / 2000) - 1) < 0.01);
}

TEST_CASE("the same key gives the same numbers on any number of threads, another key others") {
  const auto check = [](const auto& init) {
    std::vector<float> one, four;
    {
      const ContextScope scope({.num_threads = 1});
      one = drawn(init, large);
    }
    {
      const ContextScope scope({.num_threads = 4});
      four = drawn(init, large);
    }
    CHECK(std::memcmp(one.data(), four.data(), one.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(one.data(), drawn(init, large, 8).data(), one.size() * sizeof(float)) != 0);
    // A shorter parameter is a prefix of a longer one, also where it ends within a group.
    const auto few = drawn(init, TensorType{{1, 1, 1, 77}, 4, Dtype::float32});
    CHECK(few.back() != -99.0f);
  };
  check(nn::Normal{0.01f});
  check(nn::TruncatedNormal{0.01f});
  check(nn::Uniform{});
  check(nn::HeUniform{});
  const auto few = drawn(nn::Normal{1.0f}, odd), many = drawn(nn::Normal{1.0f}, large);
  CHECK(std::memcmp(few.data(), many.data(), few.size() * sizeof(float)) == 0);
}

TEST_CASE("16-bit and double parameters take the same numbers, rounded") {
  std::vector<float> single(77);
  std::vector<float16> half(77);
  std::vector<double> wide(77);
  const TensorType type{{77}, 1, Dtype::float32};
  nn::Normal{1.0f}.fill(single.data(), type, 3);
  nn::Normal{1.0f}.fill(half.data(), type, 3);
  nn::Normal{1.0f}.fill(wide.data(), type, 3);
  for (std::size_t i = 0; i < 77; ++i) {
    CHECK(half[i].bits == float16(single[i]).bits);
    CHECK(wide[i] == double(single[i]));
  }
}

TEST_CASE("uniform: a 16-bit parameter never gets the excluded bound, to which its rounding would take it") {
  const auto check = []<class T>(T) {
    std::vector<T> values(20000);
    nn::Uniform{1}.fill(values.data(), TensorType{{20000}, 1, dtype_of<T>}, 5);
    long outside = 0;
    for (const T v : values) outside += !(static_cast<float>(v) >= -1 && static_cast<float>(v) < 1);
    CHECK(outside == 0);
  };
  check(bfloat16()), check(float16()), check(float());
}
