// Rotary positions: numbers of PyTorch in both forms, with an offset; gradients; attention with a cache; what is
// refused.
#include <cmath>

#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;

namespace {

constexpr RotaryForm apart = RotaryForm::half, paired = RotaryForm::interleaved;

/// The table of angles of a cell.
template <class T, int Length, int Features>
auto angles() {
  auto table = Tensor<T, Shape<Length, Features>>::empty();
  nn::detail::RotaryTable{}.fill(table.data(), table.dims, 0);
  return table;
}
/// Element i is ((37 i + 55) mod 101 - 50) / 100.
template <class T, class S>
auto filled(long n = 1) {
  auto x = Tensor<T, S>::empty(n);
  for (long i = 0; i < x.count(); ++i) x.data()[i] = T((double((37 * i + 55) % 101) - 50) / 100);
  return x;
}
template <class T, class X, std::size_t N>
void check_last_row(const X& y, const double (&expected)[N], double bound) {
  for (std::size_t i = 0; i < N; ++i) {
    CAPTURE(i);
    CHECK(std::fabs(double(y.data()[y.count() - long(N) + long(i)]) - expected[i]) <= bound);
  }
}

}  // namespace

TEST_CASE("rotary_embedding has the numbers of PyTorch 2, from position 0 and from position 5") {
  // x [1, 3, 2, 6] in double; half: x cos + rotate_half(x) sin as in Hugging Face; interleaved: torchtune's formula
  constexpr double halves[]{0.121141339,  0.180359252, -0.428574086, -0.120518778, 0.328131895,  -0.331849745,
                            -0.143947513, 0.454583882, -0.229437714, -0.02188866,  -0.459840727, -0.13098983};
  constexpr double neighbours[]{-0.124368966, -0.232878424, -0.422586606, -0.0996020088, 0.311419045,  -0.328661191,
                                -0.389457818, -0.134248306, -0.241987462, 0.118076536,   -0.499435207, -0.132153221};
  constexpr double halves_at_5[]{-0.0812051648, 0.100052963, -0.424974546, -0.150351991, 0.360817689,  -0.336447076,
                                 -0.0618220336, 0.548160745, -0.228013384, 0.13182578,   -0.342957429, -0.133453725};
  constexpr double neighbours_at_5[]{-0.258591546, 0.0532016176, -0.388348522, -0.194127344, 0.314941303, -0.325287527,
                                     -0.239208415, 0.335379388,  -0.262657638, 0.0592534004, -0.49798268, -0.137525452};
  const auto compare = [&]<class T>(T, double bound) {
    const auto x = filled<T, Shape<1, 3, 12>>();
    const auto table = angles<T, 8, 6>();
    const auto at = support::tensor_of<std::int32_t, Shape<1>>({5});
    using support::both_modes;
    check_last_row<T>(both_modes([](const auto& v, const auto& t) { return rotary_embedding(v, t); }, x, table).result,
                      halves, bound);
    check_last_row<T>(
        both_modes([](const auto& v, const auto& t) { return rotary_embedding<paired>(v, t); }, x, table).result,
        neighbours, bound);
    check_last_row<T>(
        both_modes([](const auto& v, const auto& t, const auto& p) { return rotary_embedding(v, t, p); }, x, table, at)
            .result,
        halves_at_5, bound);
    check_last_row<T>(
        both_modes([](const auto& v, const auto& t, const auto& p) { return rotary_embedding<paired>(v, t, p); }, x,
                   table, at)
            .result,
        neighbours_at_5, bound);
  };
  compare(float(), 1e-7);
  compare(double(), 1e-9);
}

TEST_CASE("rotary_embedding: batches, 16-bit floats, long heads") {
  const auto x = filled<bfloat16, Shape<dyn, 4, 64>>(3);
  const auto table = angles<float, 20, 32>();
  const auto at = support::tensor_of<std::int64_t, Shape<dyn>>({0, 16, 3});
  const auto y =
      support::both_modes([](const auto& v, const auto& t, const auto& p) { return rotary_embedding<apart>(v, t, p); },
                          x, table, at)
          .result;
  const auto wide = rotary_embedding<apart>(filled<float, Shape<dyn, 4, 64>>(3), table, at);
  for (long i = 0; i < y.count(); ++i) CHECK(std::fabs(float(y.data()[i]) - wide.data()[i]) < 0.006f);
}

