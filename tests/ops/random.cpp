// Random operators: known words, distributions, the same bits in both modes and on all targets, and what they draw in
// loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"
#include "../support/tensors.hpp"

using namespace tenon;

namespace {

using ops::RandomNumbers;

Tensor<std::uint64_t, Shape<2>> state_of(std::uint64_t seed, std::uint64_t step) {
  return support::tensor_of<std::uint64_t, Shape<2>>({seed, step});
}
/// Numbers of a kind with a chosen seed, step, and stream, on the CPU; other targets give the same bits.
template <RandomKind kind, class T, class S, int low = 0, int bound = 0>
auto draw(std::uint64_t seed = 1, std::uint64_t step = 2, std::uint64_t stream = 3, long n = 1) {
  constexpr auto config = RandomNumbers::of(kind, type_of<T, S>, low, bound);
  const auto x = Tensor<float, Shape<dyn>>::zeros(n);
  const auto y = apply_with<RandomNumbers, config>({}, stream, x, state_of(seed, step));
#if defined(TENON_TARGET)
  const ContextScope there({.device_target = OtherTarget::name});
  CHECK(support::same_bits(y, apply_with<RandomNumbers, config>({}, stream, x, state_of(seed, step))));
#endif
  return y;
}

/// Whether counts are as probable as the probabilities say: chi-square with counts.size() - 1 degrees of freedom, five
/// of its deviations.
bool fits(const std::vector<double>& counts, const std::vector<double>& probabilities) {
  double all = 0, chi_square = 0;
  for (const double c : counts) all += c;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * probabilities[i];
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const double freedom = double(counts.size()) - 1;
  CAPTURE(chi_square);
  const bool good = std::fabs(chi_square - freedom) < 5 * std::sqrt(2 * freedom);
  CHECK(good);
  return good;
}
std::vector<double> equal_shares(std::size_t count) { return std::vector<double>(count, 1 / double(count)); }
double distribution(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

/// Mean, deviation, skewness, and kurtosis.
struct Moments {
  double mean = 0, deviation = 0, skewness = 0, kurtosis = 0;
  template <class V>
  explicit Moments(const V& x) {
    const double n = double(x.count());
    for (const auto v : x.values()) mean += double(v) / n;
    for (const auto v : x.values()) deviation += (double(v) - mean) * (double(v) - mean) / n;
    deviation = std::sqrt(deviation);
    for (const auto v : x.values()) {
      const double z = (double(v) - mean) / deviation;
      skewness += z * z * z / n, kurtosis += z * z * z * z / n;
    }
  }
};

/// f(x...) as a network, whose random calls have streams.
template <class F>
struct Net : nn::Cell<Net<F>> {
  constexpr auto construct(auto x) const { return F{}(x); }
};
/// Calls the network in both modes on all targets with one seed and one step; equal bits. Returns the result.
template <class F, class X>
auto in_all_modes(F, const X& x, std::uint64_t seed = 1) {
  const Net<F> net;
  const auto call = [&](Mode mode, std::string_view target) {
    const ContextScope scope({.mode = mode, .device_target = target, .seed = seed});
    eager::Frame::free_random_state()[1] = 41;
    return net(x);
  };
  const auto y = call(Mode::graph, "CPU");
  CHECK(support::same_bits(call(Mode::pynative, "CPU"), y));
#if defined(TENON_TARGET)
  CHECK(support::same_bits(call(Mode::graph, OtherTarget::name), y));
  CHECK(support::same_bits(call(Mode::pynative, OtherTarget::name), y));
#endif
  return y;
}
constexpr long many = 300;
const auto batch = Tensor<float, Shape<dyn>>::zeros(many);

}  // namespace

TEST_CASE("random numbers: known words of Philox4x32-10") {
  // Random123's vectors for the key 0: the stream whose hash with the seed 0 is 0
  constexpr std::uint64_t stream = -(0x9e3779b97f4a7c15ull * 0xd1342543de82ef95ull);
  static_assert(hash_number(stream, 0) == 0);
  const auto words = draw<RandomKind::word, std::int32_t, Shape<64>>(0, 0, stream);
  CHECK(std::uint32_t(words.data()[0]) == 0x6627e8d5u);
  CHECK(std::uint32_t(words.data()[16]) == 0xe169c58du);
  CHECK(std::uint32_t(words.data()[32]) == 0xbc57ac4cu);
  CHECK(std::uint32_t(words.data()[48]) == 0x9b00dbd8u);
  const auto uniform = draw<RandomKind::uniform, float, Shape<17>>(0, 0, stream);
  CHECK(uniform.data()[0] == float(0x6627e8) * 0x1p-24f);
  CHECK(uniform.data()[16] == float(0xe169c5) * 0x1p-24f);
  // Box and Muller's formula in double
  const auto normal = draw<RandomKind::normal, double, Shape<64>>(0, 0, stream);
  const double u = double(0x6627e8) / 0x1p24, v = double(0xe169c5) / 0x1p24, turn = 2 * 3.14159265358979323846 * v;
  CHECK(normal.data()[0] == doctest::Approx(std::sqrt(-2 * std::log(1 - u)) * std::cos(turn)).epsilon(1e-6));
  CHECK(normal.data()[16] == doctest::Approx(std::sqrt(-2 * std::log(1 - u)) * std::sin(turn)).epsilon(1e-6));
}

TEST_CASE("random numbers: seed, step, and stream change them; threads, batch size, and dtype do not") {
  const auto first = draw<RandomKind::normal, float, Shape<dyn, 100>>(1, 2, 3, 77);
  for (const auto& other : {draw<RandomKind::normal, float, Shape<dyn, 100>>(2, 2, 3, 77),
                            draw<RandomKind::normal, float, Shape<dyn, 100>>(1, 3, 3, 77),
                            draw<RandomKind::normal, float, Shape<dyn, 100>>(1, 2, 4, 77)}) {
    double product = 0;
    for (long i = 0; i < first.count(); ++i) product += double(first.data()[i]) * double(other.data()[i]);
    CHECK(std::fabs(product) < 5 * std::sqrt(double(first.count())));
  }
  const auto wide = draw<RandomKind::normal, double, Shape<dyn, 100>>(1, 2, 3, 50);
  const auto half = draw<RandomKind::normal, bfloat16, Shape<dyn, 100>>(1, 2, 3, 50);
  bool same = true;
  for (long i = 0; i < wide.count(); ++i)
    same &= float(wide.data()[i]) == first.data()[i] && float(half.data()[i]) == float(bfloat16(first.data()[i]));
  CHECK(same);
  const ContextScope four({.num_threads = 4});
  CHECK(support::same_bits(draw<RandomKind::normal, float, Shape<dyn, 100>>(1, 2, 3, 77), first));
}

TEST_CASE("uniform and randint: equal shares") {
  const auto x = draw<RandomKind::uniform, float, Shape<dyn, 100>>(1, 2, 3, many);
  std::vector<double> counts(32), integers(7);
  for (const float v : x.values()) {
    REQUIRE((v >= 0 && v < 1));
    ++counts[std::size_t(v * 32)];
  }
  fits(counts, equal_shares(32));
  const auto y = draw<RandomKind::integer, std::int64_t, Shape<dyn, 100>, -3, 7>(1, 2, 3, many);
  for (const auto v : y.values()) ++integers[std::size_t(v + 3)];
  fits(integers, equal_shares(7));
}

TEST_CASE("standard_normal: moments and shares of its distribution") {
  const auto x = draw<RandomKind::normal, float, Shape<dyn, 400>>(5, 6, 7, many);
  const Moments of(x);
  const double n = double(x.count());
  CHECK(std::fabs(of.mean) < 5 / std::sqrt(n));
  CHECK(std::fabs(of.deviation - 1) < 5 / std::sqrt(2 * n));
  CHECK(std::fabs(of.skewness) < 5 * std::sqrt(6 / n));
  CHECK(std::fabs(of.kurtosis - 3) < 5 * std::sqrt(24 / n));
  std::vector<double> counts(26), shares;
  for (int i = -12; i <= 13; ++i)
    shares.push_back((i == 13 ? 1 : distribution(i / 4.0)) - (i == -12 ? 0 : distribution((i - 1) / 4.0)));
  for (const float v : x.values()) ++counts[std::size_t(std::clamp(int(std::ceil(v * 4)), -12, 13) + 12)];
  fits(counts, shares);
}

TEST_CASE("truncated_normal: within two deviations, shares of its distribution") {
  const auto x = draw<RandomKind::truncated_normal, float, Shape<dyn, 400>>(5, 6, 7, many);
  const auto plain = draw<RandomKind::normal, float, Shape<dyn, 400>>(5, 6, 7, many);
  std::vector<double> counts(16), shares;
  const double all = distribution(2) - distribution(-2);
  for (int i = -8; i < 8; ++i) shares.push_back((distribution((i + 1) / 4.0) - distribution(i / 4.0)) / all);
  bool kept = true;
  for (long i = 0; i < x.count(); ++i) {
    const float v = x.data()[i], before = plain.data()[i];
    REQUIRE(std::fabs(v) <= 2);
    kept &= std::fabs(before) > 2 || v == before;
    ++counts[std::size_t(std::min(int(std::floor(v * 4)), 7) + 8)];
  }
  CHECK(kept);
  fits(counts, shares);
}

TEST_CASE("operators of random numbers draw the same in both modes and on all targets") {
  const auto x = support::tensor_of<float, Shape<dyn>>({1, 2, 3, 4, 5});
  const auto two = in_all_modes(
      [](const auto& v) {
        return normal<Shape<dyn, 70>>(v, 1, expand_dims<1>(v)) + uniform<Shape<dyn, 70>>(v, -1, 1) * 2 -
               truncated_normal<Shape<dyn, 70>>(v);
      },
      x);
  CHECK(two.n() == 5);
  const auto twice = in_all_modes([](const auto& v) { return randn_like(v) - randn_like(v); }, batch);
  CHECK(Moments(twice).deviation == doctest::Approx(std::sqrt(2.0)).epsilon(0.2));  // two streams
  CHECK(!support::same_bits(in_all_modes([](const auto& v) { return rand_like(v); }, batch, 1),
                            in_all_modes([](const auto& v) { return rand_like(v); }, batch, 2)));
}

TEST_CASE("normal: gradients flow to mean and deviation") {
  const auto loss = [](const auto& m) { return reduce_sum(normal<Shape<dyn, 4>>(m, m, 1)); };
  const auto gradient = grad(loss)(Tensor<float, Shape<dyn, 4>>::zeros(2));
  for (const float g : gradient.values()) CHECK(g == 1);
}

TEST_CASE("bernoulli: ones with their probability") {
  const auto counts = [](const auto& y) {
    double ones = 0;
    for (const auto v : y.values()) {
      REQUIRE((float(v) == 0 || float(v) == 1));
      ones += double(v);
    }
    return ones / double(y.count());
  };
  const auto y = in_all_modes([](const auto& v) { return bernoulli(full<Shape<dyn, 50>>(v, 0.3)); }, batch);
  CHECK(std::fabs(counts(y) - 0.3) < 5 * std::sqrt(0.21 / double(y.count())));
  CHECK(counts(in_all_modes([](const auto& v) { return bernoulli(v, 0); }, batch)) == 0);
  CHECK(counts(in_all_modes([](const auto& v) { return bernoulli(v, 1); }, batch)) == 1);
  const auto wide = Tensor<double, Shape<dyn, 50>>::full(0.75, many);
  CHECK(std::fabs(counts(bernoulli(wide)) - 0.75) < 5 * std::sqrt(0.19 / double(wide.count())));
  const auto half = Tensor<bfloat16, Shape<dyn, 50>>::full(bfloat16(0.75f), many);
  CHECK(std::fabs(counts(bernoulli(half)) - 0.75) < 5 * std::sqrt(0.19 / double(half.count())));
}

TEST_CASE("multinomial and random_categorical: shares of the probabilities, none of what has 0") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto row = support::tensor_of<float, Shape<5>>({2, 0, 1, 4, 3});
  const auto p = zeros<Shape<dyn, 5>>(batch) + row;
  std::vector<double> counts(5);
  const auto shares = [&](const auto& drawn) {
    counts.assign(5, 0);
    for (const auto index : drawn.values()) ++counts[std::size_t(index)];
    CHECK(counts[1] == 0);
    return fits({counts[0], counts[2], counts[3], counts[4]}, {0.2, 0.1, 0.4, 0.3});
  };
  CHECK(shares(in_all_modes([](const auto& v) { return multinomial<40>(v); }, p)));
  CHECK(shares(in_all_modes([](const auto& v) { return random_categorical<40>(log(v)); }, p)));
  const auto one = random_categorical(support::tensor_of<double, Shape<1, 3>>({-inf, 0, -inf}));
  CHECK((one.data()[0] == 1 && one.dims.rank == 2 && one.dims[1] == 1));
}

