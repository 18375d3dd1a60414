#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"
#include "../planning.hpp"

using namespace graph_test;

namespace {
template <int N>
Graph<N> sunk(const Graph<N>& graph) {
  const Graph<N> after = sink(graph);
  CHECK(after.count == graph.count);
  CHECK(in_order(after));
  CHECK(interpret(after) == interpret(graph));
  for (Region region : {Region::sample, Region::fixed})
    CHECK(independent_bound(after, region) <= independent_bound(graph, region));
  return after;
}
}  // namespace

TEST_CASE("sink: a node waits for the first reader of its result") {
  Maker<16> make;
  const int x = make.input(rows), early = make.call<Product>(x, x), other = make.call<Mix>(make.call<Mix>(x));
  make.output(make.call<Mix>(other, early));
  const Graph<16> after = sunk(make.graph);
  CHECK(is<Product>(after[3]));
}

TEST_CASE("sink: a node does not keep what it reads alive, but waits as long as another reader does") {
  for (bool read_later : {false, true}) {
    CAPTURE(read_later);
    Maker<16> make;
    const int x = make.input(rows), value = make.call<Mix>(x), sum = make.call<Product>(value, x);
    int later = make.call<Mix>(make.call<Mix>(x));
    if (read_later) later = make.call<Mix>(later, value);
    later = make.call<Mix>(later);
    make.output(make.call<Mix>(later, sum));
    CHECK(find<Product>(sunk(make.graph)) == (read_later ? 4 : 2));
  }
}

TEST_CASE("sink: a gradient of a short cut waits until the gradient of its input is computed") {
  Maker<32> make;
  const int x = make.input(rows), w = make.parameter(vector4), v = make.parameter(vector4, 1);
  const int value = make.call<Mix>(x), dy = make.call<Mix>(x);
  const int dw = make.call<Product>(value, dy);         // of the short cut
  int back = make.call<Mix>(make.call<Mix>(dy, v), v);  // the long way
  back = make.call<ImageProduct>(back, dy, value, w);   // where both ways meet
  make.call<Update>(w, dw);
  make.output(back);
  const Graph<32> after = sunk(make.graph);
  CHECK(find<Product>(after) + 1 == find<ImageProduct>(after));
}

TEST_CASE("sink: a node stays in front of what changes one of its operands, and effects stay where they are") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4);
  const int reader = make.call<Product>(p, x), first = make.call<Mix>(x), update = make.call<Update>(p, first),
            second = make.call<Mix>(x);
  make.output(make.call<Mix>(second, reader));
  const Graph<16> after = sunk(make.graph);
  CHECK(find<Product>(after) < update);
  CHECK(find<Update>(after) == update);
}
