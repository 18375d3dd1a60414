#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

namespace {
constexpr TensorType squares{{dyn, 2, 2}, 3, Dtype::float32}, columns{{dyn, 4, 1}, 3, Dtype::float32};
}

TEST_CASE("simplify removes copies, also copies of copies, and sends their users and outputs to the original") {
  Maker<8> make;
  const int x = make.input(rows);
  const int copy = make.call<ops::StopGradient>(make.call<ops::Identity>(x));
  make.output(make.call<ops::Relu>(copy));
  make.output(copy);
  const Graph<8> after = prune(simplify(make.graph));
  REQUIRE(after.count == 2);
  CHECK(after[1].operand[0] == 0);
  CHECK(after.output[1] == 0);
}

TEST_CASE("simplify keeps a copy of what changes before the copy is read for the last time") {
  for (bool output : {false, true}) {
    CAPTURE(output);
    Maker<8> make;
    const int p = make.parameter(vector4), g = make.input(vector4), copy = make.call<ops::Identity>(p);
    make.call<Update>(p, g);
    make.output(output ? copy : make.call<ops::Relu>(copy));
    const Graph<8> after = simplify(make.graph);
    CHECK(count_of<ops::Identity>(after) == 1);
    CHECK(interpret(after) == interpret(make.graph));
  }
  Maker<8> make;  // read before the change: the copy goes
  const int p = make.parameter(vector4), g = make.input(vector4), copy = make.call<ops::Identity>(p);
  make.output(make.call<ops::Relu>(copy));
  make.call<Update>(p, g);
  const Graph<8> after = prune(simplify(make.graph));
  CHECK(count_of<ops::Identity>(after) == 0);
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("simplify keeps a copy that is itself changed") {
  Maker<8> make;
  const int p = make.parameter(vector4), g = make.input(vector4), copy = make.call<ops::Identity>(p);
  make.call<Update>(copy, g);
  make.output(p), make.output(copy);
  const Graph<8> after = simplify(make.graph);
  CHECK(count_of<ops::Identity>(after) == 1);
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("simplify: x * 1 and 1 * x are x, unless the product has another shape or the number another value") {
  Maker<16> make;
  const int x = make.call<ops::Add>(make.input(rows), make.input(rows)), one = make.constant(1);
  const int number_in = make.input(number, 1), number_x = make.call<ops::Add>(number_in, number_in);
  const int a = make.call<ops::Mul>(x, one), b = make.call<ops::Mul>(one, a);
  make.output(make.call<ops::Relu>(b));
  make.output(make.call<ops::Mul>(x, make.constant(1.0000001)));
  make.output(make.call<ops::Mul>(one, number_x));
  make.output(make.call<ops::Mul>(make.call<ops::Relu>(number_x), x));
  const Graph<16> after = prune(simplify(make.graph));
  CHECK(count_of<ops::Mul>(after) == 2);
  CHECK(is<ops::Add>(after[after[find<ops::Relu>(after)].operand[0]]));
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("simplify keeps the product of one and a number that may be denormal, which a kernel flushes to zero") {
  Maker<16> make;
  const int one = make.constant(1), x = make.input(rows), whole = make.input({{dyn, 4}, 2, Dtype::int32}, 1);
  make.output(make.call<ops::Mul>(x, one));
  make.output(make.call<ops::Mul>(make.call<ops::Relu>(x), one));
  make.output(make.call<ops::Mul>(whole, make.constant(1, Dtype::int32)));
  CHECK(count_of<ops::Mul>(prune(simplify(make.graph))) == 2);
}

TEST_CASE("simplify joins reshapes and removes those that change nothing") {
  Maker<8> make;
  const int x = make.input(rows);
  const int a = make.reshape(squares, x), b = make.reshape(columns, a), c = make.reshape(rows, b);
  make.output(make.call<Mix>(b));
  make.output(make.call<Mix>(c));
  const Graph<8> after = prune(simplify(make.graph));
  REQUIRE(after.count == 4);  // x, one reshape, two users
  CHECK(count_of<ops::Reshape>(after) == 1);
  CHECK(after[find<ops::Reshape>(after)].operand[0] == 0);
  CHECK(interpret(after) == interpret(make.graph));
}
