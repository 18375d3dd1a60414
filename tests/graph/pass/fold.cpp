#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

TEST_CASE("fold computes constants in their dtype") {
  Maker<8> make;
  const int sum = make.call<ops::Add>(make.constant(0.1), make.constant(0.2));
  make.output(make.call<ops::Mul>(sum, make.constant(10)));
  const Graph<8> after = prune(fold(make.graph));
  REQUIRE(after.count == 1);
  CHECK(is<ops::Constant>(after[0]));
  volatile float a = 0.1f, b = 0.2f, c = 10;
  CHECK(constant_value(after[0]) == double((a + b) * c));
  CHECK(constant_value(after[0]) != 0.30000000000000004 * 10);
}

TEST_CASE("fold leaves to the kernel what could overflow") {
  Maker<4> make;
  make.output(make.call<ops::Mul>(make.constant(1e38), make.constant(1e38)));
  CHECK(count_of<ops::Mul>(fold(make.graph)) == 1);
}

TEST_CASE("fold leaves alone what is not of constants, and what an effect writes") {
  Maker<8> make;
  const int sum = make.call<ops::Add>(make.input(vector4), make.constant(2));
  make.output(sum);
  CHECK(count_of<ops::Add>(fold(make.graph)) == 1);
  Maker<8> written;
  const int copy = written.call<ops::Add>(written.constant(1), written.constant(2));
  written.call<Update>(copy, written.constant(3));
  written.output(copy);
  CHECK(count_of<ops::Add>(fold(written.graph)) == 1);
}
