// Dropout: rate, scale, masks, and the gradient through the same mask.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/dropout.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::random_tensor;

namespace {

using Number1 = Tensor<float, Shape<>>;
template <class T, class S>
Tensor<T, S> ones(long n = 1) {
  return Tensor<T, S>::full(T(1), n);
}

// One call with a chosen seed, step, and stream.
template <class T, class S>
Tensor<T, S> dropped(const Tensor<T, S>& x, float rate, std::uint64_t seed, std::uint64_t step, std::uint64_t stream) {
  Tensor<std::uint64_t, Shape<2>> state = Tensor<std::uint64_t, Shape<2>>::empty();
  state.data()[0] = seed, state.data()[1] = step;
  return apply_with<ops::Dropout>({}, stream, x, Number1::full(rate), state);
}

}  // namespace

TEST_CASE("dropout: the fraction that it drops and the scale of the rest") {
  const auto x = ones<float, Shape<dyn, 1000>>(1000);
  for (float rate : {0.0f, 0.1f, 0.5f, 0.75f}) {
    CAPTURE(rate);
    const auto y = dropped(x, rate, 1, 2, 3);
    double kept = 0, sum = 0;
    for (float v : y.values()) {
      REQUIRE((v == 0 || v == 1 / (1 - rate)));
      kept += v != 0, sum += v;
    }
    CHECK(std::fabs(kept / 1e6 - (1 - rate)) < 0.0025);  // five standard deviations
    CHECK(std::fabs(sum / 1e6 - 1) < 0.01);
    if (rate == 0) CHECK(kept == 1e6);
  }
}

TEST_CASE("dropout: rows and columns are dropped alike, neighbours independently") {
  const auto y = dropped(ones<float, Shape<dyn, 1000>>(1000), 0.5f, 1, 2, 3);
  const auto kept = [&](long i) { return y.data()[i] != 0; };
  for (long distance : {1, 15, 16, 17, 64, 1000}) {
    CAPTURE(distance);
    long both = 0;
    for (long i = 0; i + distance < 1000000; ++i) both += kept(i) && kept(i + distance);
    CHECK(std::fabs(double(both) / 1e6 - 0.25) < 0.0025);
  }
  for (long column = 0; column < 1000; ++column) {
    long count = 0;
    for (long row = 0; row < 1000; ++row) count += kept(row * 1000 + column);
    CHECK(std::labs(count - 500) < 100);
  }
}

TEST_CASE(
    "dropout: seed, step, and stream each change the mask; the same three give the same on any number of threads") {
  const auto x = ones<float, Shape<dyn, 100>>(777);
  const auto first = dropped(x, 0.5f, 1, 2, 3);
  const auto agreement = [&](const auto& other) {
    double same = 0;
    for (long i = 0; i < first.count(); ++i) same += first.data()[i] == other.data()[i];
    return same / double(first.count());
  };
  CHECK(std::fabs(agreement(dropped(x, 0.5f, 2, 2, 3)) - 0.5) < 0.01);
  CHECK(std::fabs(agreement(dropped(x, 0.5f, 1, 3, 3)) - 0.5) < 0.01);
  CHECK(std::fabs(agreement(dropped(x, 0.5f, 1, 2, 4)) - 0.5) < 0.01);
  const ContextScope four({.num_threads = 4});
  CHECK(support::same_bits(first, dropped(x, 0.5f, 1, 2, 3)));
}

TEST_CASE("dropout: the mask of a sample does not depend on the batch") {
  const auto few = dropped(ones<float, Shape<dyn, 33>>(2), 0.5f, 1, 2, 3),
             many = dropped(ones<float, Shape<dyn, 33>>(50), 0.5f, 1, 2, 3);
  CHECK(std::memcmp(few.data(), many.data(), 66 * sizeof(float)) == 0);
}

TEST_CASE("dropout: outside of a network every call draws anew, and the gradient goes through its mask") {
  const auto x = random_tensor<float, Shape<dyn, 50>>(1, 1, 2, 20);
  const auto rate = Number1::full(0.25f);
  eager::Tape tape;
  tape.watch(x);
  const auto once = ops::dropout(x, rate), again = ops::dropout(x, rate);
  CHECK(!support::same_bits(once, again));
  tape.backward(once);
  const auto gradient = tape.gradient(x);
  for (long i = 0; i < x.count(); ++i) CHECK(gradient.data()[i] == (once.data()[i] == 0 ? 0.0f : 1 / (1 - 0.25f)));
}

TEST_CASE("dropout: 16-bit and double values, and what is infinite stays out of a dropped element") {
  const auto half = dropped(ones<float16, Shape<640>>(), 0.5f, 1, 2, 3);
  const auto wide = dropped(ones<double, Shape<640>>(), 0.5f, 1, 2, 3);
  const auto infinite = dropped(Tensor<float, Shape<640>>::full(INFINITY), 0.5f, 1, 2, 3);
  for (long i = 0; i < 640; ++i) {
    CHECK(float(half.data()[i]) == float(wide.data()[i]));
    CHECK(infinite.data()[i] == (wide.data()[i] == 0 ? 0 : INFINITY));
  }
}

TEST_CASE("dropout: bad operands") {
  Sentence error;
  ops::Dropout::shape({{type_of<int, Shape<3>>, type_of<float, Shape<>>, type_of<std::uint64_t, Shape<2>>}, 3}, {},
                      error);
  CHECK(error.view() == "Dropout needs a floating-point operand, got int32 [3]");
  error = {};
  ops::Dropout::shape({{type_of<float, Shape<3>>, type_of<double, Shape<>>, type_of<std::uint64_t, Shape<2>>}, 3}, {},
                      error);
  CHECK(error.view() == "Dropout needs its rate as one float32, got float64 []");
}
