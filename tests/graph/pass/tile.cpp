#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"
#include "../planning.hpp"
#include "../random_graph.hpp"

using namespace graph_test;

namespace {
/// A sum over the batch, one tile after the other.
struct Total : Operator<Total, "TestTotal"> {
  static constexpr KernelFacts facts{.tile_sums = true};
  static constexpr bool fits_nchw16n(const TensorType&, const TensorType* x, int) { return x[0].batched(); }
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    return {{in[0].last()}, 1, in[0].dtype};
  }
};

// As if the layout pass had put everything in tiles.
template <int N>
Tiled<N> tiled(const Graph<N>& graph, bool tiles = true) {
  Layouts<N> layouts;
  for (int id = 0; id < graph.count; ++id) layouts.kernel[id] = tiles;
  const Tiled<N> after = tile_groups(graph, layouts, choose_groups(graph, layouts));
  CHECK(after.graph.count == graph.count);
  CHECK(in_order(after.graph));
  CHECK(interpret(after.graph) == interpret(graph));
  return after;
}

/// "" or a sentence about a node that cannot run in its group, told from what a group is, not from how one is made.
template <int N>
std::string wrong(const Tiled<N>& s) {
  for (int id = 0; id < s.graph.count; ++id) {
    const Node& node = s.graph[id];
    const int group = s.groups.of[id];
    if (!group) {
      if (s.groups.sums[id]) return text("node ", id, " is a sum outside of a group");
      continue;
    }
    if (id < s.groups.first(group) || id > s.groups.last(group)) return text("node ", id, " is apart from its group");
    const bool sum = s.groups.sums[id], samples = (node.op->per_sample || node.op->view) && node.type.batched();
    if (node.op->leaf || node.op->effect || sum == samples ||
        (sum && (!node.op->kernel.tile_sums || node.type.batched())))
      return text("node ", id, " cannot run for a tile");
    for (int k = 0; k < node.operands; ++k)
      if (s.groups.of[node.operand[k]] == group && s.groups.sums[node.operand[k]])
        return text("node ", id, " reads a sum that is not complete");
  }
  for (int group = 1; group <= s.groups.count; ++group)
    for (int id = s.groups.first(group); id <= s.groups.last(group); ++id)
      if (s.groups.of[id] != group) return text("node ", id, " stands in group ", group, " without being of it");
  return "";
}
}  // namespace

TEST_CASE("tile: nodes that work sample by sample come together, what needs the batch runs before or behind") {
  Maker<16> make;
  const int x = make.input(rows), w = make.parameter(vector4), y = make.input(vector4, 1);
  const int a = make.call<ops::Relu>(x);
  const int scale = make.call<Mix>(y);    // needs nothing of the group
  const int total = make.call<Total>(a);  // a sum, tile by tile
  const int whole = make.call<Mix>(a);    // needs all samples
  const int b = make.call<ops::Mul>(a, scale), c = make.call<ops::Add>(b, w);
  make.call<Update>(w, total);
  make.output(make.call<Total>(c)), make.output(whole);
  const Tiled<16> after = tiled(make.graph);
  CHECK(wrong(after) == "");
  REQUIRE(after.groups.count == 1);
  CHECK(after.groups.first(1) == 4);
  CHECK(after.groups.last(1) == 8);  // relu, the sum, product, add, the second sum
  CHECK(is<Mix>(after.graph[3]));
  CHECK(is<Mix>(after.graph[9]));
  CHECK(is<Update>(after.graph[10]));
}

TEST_CASE("tile: a node that needs a complete sum begins the next group") {
  Maker<20> make;
  const int x = make.input(rows);
  const int a = make.call<ops::Mul>(make.call<ops::Relu>(x), x), mean = make.call<Total>(a);
  const int b = make.call<ops::Mul>(make.call<ops::Relu>(make.call<ops::Add>(x, mean)), x);
  make.output(make.call<Total>(b));
  const Tiled<20> after = tiled(make.graph);
  CHECK(wrong(after) == "");
  REQUIRE(after.groups.count == 2);
  CHECK(after.groups.last(1) - after.groups.first(1) == 2);
  CHECK(after.groups.last(2) - after.groups.first(2) == 3);
}

TEST_CASE("tile: an update waits for the readers of its parameter in a group, and a later reader for the update") {
  Maker<24> make;
  const int x = make.input(rows), g = make.input(vector4, 1), w = make.parameter(vector4);
  const int a = make.call<ops::Relu>(make.call<ops::Relu>(make.call<ops::Mul>(x, w)));
  make.call<Update>(w, g);
  const int b = make.call<ops::Relu>(make.call<ops::Mul>(a, w));
  make.output(make.call<Total>(make.call<ops::Relu>(b)));
  const Tiled<24> after = tiled(make.graph);
  CHECK(wrong(after) == "");
  CHECK(after.groups.count == 2);
}

