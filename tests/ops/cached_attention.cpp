// Attention to a cache: the bits of causal attention of whole sequences, token by token and in pieces, for sequences of
// several lengths.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/shape_rule.hpp"
#include "../support/tensors.hpp"

using namespace tenon;

namespace {

template <int heads>
constexpr AttentionConfig causal{.heads = heads, .causal = true};

template <class T, int Batch, int Length, int Features, int heads>
struct Store : nn::Cell<Store<T, Batch, Length, Features, heads>> {
  nn::KeyValueCache<Batch, Length, Features, T> cache;
  constexpr auto construct(auto q, auto k, auto v, auto at) const {
    return cached_attention<causal<heads>>(q, k, v, at, cache);
  }
  constexpr auto construct(auto qkv, auto at) const { return cached_attention<causal<heads>>(qkv, at, cache); }
};

/// Calls f in each mode on each target that the program has.
template <class F>
void everywhere(F f) {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode});
    f();
#if defined(TENON_TARGET)
    const ContextScope there({.device_target = OtherTarget::name});
    f();
#endif
  }
}
/// Bits of the CPU, or, on a target that adds up in another way, numbers close to them.
template <class V>
bool agrees(const V& a, const V& b) {
#if defined(TENON_TARGET)
  using namespace support::detail;
  return std::conditional_t<support::has_bits_of_cpu<OtherTarget>, SameThere, Near>()(a, b);
#else
  return support::same_bits(a, b);
#endif
}
auto positions(std::initializer_list<std::int32_t> numbers) {
  return support::tensor_of<std::int32_t, Shape<2>>(numbers);
}
/// Tokens first .. first + tokens - 1 of both sequences.
template <int tokens, class T, int Length, int Features>
auto part(const Tensor<T, Shape<2, Length, Features>>& x, long first, long second) {
  auto y = Tensor<T, Shape<2, tokens, Features>>::zeros();
  for (long b = 0; b < 2; ++b)
    for (long t = 0; t < tokens; ++t)
      for (long f = 0, from = (b ? second : first) + t; f < Features && from < Length; ++f)
        y.data()[(b * tokens + t) * Features + f] = x.data()[(b * Length + from) * Features + f];
  return y;
}

template <class T, int Length, int Features, int heads, int prompt>
void compare() {
  using Sequence = Tensor<T, Shape<2, Length, Features>>;
  const auto q = support::random_tensor<T, Shape<2, Length, Features>>(1, -2, 2),
             k = support::random_tensor<T, Shape<2, Length, Features>>(2, -2, 2),
             v = support::random_tensor<T, Shape<2, Length, Features>>(3, -2, 2);
  const Sequence whole = ops::attention<causal<heads>>(q, k, v);
  everywhere([&] {
    const Store<T, 2, Length, Features, heads> store;
    CHECK(agrees(store(part<prompt>(q, 0, 0), part<prompt>(k, 0, 0), part<prompt>(v, 0, 0), positions({0, 0})),
                 part<prompt>(whole, 0, 0)));
    bool same = true;
    for (std::int32_t at = prompt; at < Length; ++at)
      same &= agrees(store(part<1>(q, at, at), part<1>(k, at, at), part<1>(v, at, at), positions({at, at})),
                     part<1>(whole, at, at));
    CHECK(same);
  });
}

}  // namespace

TEST_CASE("cached attention: the bits of causal attention, across the border of a chain of additions") {
  compare<float, 290, 20, 2, 251>();
  compare<double, 140, 6, 1, 120>();
  compare<bfloat16, 40, 24, 1, 8>();
  compare<float16, 24, 40, 4, 3>();
}

