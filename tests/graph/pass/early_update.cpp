#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/accumulate_gradient.hpp>

#include "../interpreter.hpp"
#include "../planning.hpp"

using namespace graph_test;

namespace {
// Where the k-th Update stands.
template <int N>
int place_of_update(const Graph<N>& graph, int k) {
  for (int id = 0; id < graph.count; ++id)
    if (is<Update>(graph[id]) && k-- == 0) return id;
  return -1;
}
template <int N>
Graph<N> ordered(const Graph<N>& graph) {
  const Graph<N> after = early_update(graph);
  CHECK(after.count == graph.count);
  CHECK(in_order(after));
  CHECK(interpret(after) == interpret(graph));
  return after;
}
}  // namespace

TEST_CASE("early_update: an update stands right behind its gradient") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4);
  const int gradient = make.call<ops::Mul>(x, x);
  int later = make.call<Mix>(x);
  for (int i = 0; i < 4; ++i) later = make.call<Mix>(later);
  make.call<Update>(p, gradient);
  make.output(later);
  const Graph<16> after = ordered(make.graph);
  CHECK(place_of_update(after, 0) == 3);
  CHECK(is<ops::Mul>(after[2]));
}

TEST_CASE("early_update: an update waits for the last reader of the parameter, also through a view") {
  for (bool view : {false, true}) {
    CAPTURE(view);
    Maker<16> make;
    const int x = make.input(vector4), p = make.parameter(vector4);
    const int seen = view ? make.reshape(TensorType{{2, 2}, 2, Dtype::float32}, p) : p;
    const int gradient = make.call<ops::Mul>(x, x);
    const int reader = make.call<Mix>(seen), later = make.call<Mix>(reader);
    make.call<Update>(p, gradient);
    make.output(later);
    const Graph<16> after = ordered(make.graph);
    const int update = place_of_update(after, 0);
    CHECK(is<Mix>(after[update - 1]));
    CHECK(memory_of(after, after[update - 1].operand[0]) == 1);
    CHECK(update == after.count - 2);
  }
}

TEST_CASE("early_update: a reader behind the update stays behind it") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4);
  int y = make.call<Mix>(x);
  const int update = make.call<Update>(p, make.call<ops::Mul>(x, x));
  y = make.call<Mix>(y, p);
  make.output(make.call<Mix>(y, update));
  const Graph<16> after = ordered(make.graph);
  const int place = place_of_update(after, 0);
  CHECK(place < after.output[0]);
}

TEST_CASE("early_update: updates of one buffer keep their order, whenever their gradients are ready") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4);
  const int early = make.call<ops::Mul>(x, x), middle = make.call<Mix>(early), late = make.call<ops::Relu>(middle);
  make.call<Update>(p, late);
  make.call<Update>(p, early);
  make.output(late);
  const Graph<16> after = ordered(make.graph);
  CHECK(is<ops::Relu>(after[after[place_of_update(after, 0)].operand[1]]));
  CHECK(is<ops::Mul>(after[after[place_of_update(after, 1)].operand[1]]));
}

TEST_CASE("early_update: an update that follows another and a later node stands behind both") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4), q = make.parameter(vector4, 1);
  const int early = make.call<ops::Mul>(x, x), late = make.call<Mix>(make.call<Mix>(early));
  const int first = make.call<Update>(p, early);
  make.call<Update>(q, first, late);  // reads p after its update, and a value that comes later
  make.output(late);
  const Graph<16> after = ordered(make.graph);
  CHECK(place_of_update(after, 0) == 4);
  CHECK(place_of_update(after, 1) == after.count - 1);
}

TEST_CASE("early_update: a training state that two updates share orders them") {
  Maker<16> make;
  const int x = make.input(vector4), p = make.parameter(vector4), q = make.parameter(vector4, 1),
            moments = make.state(vector4);
  const int early = make.call<ops::Mul>(x, x), late = make.call<Mix>(early);
  make.call<Update>(p, late, moments);
  make.call<Update>(q, early, moments);
  ordered(make.graph);
}

TEST_CASE("early_update: the flag that sums of gradients share orders nothing") {
  Maker<16> make;
  const int x = make.input(vector4), first = make.state(type_of<float, Shape<>>, int(first_gradient_state)),
            sum = make.state(vector4, 64), other = make.state(vector4, 128);
  const int early = make.call<ops::Mul>(x, x), late = make.call<Mix>(make.call<Mix>(early));
  make.call<ops::AccumulateGradient>(sum, late, first);
  make.call<ops::AccumulateGradient>(other, early, first);
  make.output(late);
  const Graph<16> after = early_update(make.graph);
  CHECK(after[5].op->effect);  // behind the product
  CHECK(after[5].operand[0] == other);
  CHECK(after[after.count - 1].op->effect);
}

TEST_CASE("early_update: updates that need nothing but leaves stay where they are") {
  Maker<16> make;
  const int p = make.parameter(vector4), q = make.parameter(vector4, 1), g = make.input(vector4),
            h = make.input(vector4, 1);
  make.call<Update>(p, g);
  make.call<Update>(q, h);
  const Graph<16> after = ordered(make.graph);
  CHECK(after[4].operand[0] == 0);
  CHECK(after[5].operand[0] == 1);
}

TEST_CASE("early_update: leaves come first, all other nodes keep their order") {
  Maker<16> make;
  const int x = make.input(rows), a = make.call<ops::Relu>(x), c = make.constant(3), b = make.call<ops::Mul>(a, c);
  make.output(make.call<Mix>(b));
  const Graph<16> after = ordered(make.graph);
  CHECK(is<ops::Constant>(after[1]));
  CHECK(is<ops::Relu>(after[2]));
  CHECK(is<ops::Mul>(after[3]));
  CHECK(is<Mix>(after[4]));
}
