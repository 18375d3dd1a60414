// The derivative of an operator against differences of its values, and derivatives that forget an operand.
#include <doctest/doctest.h>

#include <tenon/debug/check_gradients.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using Row = Tensor<double, Shape<3>>;

namespace {

/// a * b, with the derivative to a alone, or one of b that is wrong by a factor.
template <int form>
struct Product : ops::Elementwise<Product<form>, "mine.Product"> {
  template <class V>
  static constexpr V eval(V a, V b) {
    return a * b;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call<ops::Mul>(d.gradient(), d.operand(1)));
    if (form == 1) d.no_gradient(1);
    if (form == 2) d.flows_to(1, d.call<ops::Mul>(d.gradient(), d.call<ops::Mul>(d.operand(0), d.constant(1.001))));
    if (form == 3) d.flows_to(1, d.call<ops::Mul>(d.gradient(), d.operand(0)));
  }
};
/// a and b as they are, where the derivative knows a alone.
struct AsTheyAre : Operator<AsTheyAre, "mine.AsTheyAre"> {
  static constexpr int returns = 2;
  static constexpr ResultTypes shape(const OperandTypes& in, const NoConfig&, Sentence&) { return {in[0], in[1]}; }
  static constexpr void derivative(Derivative& d) {
    if (d.has_gradient(0)) d.flows_to(0, d.gradient(0));
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) {
      a.result<double>()[i] = a.operand<double>(0)[i];
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[i] = a.operand<double>(1)[i];
    }
  }
};
template <int form>
constexpr auto product = [](auto a, auto b) { return apply<Product<form>>(std::source_location::current(), a, b); };

std::string message_of(auto f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

const Row a = Row::from({1, 2, 3}), b = Row::from({4, 5, -6});

}  // namespace

TEST_CASE("a right derivative passes, the result says how closely") {
  CHECK(check_gradients(product<3>, a, b) < 1e-9);
  CHECK(check_gradients([](auto x) { return tanh(x); }, Tensor<float, Shape<2>>::from({0.5f, -0.25f})) < 1e-2);
  CHECK(check_gradients([](auto x, auto places) { return gather(x, places); }, a, Tensor<int, Shape<2>>::from({2, 0})) <
        1e-9);
}

TEST_CASE("a wrong derivative is named with its argument and element") {
  const std::string message = message_of([] { check_gradients(product<2>, a, b); });
  CHECK(message.starts_with("check_gradients: argument 1, element 0, which is 4: the derivative gives 0.64"));
  CHECK(message.ends_with("; 3 of 3 elements of this argument differ by more than 1e-06."));
  CHECK(check_gradients(GradientCheck{.tolerance = 1e-2}, product<2>, a, b) > 5e-4);
  CHECK(message_of([] { check_gradients(product<1>, a, b); }).find("argument 1, element 0") != std::string::npos);
}

TEST_CASE("several results, with gradients at once") {
  const auto both = [](auto x, auto y) { return std::tuple(x * y, argmax<0>(x), exp(x)); };
  CHECK(check_gradients(both, a, b) < 1e-8);
  // weights of their own, so that a rule which exchanges the gradients of two results is found
  CHECK(detail::checked_number(std::tuple(a, a)) != 2 * detail::checked_number(a));
}

TEST_CASE("a derivative that forgets an operand is an error where its gradient is wanted, no silent zero") {
  CHECK(grad<0>(product<0>)(a, b).values()[2] == -6);
  const std::string sentence =
      "The derivative of mine.Product gives operand 1 no gradient: call d.flows_to(1, ...) in it, or d.no_gradient(1) "
      "if it has none; users detach the operand with stop_gradient.";
  CHECK(message_of([] { grad<1>(product<0>)(a, b); }) == sentence);
  CHECK(message_of([] { check_gradients(product<0>, a, b); }) == sentence);
  CHECK(grad<1>(product<1>)(a, b).values()[0] == 0);
  const auto detached = [](auto x, auto y) { return product<0>(x, stop_gradient(y)) + y; };
  CHECK(grad<1>(detached)(a, b).values()[0] == 1);
}

TEST_CASE("a derivative of several results that forgets an operand is an error once all results have a gradient") {
  const auto both = [](auto x, auto y) {
    const auto [p, q] = apply<AsTheyAre>(std::source_location::current(), x, y);
    return p * q;
  };
  CHECK(grad<0>(both)(a, b).values()[2] == -6);
  CHECK(message_of([&] {
          grad<1>(both)(a, b);
        }).starts_with("The derivative of mine.AsTheyAre gives operand 1 no gradient: call d.flows_to(1, ...) in it"));
}