TEST_CASE("multinomial without replacement: each class once, the first by its probability") {
  const auto p = zeros<Shape<dyn, 4>>(batch) + support::tensor_of<float, Shape<4>>({2, 1, 4, 3});
  const auto drawn = in_all_modes([](const auto& v) { return multinomial<4, false>(v); }, p);
  std::vector<double> first(4);
  for (long row = 0; row < many; ++row) {
    unsigned seen = 0;
    for (long k = 0; k < 4; ++k) seen |= 1u << drawn.data()[row * 4 + k];
    REQUIRE(seen == 15);
    ++first[std::size_t(drawn.data()[row * 4])];
  }
  fits(first, {0.2, 0.1, 0.4, 0.3});
}

TEST_CASE("randperm: each number once, at each place alike") {
  std::vector<double> at_first(6);
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const ContextScope scope({.seed = seed});
    const auto order = randperm<6>(batch);
    std::vector<std::int32_t> sorted(order.values().begin(), order.values().end());
    ++at_first[std::size_t(sorted[0])];
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 6; ++i) REQUIRE(sorted[std::size_t(i)] == i);
  }
  fits(at_first, equal_shares(6));
  in_all_modes([](const auto& v) { return randperm<100>(v); }, batch);
}

#if !defined(TENON_TARGET)
TEST_CASE("the turns of a loop draw different numbers, the same ones in both modes") {
  const auto y = in_all_modes(
      [](const auto& v) {
        const auto [last, all] = scan(
            [](auto h, auto t) {
              auto drawn = rand_like(h) + t;
              return std::tuple(drawn, drawn);
            },
            v, zeros<Shape<dyn, 3>>(v));
        return all;
      },
      batch);
  const auto at = [&](long row, long turn) { return y.data()[row * 3 + turn]; };
  double same = 0, product = 0;
  for (long row = 0; row < many; ++row) {
    same += (at(row, 0) == at(row, 1)) + (at(row, 1) == at(row, 2));
    product += (double(at(row, 0)) - 0.5) * (double(at(row, 1)) - 0.5);
  }
  CHECK(same < 3);
  CHECK(std::fabs(product) < 5 * std::sqrt(double(many)) / 12);
}
#endif

