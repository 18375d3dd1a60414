#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include <doctest/doctest.h>

#include "../interpreter.hpp"
#include "../planning.hpp"

using namespace graph_test;

namespace {
constexpr TensorType samples_of(int elements) { return {{dyn, elements}, 2, Dtype::float32}; }

template <class Op, int N, class... Ids>
int node(Maker<N>& make, int elements, Ids... ids) {
  const int id = make.template call<Op>(ids...);
  make.graph[id].type = samples_of(elements);
  return id;
}
template <int N>
Graph<N> rematerialised(const Graph<N>& graph) {
  const Graph<N> after = rematerialise(graph);
  CHECK(in_order(after));
  CHECK(interpret(after) == interpret(graph));
  CHECK(independent_bound(after, Region::sample) <= independent_bound(graph, Region::sample));
  return after;
}

/// A forward pass of `layers` products, each followed by a cheap node, and a backward pass that reads both of each.
template <int N, class Norm = Cheap>
Graph<N> layers(int count) {
  Maker<N> make;
  const int p = make.parameter(vector4);
  int x = make.input(samples_of(64)), product[N], norm[N], gradient = -1;
  for (int i = 0; i < count; ++i) {
    product[i] = node<Mix>(make, 64, x, p);
    norm[i] = x = node<Norm>(make, 64, product[i]);
  }
  gradient = node<Mix>(make, 64, x);
  for (int i = count; i-- > 0;) {
    gradient = node<Mix>(make, 64, gradient, norm[i]);
    gradient = node<Mix>(make, 64, gradient, product[i]);
  }
  make.output(gradient);
  return make.graph;
}
}  // namespace

TEST_CASE("rematerialise: what is cheap is not kept beside what it comes from") {
  const Graph<64> before = layers<64>(8), after = rematerialised(before);
  CHECK(count_of<Cheap>(after) == 8 + 7);  // the last one is needed where memory is fullest
  CHECK(independent_bound(before, Region::sample) == (2 * 8 + 2) * 256);
  CHECK(independent_bound(after, Region::sample) == (8 + 3) * 256);
}

TEST_CASE("rematerialise: what is not cheap is kept") {
  CHECK(rematerialised(layers<64, Mix>(8)).count == layers<64, Mix>(8).count);
}

TEST_CASE("rematerialise: without room for more nodes nothing happens") {
  CHECK(rematerialised(layers<36>(8)).count == layers<36>(8).count);
}

TEST_CASE("rematerialise: nothing that has changed meanwhile is read again") {
  enum When { never, between_the_readers, after_both };
  for (const When update : {never, between_the_readers, after_both}) {
    CAPTURE(update);
    Maker<64> make;
    const int x = make.input(samples_of(64)), p = make.parameter(vector4);
    const int product = node<Mix>(make, 64, x), norm = node<Cheap>(make, 64, product, p),
              wide = node<Mix>(make, 256, norm);
    if (update == between_the_readers) make.call<Update>(p, p);
    const int narrow = node<Mix>(make, 16, wide);
    make.output(node<Mix>(make, 16, narrow, norm, product));
    if (update == after_both) make.call<Update>(p, p);
    CHECK(count_of<Cheap>(rematerialised(make.graph)) == (update == between_the_readers ? 1 : 2));
  }
}

TEST_CASE("rematerialise: outputs and what is seen through an earlier view are kept") {
  for (int kind : {0, 1, 2}) {
    CAPTURE(kind);
    Maker<64> make;
    const int x = make.input(samples_of(64));
    const int product = node<Mix>(make, 64, x), norm = node<Cheap>(make, 64, product);
    const int seen = kind == 1 ? make.reshape(TensorType{{dyn, 8, 8}, 3, Dtype::float32}, norm) : norm;
    const int wide = node<Mix>(make, 256, norm), narrow = node<Mix>(make, 16, wide);
    make.output(node<Mix>(make, 16, narrow, seen, norm, product));
    if (kind == 2) make.output(norm);
    CHECK(count_of<Cheap>(rematerialised(make.graph)) == (kind ? 1 : 2));
  }
}

TEST_CASE("rematerialise: a chain of cheap nodes is computed again from its begin, also what died before memory was "
          "fullest") {
  Maker<64> make;
  const int x = make.input(samples_of(64));
  const int product = node<Mix>(make, 64, x), helper = node<Cheap>(make, 64, product),
            first = node<Cheap>(make, 64, helper);
  const int second = node<Cheap>(make, 64, first), wide = node<Mix>(make, 512, second),
            narrow = node<Mix>(make, 16, wide);
  const int back = node<Mix>(make, 16, narrow, second);
  make.output(node<Mix>(make, 16, back, first, product));
  const Graph<64> after = rematerialised(make.graph);
  CHECK(count_of<Cheap>(after) == 6);
  CHECK(independent_bound(after, Region::sample) == (64 + 64 + 512) * 4);
}

TEST_CASE("rematerialise: random training steps compute the same in less memory") {
  int less = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Maker<128> make;
    std::vector<int> values{make.input(samples_of(16))};
    const int p[2]{make.parameter(vector4, 0), make.parameter(vector4, 1)};
    const auto any = [&] {
      return values[values.size() - 1 - random.below(std::min<std::uint64_t>(values.size(), 4))];
    };
    const int count = 4 + int(random.below(12));
    for (int i = 0; i < count; ++i) {
      const int size = 16 << random.below(3), x = any(), y = any();
      values.push_back(random.below(2) ? node<Cheap>(make, size, x, y, p[random.below(2)])
                                       : node<Mix>(make, size, x, p[random.below(2)]));
      if (random.below(12) == 0) make.call<Update>(values.back(), x);
      if (random.below(12) == 0) values.push_back(make.reshape(make.graph[values.back()].type, values.back()));
    }
    int gradient = node<Mix>(make, 16, values.back());
    for (int i = count; i-- > 0;) {
      gradient = node<Mix>(make, 16, gradient, values[std::size_t(i)], any());
      if (random.below(8) == 0) make.call<Update>(p[random.below(2)], gradient);
    }
    make.output(gradient);
    const Graph<128> after = rematerialised(make.graph);
    less += after.count > make.graph.count;
  }
  CHECK(less > 500);
}
