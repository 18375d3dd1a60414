// Attention: the bits of the operators that it stands for, numbers of PyTorch, gradients, threads, what is refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/context.hpp>
#include <tenon/ops/ops.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {

constexpr AttentionConfig causal4{.heads = 4, .causal = true};

template <int heads, class X>
constexpr auto heads_of(const X& x) {
  return transpose<0, 2, 1, 3>(reshape<Shape<X::dims[0], X::dims[1], heads, X::dims[2] / heads>>(x));
}
constexpr double root(double x) {
  double r = x;
  for (int i = 0; i < 60; ++i) r = (r + x / r) / 2;
  return r;
}
/// Attention written with other operators.
template <int heads, bool causal>
constexpr auto written_out(const auto& q, const auto& k, const auto& v) {
  using Q = std::remove_cvref_t<decltype(q)>;
  using T = typename Q::type;
  const auto scores =
      ops::matmul<Transposed::second>(heads_of<heads>(q), heads_of<heads>(k)) * (T(1) / T(root(Q::dims[2] / heads)));
  const auto sum = [&](const auto& s) {
    return reshape<Shape<Q::dims[0], Q::dims[1], Q::dims[2]>>(
        transpose<0, 2, 1, 3>(ops::matmul(softmax(s), heads_of<heads>(v))));
  };
  if constexpr (causal) return sum(causal_mask(scores));
  else return sum(scores);
}

/// Result and gradients of attention have the bits of the formula written out, in both modes.
template <class T, int queries, int keys, int heads, int width, bool causal>
void check_bits(long n) {
  CAPTURE(queries);
  CAPTURE(keys);
  CAPTURE(width);
  const auto q = random_tensor<T, Shape<dyn, queries, heads * width>>(1, -2, 2, n);
  const auto k = random_tensor<T, Shape<dyn, keys, heads * width>>(2, -2, 2, n),
             v = random_tensor<T, Shape<dyn, keys, heads * width>>(3, -2, 2, n);
  const auto own = both_modes(
      [](const auto& a, const auto& b, const auto& c) {
        return ops::attention<AttentionConfig{.heads = heads, .causal = causal}>(a, b, c);
      },
      q, k, v);
  const auto expected = both_modes(
      [](const auto& a, const auto& b, const auto& c) { return written_out<heads, causal>(a, b, c); }, q, k, v);
  CHECK(same_bits(own.result, expected.result));
  CHECK(same_bits(std::get<0>(own.gradient), std::get<0>(expected.gradient)));
  CHECK(same_bits(std::get<1>(own.gradient), std::get<1>(expected.gradient)));
  CHECK(same_bits(std::get<2>(own.gradient), std::get<2>(expected.gradient)));
  CHECK(std::get<1>(own.gradient).data()[0] != 0);
}

}  // namespace

TEST_CASE("the bits of matmul, mul, causal_mask, softmax, matmul, and of their gradients") {
  check_bits<float, 40, 40, 2, 64, true>(2);
  check_bits<float, 301, 301, 3, 5, true>(2);  // sums of several segments
  check_bits<float, 7, 7, 1, 16, true>(1);
  check_bits<double, 150, 150, 2, 6, true>(2);
  check_bits<float, 35, 50, 2, 24, false>(2);
  check_bits<float, 1, 3, 2, 3, false>(3);
  check_bits<float, 270, 300, 1, 16, false>(1);  // keys far apart
  check_bits<float, 3, 2100, 1, 4, false>(1);    // sums of several pieces
  check_bits<float, 1100, 1100, 1, 3, true>(1);
}

TEST_CASE("queries, keys, and values in one tensor, or in three") {
  const auto qkv = random_tensor<float, Shape<dyn, 21, 60>>(1, -2, 2, 3);
  const auto one = both_modes([](const auto& x) { return ops::attention<causal4>(x); }, qkv);
  const auto three = both_modes(
      [](const auto& x) {
        return ops::attention<causal4>(ops::slice<-1, Part{0, 20}>(x), ops::slice<-1, Part{20, 40}>(x),
                                       ops::slice<-1, Part{40, 60}>(x));
      },
      qkv);
  CHECK(same_bits(one.result, three.result));
  CHECK(same_bits(std::get<0>(one.gradient), std::get<0>(three.gradient)));
}