TEST_CASE("random numbers: what does not fit is one sentence") {
  using support::refusal;
  using support::type;
  const TensorType state = type<std::uint64_t, 2>(), x = type<float, 3>();
  CHECK(refusal<RandomNumbers>(RandomNumbers::of(RandomKind::uniform, type<float, dyn, 2>()), {x, state}) ==
        "random numbers [n,2] need an operand that has a batch size, got [3]");
  CHECK(refusal<RandomNumbers>(RandomNumbers::of(RandomKind::normal, type<std::int32_t, 2>()), {x, state}) ==
        "random numbers are floating-point, not int32");
  CHECK(refusal<RandomNumbers>(RandomNumbers::of(RandomKind::integer, type<float, 2>(), 0, 4), {x, state}) ==
        "random integers are int32 or int64, not float32");
}

TEST_CASE("random numbers: a seed that is set again gives the same numbers again, in other threads, too") {
  const auto draws = [] {
    std::vector<float> drawn;
    for (int i = 0; i < 3; ++i) drawn.push_back(rand_like(Tensor<float, Shape<>>::zeros()).item());
    return drawn;
  };
  const auto in_a_thread = [&] {
    std::vector<float> drawn;
    std::thread([&] { drawn = draws(); }).join();
    return drawn;
  };
  const std::uint64_t before = get_context().seed;
  set_context({.seed = 3});
  const auto first = draws(), second = draws();
  CHECK(first != second);
  set_context({.seed = 3});
  CHECK(draws() == first);
  CHECK(in_a_thread() == first);
  set_context("seed", "3");
  CHECK(draws() == first);
  set_context({.num_threads = get_context().num_threads});  // another setting changes nothing
  CHECK(draws() == second);
  set_context({.seed = before});
}

TEST_CASE("random numbers: after a ContextScope with a seed none comes twice") {
  const auto draw = [] { return rand_like(Tensor<float, Shape<>>::zeros()).item(); };
  const std::uint64_t before = get_context().seed;
  set_context({.seed = 4});
  std::vector<float> own{draw(), draw(), draw()};
  {
    const ContextScope scope({.seed = 5});
    draw();
    {
      const ContextScope inner({.seed = 4});
      CHECK(draw() == own[0]);
    }
    draw();
  }
  for (int i = 0; i < 6; ++i) {
    const float next = draw();
    CHECK(std::find(own.begin(), own.end(), next) == own.end());
    own.push_back(next);
  }
  set_context({.seed = before});
}