TEST_CASE("rotary_embedding: gradients against central differences") {
  const auto table = angles<double, 8, 4>();
  const auto at = support::tensor_of<std::int32_t, Shape<dyn>>({1, 5});
  const auto x = filled<double, Shape<dyn, 3, 8>>(2);
  support::check_gradients([&](const auto& v) { return rotary_embedding(v, table, at); }, x);
  support::check_gradients([&](const auto& v) { return rotary_embedding<paired>(v, table); }, x);
}

namespace {
template <RotaryForm form>
struct Attention : nn::Cell<Attention<form>> {
  nn::Dense<16, 16> query, key, value;
  nn::RotaryEmbedding<12, 8, nn::RotaryEmbeddingConfig{.form = form}> rotary;
  nn::KeyValueCache<1, 12, 16> cache;
  constexpr auto construct(auto x) const {
    return attention<AttentionConfig{.heads = 2, .causal = true}>(rotary(query(x)), rotary(key(x)), value(x));
  }
  constexpr auto construct(auto x, auto at) const {
    return cached_attention<AttentionConfig{.heads = 2}>(rotary(query(x), at), rotary(key(x), at), value(x), at, cache);
  }
};
template <RotaryForm form>
void compare_cached() {
  const auto x = support::random_tensor<float, Shape<1, 12, 16>>(1, -1, 1);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 3});
    const Attention<form> net;
    const auto all = net(x);
    bool same = true;
    for (std::int32_t t = 0; t < 12; ++t) {
      auto token = Tensor<float, Shape<1, 1, 16>>::empty();
      std::copy_n(x.data() + t * 16, 16, token.data());
      const auto y = net(token, support::tensor_of<std::int32_t, Shape<1>>({t}));
      same &= std::memcmp(y.data(), all.data() + t * 16, 16 * sizeof(float)) == 0;
    }
    CHECK(same);
    CHECK(net.parameters_dict().size() == 6);  // neither the table nor the cache
  }
}
}  // namespace

TEST_CASE("attention with rotary positions and a cache: the bits of the whole sequence") {
  compare_cached<apart>();
  compare_cached<paired>();
}

TEST_CASE("rotary_embedding: scores depend on the distance of query and key alone") {
  const auto q = filled<double, Shape<1, 1, 8>>(), k = filled<double, Shape<1, 1, 8>>() * 0.5 + 0.1;
  const auto table = angles<double, 30, 8>();
  const auto score = [&](std::int32_t i, std::int32_t j) {
    const auto turned = [&](const auto& v, std::int32_t p) {
      return rotary_embedding(v, table, support::tensor_of<std::int32_t, Shape<1>>({p}));
    };
    return reduce_sum(turned(q, i) * turned(k, j)).item();
  };
  CHECK(score(7, 3) == doctest::Approx(score(24, 20)).epsilon(1e-12));
  CHECK(score(7, 3) != doctest::Approx(score(7, 4)).epsilon(1e-3));
}

TEST_CASE("rotary_embedding: what does not fit is one sentence") {
  using ops::RotaryEmbedding;
  using support::refusal;
  using support::type;
  CHECK(refusal<RotaryEmbedding>({}, {type<std::int32_t, dyn, 3, 8>(), type<float, 8, 4>()}) ==
        "RotaryEmbedding needs floating-point x [...,T,Features] of a fixed length, got int32 [n,3,8]");
  CHECK(refusal<RotaryEmbedding>({}, {type<float, dyn, 9, 8>(), type<float, 8, 4>()}) ==
        "RotaryEmbedding got [n,9,8] and a table [8,4], which needs 9 rows or more, and an even number of columns that "
        "divides 8");
  CHECK(refusal<RotaryEmbedding>({}, {type<double, dyn, 3, 8>(), type<float, 8, 4>()}) ==
        "RotaryEmbedding of float64 got a table of float32");
  CHECK(refusal<RotaryEmbedding>({}, {type<float, dyn, 3, 8>(), type<float, 8, 4>(), type<float, dyn>()}) ==
        "RotaryEmbedding of [n,3,8] needs the position of each sequence as int32 or int64, got float32 [n]");
  const auto at = support::tensor_of<std::int32_t, Shape<dyn>>({0, 7});
  CHECK_THROWS_WITH_AS(rotary_embedding(filled<float, Shape<dyn, 2, 8>>(2), angles<float, 8, 4>(), at),
                       doctest::Contains("RotaryEmbedding: position 7 at [1] is outside of 0 .. 6, the 7 places for "
                                         "this many tokens in the table [8,4]"),
                       ValueError);
}