TEST_CASE("gradients in double") {
  check_gradients([](const auto& x) { return ops::attention<AttentionConfig{.heads = 2, .causal = true}>(x); },
                  random_tensor<double, Shape<2, 5, 12>>(1, -2, 2));
  check_gradients([](const auto& q, const auto& k,
                     const auto& v) { return ops::attention<AttentionConfig{.heads = 2, .scale = 0.7f}>(q, k, v); },
                  random_tensor<double, Shape<dyn, 3, 6>>(1, -2, 2), random_tensor<double, Shape<dyn, 4, 6>>(2, -2, 2),
                  random_tensor<double, Shape<dyn, 4, 6>>(3, -2, 2));
}

TEST_CASE("equal bits on four threads, and for each sample alone") {
  const auto x = random_tensor<float, Shape<dyn, 80, 192>>(1, -2, 2, 3);
  const auto f = [](const auto& v) { return ops::attention<causal4>(v); };
  const ContextScope one({.num_threads = 1});
  const auto single = both_modes(f, x);
  const ContextScope four({.num_threads = 4});
  const auto shared = both_modes(f, x);
  CHECK(same_bits(single.result, shared.result));
  CHECK(same_bits(std::get<0>(single.gradient), std::get<0>(shared.gradient)));
  auto alone = Tensor<float, Shape<dyn, 80, 192>>::empty(1);
  std::memcpy(alone.data(), x.data() + 80 * 192, 80 * 192 * sizeof(float));
  const auto y = f(alone);
  CHECK(std::memcmp(y.data(), single.result.data() + 80 * 64, 80 * 64 * sizeof(float)) == 0);
}

TEST_CASE("equal bits on four threads, also where a value that is infinite meets weights of 0") {
  auto x = random_tensor<float, Shape<1, 200, 192>>(1, -2, 2, 3);
  for (const long key : {67, 130, 190}) x.data()[key * 192 + 150] = std::numeric_limits<float>::infinity();
  const auto f = [](const auto& v) { return ops::attention<causal4>(v); };
  const ContextScope one({.num_threads = 1});
  const auto single = f(x);
  const ContextScope four({.num_threads = 4});
  const auto shared = f(x);
  CHECK(std::memcmp(single.data(), shared.data(), std::size_t(single.count()) * sizeof(float)) == 0);
}

TEST_CASE("scratch memory grows with the length, not with its square") {
  const auto bytes = [](long length) {
    return kernel::detail::attention_scratch<float>({length, length, 64, true}, true).total;
  };
  CHECK(bytes(4096) < 4096 * 4096 * sizeof(float) / 4);  // with AVX-512, whose rows are padded most, a seventh
  CHECK(bytes(8192) < 5 * bytes(2048));
}

TEST_CASE("16-bit floats are computed in float and rounded once") {
  const auto x = random_tensor<float16, Shape<dyn, 9, 24>>(1, -2, 2, 2);
  auto wide = Tensor<float, Shape<dyn, 9, 24>>::empty(2);
  for (long i = 0; i < x.count(); ++i) wide.data()[i] = float(x.data()[i]);
  const auto f = [](const auto& v) { return ops::attention<AttentionConfig{.heads = 2}>(v); };
  const auto y = both_modes(f, x).result;
  const auto expected = f(wide);
  for (long i = 0; i < y.count(); ++i) CHECK(y.data()[i].bits == float16(expected.data()[i]).bits);
}

