#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

TEST_CASE("share: of equal calls the first stays, also where their operands became equal by sharing") {
  Maker<12> make;
  const int x = make.input(rows);
  const int a = make.call<ops::Relu>(x), b = make.call<ops::Relu>(x);
  const int c = make.call<ops::Mul>(a, x), d = make.call<ops::Mul>(b, x);
  make.output(make.call<ops::Add>(c, d));
  const Graph<12> after = share_common(make.graph);
  REQUIRE(after.count == 4);  // x, relu, mul, add
  CHECK(after[3].operand[0] == after[3].operand[1]);
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("share: other operators, settings, shapes, numbers, or operand orders are other values") {
  Maker<16> make;
  const int x = make.input(rows), other = make.input(rows, 1);
  make.output(make.call<ops::Add>(x, other));
  make.call<ops::Add>(other, x);  // a + b and b + a have equal bits, but not for every operator
  make.call<ops::Mul>(x, other);
  make.reshape(TensorType{{dyn, 2, 2}, 3, Dtype::float32}, x);
  make.reshape(TensorType{{dyn, 4, 1}, 3, Dtype::float32}, x);
  make.constant(1), make.constant(2), make.constant(1, Dtype::float16);
  const int draw = make.call<Mix>(x), again = make.call<Mix>(x);
  make.graph[again].immediate = 7;  // another random stream
  CHECK(make.graph[draw].immediate == 0);
  CHECK(share_common(make.graph).count == make.graph.count);
}

TEST_CASE("share: equal constants are one") {
  Maker<4> make;
  make.constant(0.5), make.constant(0.5);
  CHECK(share_common(make.graph).count == 1);
}

TEST_CASE("share: effects are never merged, nor what stands before and behind one") {
  Maker<12> make;
  const int p = make.parameter(vector4), g = make.input(vector4);
  const int before = make.call<ops::Relu>(p), same = make.call<ops::Relu>(p);
  make.call<Update>(p, g);
  const int behind = make.call<ops::Relu>(p);
  make.call<Update>(p, g);
  make.output(make.call<ops::Add>(before, same));
  make.output(behind);
  const Graph<12> after = share_common(make.graph);
  CHECK(after.count == make.graph.count - 1);
  CHECK(count_of<Update>(after) == 2);
  CHECK(count_of<ops::Relu>(after) == 2);
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("share: a value that an effect changes in place is nobody else's") {
  Maker<8> make;
  const int x = make.input(vector4), a = make.call<ops::Relu>(x), b = make.call<ops::Relu>(x);
  make.call<Update>(b, x);
  make.output(a), make.output(b);
  const Graph<8> after = share_common(make.graph);
  CHECK(after.count == make.graph.count);
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("share: a thousand nodes with many collisions in the table") {
  Maker<1200> make;
  int x = make.input(rows), unequal = 1;
  for (int i = 0; i < 500; ++i) {
    const int twin[]{make.call<ops::Relu>(x), make.call<ops::Relu>(x)};
    x = twin[i % 2];
    ++unequal;
  }
  make.output(x);
  CHECK(share_common(make.graph).count == unequal);
}