TEST_CASE("cached attention: queries, keys, and values in one tensor, a long row of features") {
  constexpr int length = 20, features = 300;
  const auto qkv = support::random_tensor<float, Shape<2, length, 3 * features>>(4, -0.5f, 0.5f);
  const auto whole = ops::attention<causal<1>>(qkv);
  everywhere([&] {
    const Store<float, 2, length, features, 1> store;
    for (std::int32_t at = 0; at < length; at += 5)
      CHECK(agrees(store(part<5>(qkv, at, at), positions({at, at})), part<5>(whole, at, at)));
  });
}

TEST_CASE("cached attention: sequences of several lengths, and a second text in the same cache") {
  constexpr int length = 12, features = 8;
  const auto q = support::random_tensor<float, Shape<2, length, features>>(5, -2, 2),
             k = support::random_tensor<float, Shape<2, length, features>>(6, -2, 2),
             v = support::random_tensor<float, Shape<2, length, features>>(7, -2, 2);
  const auto whole = ops::attention<causal<2>>(q, k, v);
  everywhere([&] {
    const Store<float, 2, length, features, 2> store;
    for (int text = 0; text < 2; ++text) {
      // the prompts have 6 and 3 tokens; the second is padded
      const auto prompt = store(part<6>(q, 0, 0), part<6>(k, 0, 0), part<6>(v, 0, 0), positions({0, 0}));
      CHECK(agrees(part<3>(prompt, 0, 0), part<3>(whole, 0, 0)));
      for (std::int32_t t = 0; t < 6; ++t)
        CHECK(agrees(store(part<1>(q, 6 + t, 3 + t), part<1>(k, 6 + t, 3 + t), part<1>(v, 6 + t, 3 + t),
                           positions({6 + t, 3 + t})),
                     part<1>(whole, 6 + t, 3 + t)));
    }
  });
}

TEST_CASE("cached attention: a token beyond the cache is one sentence") {
  const auto x = support::random_tensor<float, Shape<2, 3, 8>>(8, -1, 1);
  everywhere([&] {
    const Store<float, 2, 4, 8, 2> store;
    CHECK_THROWS_WITH_AS(store(x, x, x, positions({1, 2})),
                         doctest::Contains("KeyValueCache: position 2 at [1] is outside of 0 .. 1, the 2 places for "
                                           "this many tokens in the cache [2,8,4]. Correct the position, or begin "
                                           "again at 0, or make the cache longer."),
                         ValueError);
    CHECK_THROWS_AS(store(x, x, x, positions({-1, 0})), ValueError);
  });
}

TEST_CASE("cached attention: what does not fit is one sentence") {
  using support::refusal;
  using support::type;
  const TensorType values = type<float, 2, 4, 8>(), at = type<std::int32_t, 2>();
  const ops::UpdateCache::Config whole{0, 1, 0};
  CHECK(refusal<ops::UpdateCache>(whole, {values, type<float, 2, 4, 8>(), at}) == "");
  CHECK(refusal<ops::UpdateCache>(whole, {values, type<float, dyn, 1, 8>(), at}) ==
        "KeyValueCache of 2 sequences, 4 positions, and 8 features got [n,1,8], it needs [2,T,8]");
  CHECK(refusal<ops::UpdateCache>(whole, {values, type<float, 2, 5, 8>(), at}) ==
        "KeyValueCache of 4 positions got 5 at once [2,5,8]");
  CHECK(refusal<ops::UpdateCache>(whole, {values, type<bfloat16, 2, 1, 8>(), at}) ==
        "KeyValueCache of float32 got bfloat16 [2,1,8]: give the cache this dtype");
  CHECK(refusal<ops::UpdateCache>(whole, {values, type<float, 2, 1, 8>(), type<float, 2>()}) ==
        "KeyValueCache of 2 sequences needs the position of each as int32 or int64 [2], got float32 [2]");
  const ops::CachedAttention::Config heads{3, 1, 0};
  CHECK(refusal<ops::CachedAttention>(heads, {type<float, 2, 1, 8>(), type<float, 2, 8, 4>(), values, at}) ==
        "CachedAttention of 3 heads got a cache of 8 features, which must be a multiple of the heads");
}