namespace {
template <class T, int heads, int shared>
void check_shared(long n) {
  constexpr int width = 6;
  const auto q = random_tensor<T, Shape<dyn, 5, heads * width>>(1, -2, 2, n);
  const auto k = random_tensor<T, Shape<dyn, 5, shared * width>>(2, -2, 2, n),
             v = random_tensor<T, Shape<dyn, 5, shared * width>>(3, -2, 2, n);
  constexpr AttentionConfig config{.heads = heads, .causal = true};
  const auto own =
      both_modes([](const auto& a, const auto& b, const auto& c) { return ops::attention<config>(a, b, c); }, q, k, v);
  const auto expected = both_modes(
      [](const auto& a, const auto& b, const auto& c) {
        const auto all = [](const auto& x) {
          const auto by_head = reshape<Shape<dyn, 5, shared, 1, width>>(x);
          return reshape<Shape<dyn, 5, heads * width>>(
              broadcast_to<Shape<dyn, 5, shared, heads / shared, width>>(by_head));
        };
        return ops::attention<config>(a, all(b), all(c));
      },
      q, k, v);
  CHECK(same_bits(own.result, expected.result));
  CHECK(same_bits(std::get<0>(own.gradient), std::get<0>(expected.gradient)));
  CHECK(same_bits(std::get<1>(own.gradient), std::get<1>(expected.gradient)));
  CHECK(same_bits(std::get<2>(own.gradient), std::get<2>(expected.gradient)));
}
}  // namespace
TEST_CASE("heads of queries that share keys and values, of which each has a copy") {
  check_shared<float, 4, 2>(3);
  check_shared<float, 4, 1>(2);
  check_shared<double, 6, 3>(1);
  const auto q = random_tensor<float, Shape<5, 8>>(1, -2, 2, 5);  // one sample, without an axis for it
  const auto k = random_tensor<float, Shape<5, 4>>(2, -2, 2, 5);
  constexpr AttentionConfig config{.heads = 4};
  CHECK(same_bits(ops::attention<config>(q, k, k),
                  ops::attention<config>(q,
                                         concat<1>(slice<1, Part{0, 2}>(k), slice<1, Part{0, 2}>(k),
                                                   slice<1, Part{2, 4}>(k), slice<1, Part{2, 4}>(k)),
                                         concat<1>(slice<1, Part{0, 2}>(k), slice<1, Part{0, 2}>(k),
                                                   slice<1, Part{2, 4}>(k), slice<1, Part{2, 4}>(k)))));
}

TEST_CASE("what does not fit is said in one sentence") {
  const TensorType x = type_of<float, Shape<dyn, 8, 12>>, longer = type_of<float, Shape<dyn, 9, 12>>,
                   wider = type_of<float, Shape<dyn, 8, 24>>;
  CHECK(refusal<ops::Attention>({4, 1, 0}, {x}).empty());
  CHECK(refusal<ops::Attention>({5, 0, 0}, {x}) ==
        "Attention of 5 heads got [n,8,12]: its last extent must be a multiple of 15");
  CHECK(refusal<ops::Attention>({4, 0, 0}, {x, longer, longer}).empty());
  CHECK(refusal<ops::Attention>({4, 1, 0}, {x, longer, longer}) ==
        "causal Attention got queries [n,8,12] and keys [n,9,12], which must have one length");
  CHECK(refusal<ops::Attention>({4, 0, 0}, {x, wider, wider}) ==
        "Attention got queries [n,8,12] and keys [n,8,24], which may differ in their length only");
  CHECK(refusal<ops::Attention>({4, 0, 0}, {x, x, longer}) ==
        "Attention got keys [n,8,12] and values [n,9,12], which must have one shape");
  CHECK(refusal<ops::Attention>({4, 0, 0}, {x, longer, x}) ==
        "Attention got keys [n,9,12] and values [n,8,12], which must have one shape");
  CHECK(refusal<ops::Attention>({1, 0, 0}, {type_of<float, Shape<dyn, 12>>}) ==
        "Attention needs operands [...,length,features] of a fixed length, got [n,12]");
  CHECK(refusal<ops::Attention>({1, 0, 0}, {x.with(Dtype::int32)}) ==
        "Attention needs floating-point operands, got int32 [n,8,12]");
}
