// What makes a type an operand: look-up of operators without a using-directive, and the place of a binary operator.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <source_location>
#include <string>
#include <utility>

#include <tenon/core/value.hpp>

namespace {
struct Operand : tenon::ops::Value<Operand> {
  std::string text;
  unsigned line = 0;
  Operand(std::string text, unsigned line = 0) : text(std::move(text)), line(line) {}
};
std::string of(const Operand& x) { return x.text; }
template <tenon::Scalar S>
std::string of(S s) {
  return std::to_string(int(s));
}
}  // namespace

// Stand-ins for the operators, written where the real ones are. They record what they were called with.
namespace tenon::inline TENON_ABI::ops {
struct Add {
  static constexpr const char* name = "add";
};
struct Sub {
  static constexpr const char* name = "sub";
};
struct Mul {
  static constexpr const char* name = "mul";
};
struct Less {
  static constexpr const char* name = "less";
};
struct LessEqual {
  static constexpr const char* name = "less_equal";
};
struct Greater {
  static constexpr const char* name = "greater";
};
struct GreaterEqual {
  static constexpr const char* name = "greater_equal";
};
::Operand recorded(const std::string& name, const auto& a, const auto& b, std::source_location at) {
  return {name + "(" + of(a) + "," + of(b) + ")", at.line()};
}
template <class Op>
auto binary(std::source_location at, const auto& a, const auto& b) {
  return recorded(Op::name, a, b, at);
}
auto div(const auto& a, const auto& b, std::source_location at) { return recorded("div", a, b, at); }
auto equal(const auto& a, const auto& b, std::source_location at) { return recorded("equal", a, b, at); }
auto not_equal(const auto& a, const auto& b, std::source_location at) { return recorded("not_equal", a, b, at); }
auto neg(const auto& a, std::source_location at) { return ::Operand("neg(" + of(a) + ")", at.line()); }
auto unary(const auto& a) { return ::Operand("unary(" + of(a) + ")"); }
}  // namespace tenon::ops

TEST_CASE("infix operators call the operator of that name, with numbers on either side") {
  const Operand x("x"), y("y");
  CHECK((x + y).text == "add(x,y)");
  CHECK((x - y).text == "sub(x,y)");
  CHECK((x * y).text == "mul(x,y)");
  CHECK((x / y).text == "div(x,y)");
  CHECK((x + 2).text == "add(x,2)");
  CHECK((2 + x).text == "add(2,x)");
  CHECK((2.0f - x).text == "sub(2,x)");
  CHECK((3 * x).text == "mul(3,x)");
  CHECK((1 / x).text == "div(1,x)");
  CHECK((-x).text == "neg(x)");
  CHECK((x + y * y).text == "add(x,mul(y,y))");
}

TEST_CASE("comparisons do too") {
  const Operand x("x"), y("y");
  const auto said = [](const Operand& result, const char* expected) { return result.text == expected; };
  CHECK(said((x == y), "equal(x,y)"));
  CHECK(said((x != y), "not_equal(x,y)"));
  CHECK(said((x < 1), "less(x,1)"));
  CHECK(said((x <= y), "less_equal(x,y)"));
  CHECK(said((x > y), "greater(x,y)"));
  CHECK(said((x >= 0), "greater_equal(x,0)"));
}

TEST_CASE("the place is that of the expression") {
  const Operand x("x");
  const auto sum = x + x;
  CHECK(sum.line == __LINE__ - 1);
  const auto scaled = 2 * x;
  CHECK(scaled.line == __LINE__ - 1);
}

TEST_CASE("operators are found through the operand") { CHECK(unary(Operand("x")).text == "unary(x)"); }

TEST_CASE("numbers are scalars, texts and pointers are not") {
  static_assert(tenon::Scalar<int> && tenon::Scalar<const double&> && tenon::Scalar<bool> &&
                !tenon::Scalar<const char*> && !tenon::Scalar<std::string>);
  static_assert(tenon::ops::Operand<::Operand> && !tenon::ops::Operand<int> && tenon::ops::OperandOrScalar<int> &&
                !tenon::ops::OperandOrScalar<std::string>);
}