TEST_CASE("tile: values of one group need one tile, others all samples from its begin to its end") {
  Maker<20> make;
  const int x = make.input(rows), a = make.call<ops::Relu>(x), kept = make.call<ops::Mul>(a, x);
  int b = make.call<ops::Relu>(kept);
  for (int i = 0; i < 3; ++i) b = make.call<ops::Relu>(b);
  make.output(make.call<Total>(b)), make.output(make.call<Mix>(kept));
  const Tiled<20> after = tiled(make.graph);
  REQUIRE(after.groups.count == 1);
  const auto lives = lifetimes(after.graph, after.groups);
  const int first = after.groups.first(1), last = after.groups.last(1);
  CHECK(lives.region[first] == Region::tile);
  CHECK(lives.last[first] == first + 1);
  CHECK(lives.region[first + 1] == Region::sample);
  CHECK(lives.first[first + 1] == first);
  CHECK(lives.last[first + 1] == after.graph.count - 1);
  CHECK(lives.region[last] == Region::fixed);  // the sum
  CHECK(lives.first[last] == first);
}

TEST_CASE("tile: where none pays, the order stays") {
  const auto same_order = [](const Tiled<16>& after, const Graph<16>& before) {
    bool same = after.groups.count == 0;
    for (int id = 0; id < before.count; ++id) same = same && after.graph[id].op->id == before[id].op->id;
    return same;
  };
  Maker<16> make;
  const int x = make.input(rows), a = make.call<ops::Relu>(x), whole = make.call<Mix>(a), other = make.call<Mix>(x);
  make.output(make.call<ops::Mul>(a, other)), make.output(whole);
  CHECK(same_order(tiled(make.graph), make.graph));  // whatever the group computes is needed behind it
  Maker<16> plain;
  int b = plain.input(rows);
  for (int i = 0; i < 4; ++i) b = plain.call<ops::Relu>(b);
  plain.output(plain.call<Total>(b));
  CHECK(tiled(plain.graph).groups.count == 1);
  CHECK(same_order(tiled(plain.graph, false), plain.graph));  // nothing is in tiles
  Maker<16> large;
  const int table = large.parameter(TensorType{{1 << 16, 4}, 2, Dtype::float32});
  b = large.input(TensorType{{dyn, 1 << 16, 4}, 3, Dtype::float32});
  for (int i = 0; i < 4; ++i) b = large.call<ops::Mul>(b, table);
  large.output(large.call<Total>(b));
  CHECK(same_order(tiled(large.graph), large.graph));  // reads too much again
}

TEST_CASE("groups of random graphs: nothing changes what they compute, every node can run, plans overlap nowhere") {
  constexpr int size = 64, graphs = 4000;
  int with_groups = 0, several = 0, sums = 0, saved = 0;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    Graph<size> graph = RandomGraph<size>(seed).make();
    for (int id = 0; id < graph.count; ++id)  // some of the nodes for the whole batch become sums
      if (Node& node = graph[id];
          is<Mix>(node) && node.operands == 2 && node.type == vector4 && graph[node.operand[1]].type == rows) {
        node.operand[0] = node.operand[1], node.operands = 1;
        node.op = &info<Total>;
      }
    const Graph<size> before = early_update(graph);
    Layouts<size> layouts;
    for (int id = 0; id < graph.count; ++id) layouts.kernel[id] = true;
    const Tiled<size> after = tile_groups(before, layouts, choose_groups(before, layouts));
    REQUIRE(in_order(after.graph));
    REQUIRE(wrong(after) == "");
    REQUIRE(interpret(after.graph) == interpret(graph));
    with_groups += after.groups.count > 0, several += after.groups.count > 1;
    for (bool sum : after.groups.sums) sums += sum;
    const auto lives = lifetimes(after.graph, after.groups);
    Plan<size> plan;
    for (Region region : {Region::sample, Region::fixed, Region::tile}) {
      plan = place_by_time(after.graph, lives, plan, region);
      REQUIRE(plan.bound[int(region)] == independent_bound(after.graph, region, after.groups));
      REQUIRE(overlap(after.graph, plan, region, after.groups) == "");
      const Plan<size> by_size = place_by_size(after.graph, lives, plan, region, PlaceOrder::size);
      REQUIRE(overlap(after.graph, by_size, region, after.groups) == "");
    }
    plan = lift_fixed(after.graph, lives, plan);
    for (long n : {1, 7, 16, 33, 256}) {
      REQUIRE(overlap(after.graph, plan, n, after.groups) == "");
      REQUIRE(joint_bound(after.graph, lives, n) == independent_bound(after.graph, n, after.groups));
    }
    saved += joint_bound(after.graph, lives, 256) < joint_bound(before, lifetimes(before), 256);
  }
  MESSAGE(with_groups, " of ", graphs, " graphs have groups, ", several, " several, with ", sums, " sums; ", saved,
          " need less memory for it");
  CHECK(with_groups > graphs / 10);
  CHECK(several > graphs / 100);
  CHECK(sums > graphs / 100);
  CHECK(saved > graphs / 20);
}
