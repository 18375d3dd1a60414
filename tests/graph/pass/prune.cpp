#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

TEST_CASE("prune drops what neither an output nor an effect needs") {
  Maker<8> make;
  const int x = make.input(rows), unused_input = make.input(rows, 1);
  const int a = make.call<ops::Relu>(x), dead = make.call<ops::Add>(a, unused_input);
  make.call<ops::Mul>(dead, dead);
  const int y = make.call<ops::Mul>(a, a);
  make.output(y);
  const Graph<8> after = prune(make.graph);
  REQUIRE(after.count == 3);  // x, a, y
  CHECK(is<ops::Input>(after[0]));
  CHECK(after[0].immediate == 0);
  CHECK(is<ops::Relu>(after[1]));
  CHECK(is<ops::Mul>(after[2]));
  CHECK(after[2].operand[1] == 1);
  CHECK(after.output[0] == 2);
  CHECK(after[3].op == nullptr);
}

TEST_CASE("prune keeps effects and what they read, although nobody uses their results") {
  Maker<8> make;
  const int x = make.input(vector4), p = make.parameter(vector4), gradient = make.call<ops::Mul>(x, x);
  make.call<Update>(p, gradient);
  make.call<ops::Add>(p, p);
  const Graph<8> after = prune(make.graph);
  REQUIRE(after.count == 4);
  CHECK(is<Update>(after[3]));
  CHECK(interpret(after) == interpret(make.graph));
}

TEST_CASE("prune leaves a graph alone in which everything is needed, and empties one without outputs") {
  Maker<4> make;
  make.output(make.call<ops::Relu>(make.input(rows)));
  CHECK(prune(make.graph).count == 2);
  make.graph.outputs = 0;
  CHECK(prune(make.graph).count == 0);
}
