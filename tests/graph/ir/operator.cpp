// An operator of a user's own may have members of any name: what Tenon asks of one counts in its documented form only.
// Each of these has names of Tenon's for its own ends, and computes, folds, and derives as one without, in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "../../support/both_modes.hpp"

using namespace tenon;

namespace {
/// 2 x, with gradient 2.
template <class Op, FixedString Name>
struct Doubled : ops::Elementwise<Op, Name> {
  template <class V>
  static constexpr V eval(V x) {
    return x + x;
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.constant(2))); }
};
struct Plain : Doubled<Plain, "TestPlain"> {};
struct Numbers : Doubled<Numbers, "TestNumbers"> {
  static constexpr int fold = 3, channel_axis = 9, indices = 2, holds_update = 1, copies = 1, zero_divisor = 1;
  static constexpr double flops = 7, least_batch = 64;
  static constexpr bool floating_only = false, bool_only = false;
  static constexpr int numbers_only = 1, sums_pieces = 1, renews_numbers = 1, updates_elements = 1;
};
struct Functions : Doubled<Functions, "TestFunctions"> {
  static constexpr double fold(double x) { return x * 100; }
  static constexpr long flops() { return -1; }
  static constexpr int indices(int k) { return k; }
  static constexpr long least_batch(long n) { return 2 * n; }
  static constexpr bool holds_update() { return true; }
  struct Combine {};
};
/// Another way to compute, with its own kernel, and a type that element-wise operators have.
struct Shifted : Operator<Shifted, "TestShifted"> {
  using Function = float (*)(float);
  struct Combine {};
  static constexpr bool sums_pieces() { return true; }
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) a.result<float>()[i] = a.operand<const float>(0)[i] + 1;
  }
};

template <class Op>
struct Calling {
  constexpr auto operator()(const auto& x) const { return apply<Op>(std::source_location::current(), x); }
};
/// On a constant, which graphs fold.
template <class Op>
struct OnConstant {
  constexpr auto operator()(const auto& x) const {
    return x * apply<Op>(std::source_location::current(), zeros_like(x) + 1.5f);
  }
};
}  // namespace

TEST_CASE("operators with names of Tenon's compute as one without, in both modes, with its gradient") {
  const auto x = Tensor<float, Shape<dyn, 3>>::from({1, -2, 3, 0.5f, 5, -6});
  const auto plain = support::both_modes(Calling<Plain>{}, x);
  CHECK(bit_equal(plain.result, x * 2.0f));
  for (const auto& other : {support::both_modes(Calling<Numbers>{}, x), support::both_modes(Calling<Functions>{}, x)}) {
    CHECK(bit_equal(other.result, plain.result));
    CHECK(bit_equal(std::get<0>(other.gradient), std::get<0>(plain.gradient)));
  }
  for (const Mode mode : {Mode::pynative, Mode::graph}) {
    const ContextScope scope({.mode = mode});
    CHECK(bit_equal(jit(Calling<Shifted>{})(x), x + 1.0f));
  }
}

TEST_CASE("a `fold` of another meaning folds no constant") {
  const auto x = Tensor<float, Shape<dyn, 3>>::from({1, -2, 3});
  const auto wanted = x * 3.0f;
  CHECK(bit_equal(support::both_modes(OnConstant<Plain>{}, x).result, wanted));
  CHECK(bit_equal(support::both_modes(OnConstant<Numbers>{}, x).result, wanted));
  CHECK(bit_equal(support::both_modes(OnConstant<Functions>{}, x).result, wanted));
}

TEST_CASE("integers are not refused for a `floating_only` that is false") {
  const auto x = Tensor<int, Shape<3>>::from({1, 2, 3});
  CHECK(bit_equal(Calling<Numbers>{}(x), Tensor<int, Shape<3>>::from({2, 4, 6})));
}

TEST_CASE("the forms that count are found") {
  CHECK(run_time_info<ops::Mul>.has_fold);
  CHECK(run_time_info<ops::Gather>.indices);
  CHECK(!run_time_info<Numbers>.has_fold);
  CHECK(!run_time_info<Functions>.has_fold);
  CHECK(!run_time_info<Functions>.indices);
  CHECK(!run_time_info<Functions>.limits_batch);
  CHECK(!run_time_info<Functions>.holds_update);
}
