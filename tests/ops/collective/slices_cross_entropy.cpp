// Cross entropy of logits in slices against that of the whole logits: losses, gradients, special values, in both modes,
// and against differences. Ranks are threads.
// label: long
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include <tenon/dist/threads.hpp>
#include <tenon/ops/collective/slice_classes.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>

#include "../../support/error_of.hpp"
#include "../../support/shape_rule.hpp"
#include "checked.hpp"

using namespace tenon;
using support::error_of;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();
constexpr int classes = 12;

/// As `classes` logits of each of the rows.
template <class T>
using Whole = Tensor<T, Shape<dyn, classes>>;

struct Labels {
  using shape = Shape<7>;
  static constexpr std::int32_t values[]{0, 11, 5, 6, 3, 8, 2};
};
template <class T>
Whole<T> logits() {
  return support::random_tensor<T, Shape<dyn, classes>>(3, -4, 4, 7);
}
template <class I>
auto labels() {
  Tensor<I, Shape<dyn>> numbers = Tensor<I, Shape<dyn>>::zeros(7);
  for (long i = 0; i < 7; ++i) numbers.data()[i] = I(Labels::values[i]);
  return numbers;
}
template <int slices, class T>
auto slice_of(const Whole<T>& whole, int rank) {
  constexpr int own = classes / slices;
  auto slice = Tensor<T, Shape<dyn, own>>::zeros(whole.n());
  for (long row = 0; row < whole.n(); ++row)
    std::copy_n(whole.data() + row * classes + rank * own, own, slice.data() + row * own);
  return slice;
}
template <class F, class X, class Y>
X gradient(const F& f, const X& x, const Y& dy) {
  eager::Tape tape;
  tape.watch(x);
  tape.backward(f(x), dy);
  return tape.gradient(x);
}
/// Equal, both NaN, or nearer than `most`.
bool near(double a, double b, double most) { return a == b || std::abs(a - b) <= most || (a != a && b != b); }

/// Losses and gradients of `slices` ranks are those of the whole logits; `limits`: also where those are not finite.
template <int slices, class T, class I = std::int32_t>
void check(const Whole<T>& whole, double most) {
  const auto numbers = labels<I>();
  const auto expected = ops::softmax_cross_entropy(whole, numbers);
  const auto dy = support::random_tensor<T, Shape<dyn>>(5, -1, 1, 7);
  const auto slopes = gradient([&](const auto& x) { return ops::softmax_cross_entropy(x, numbers); }, whole, dy);
  dist::run_ranks(slices, [&](const dist::Communicator& ranks) {
    const auto f = [&](const auto& x) { return ops::cross_entropy_of_slices<slices>(x, numbers); };
    const auto x = slice_of<slices>(whole, ranks.rank());
    const auto loss = f(x);
    for (long i = 0; i < 7; ++i) REQUIRE(near(double(loss.data()[i]), double(expected.data()[i]), most));
    const auto own = gradient(f, x, dy), wanted = slice_of<slices>(slopes, ranks.rank());
    for (long i = 0; i < own.count(); ++i) REQUIRE(near(double(own.data()[i]), double(wanted.data()[i]), most));
  });
}
}  // namespace

TEST_CASE("losses and gradients of logits in slices are those of the whole logits") {
  check<2>(logits<double>(), 1e-14);
  check<3>(logits<double>(), 1e-14);
  check<4, double, std::int64_t>(logits<double>(), 1e-14);
  check<12>(logits<float>(), 2e-6);
  check<2>(logits<float>(), 2e-6);
  check<4>(logits<float16>(), 6e-3);
}
TEST_CASE("large logits, slices of nothing but -inf, and NaN") {
  auto whole = logits<double>();
  for (long i = 0; i < whole.count(); ++i) whole.data()[i] *= 1e4;  // exp overflows
  check<3>(whole, 1e-11);
  for (long row = 0; row < 7; ++row)  // padding behind the classes that there are, and before them
    for (const int c : {row % 2 ? 0 : 10, row % 2 ? 1 : 7, row % 2 ? 4 : 9})
      if (c != Labels::values[row]) whole.data()[row * classes + c] = -inf;
  whole.data()[2 * classes + 9] = whole.data()[2 * classes + 10] = whole.data()[2 * classes + 11] = -inf;
  whole.data()[3 * classes + 6] = -inf;  // that of the label: the loss is inf
  whole.data()[4 * classes + 1] = no_number;
  check<4>(whole, 1e-11);
}
TEST_CASE("both modes have equal bits, and gradients are those of differences") {
  const auto run = [&]<int slices, class T>(std::integral_constant<int, slices>, T) {
    dist::run_ranks(slices, [&](const dist::Communicator& ranks) {
      const auto own = slice_of<slices>(logits<T>(), ranks.rank());
      auto given = Tensor<T, Shape<7, classes / slices>>::zeros();
      std::copy_n(own.data(), own.count(), given.data());
      const auto f = [](const auto& v) { return ops::cross_entropy_of_slices<slices>(v, constant<Labels>(v)); };
      collective::checked(f, given, 70, [&](const auto& x, const auto& weight, const auto& slopes) {
        for (int rank = 0; rank < slices; ++rank)
          for (long i = 0; i < x.count(); ++i) {
            const auto loss = [&](double by) {
              auto at = x.copy();
              if (rank == ranks.rank()) at.data()[i] += by;
              const auto z = f(at);
              double sum = 0;
              for (long k = 0; k < z.count(); ++k) sum += double(z.data()[k]) * double(weight.data()[k]);
              return sum;
            };
            const double difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            if (rank == ranks.rank()) REQUIRE(double(slopes.data()[i]) == doctest::Approx(difference).epsilon(1e-6));
          }
      });
    });
  };
  run(std::integral_constant<int, 2>(), 0.0);
  run(std::integral_constant<int, 4>(), 0.0);
  run(std::integral_constant<int, 2>(), 0.0f);
}
TEST_CASE("what does not fit is one sentence") {
  using Rule = ops::SliceClasses<"world">;
  const auto said = [](const TensorType& given, const TensorType& values) {
    return support::refusal<Rule>({2, 4}, {given, values});
  };
  constexpr TensorType x = Tensor<float, Shape<dyn, 4>>::dims;
  CHECK(said(Tensor<float, Shape<dyn>>::dims, x) ==
        "a cross entropy of slices needs labels of int32 (class numbers), got float32 [n]");
  CHECK(said(Tensor<std::int32_t, Shape<dyn, 4>>::dims, x) ==
        "a cross entropy of slices got logits [n,4] and labels [n,4], which must be [n]");
  CHECK(said(Tensor<std::int32_t, Shape<>>::dims, Tensor<float, Shape<>>::dims) ==
        "a cross entropy of slices needs logits [n,classes], got []");
  dist::run_ranks(2, [&](const dist::Communicator&) {
    const auto values = Tensor<float, Shape<2, 4>>::zeros();
    for (const std::int32_t one : {8, -1}) {
      const Tensor<std::int32_t, Shape<2>> numbers{{3, one}};
      REQUIRE(error_of([&] { ops::cross_entropy_of_slices<2>(values, numbers); }) ==
              "SliceClasses: label " + std::to_string(one) +
                  " at [1] is outside of 0 .. 7, the 8 classes of a prediction in slices [2,4]. Correct the label, or "
                  "give the last layer more outputs.");
    }
    const Tensor<std::int32_t, Shape<2>> numbers{{3, 0}};
    REQUIRE(error_of([&] { ops::cross_entropy_of_slices<3>(values, numbers); }) ==
            "SliceClasses is for 3 ranks, and the group 'world' has 2.");
  });
}
