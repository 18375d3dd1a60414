#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"
#include "../planning.hpp"
#include "../random_graph.hpp"

using namespace graph_test;

namespace {
/// A sum over the batch, one block after the other.
struct Total : Operator<Total, "TestTotal"> {
  static constexpr bool block_sums = true;
  static constexpr bool fits_blocks(const TensorType&, const TensorType* x, int) { return x[0].batched(); }
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) {
    return {{in[0].last()}, 1, in[0].dtype};
  }
};

// As if the layout pass had put everything in blocks.
template <int N>
Staged<N> staged(const Graph<N>& graph, bool blocks = true) {
  Layouts<N> layouts;
  for (int id = 0; id < graph.count; ++id) layouts.row[id] = blocks;
  const Staged<N> after = make_stages(graph, layouts, choose_stages(graph, layouts));
  CHECK(after.graph.count == graph.count);
  CHECK(in_order(after.graph));
  CHECK(interpret(after.graph) == interpret(graph));
  return after;
}

/// "" or a sentence about a node that cannot run in its stage, told from what a stage is, not from how one is made.
template <int N>
std::string wrong(const Staged<N>& s) {
  for (int id = 0; id < s.graph.count; ++id) {
    const Node& node = s.graph[id];
    const int stage = s.stages.of[id];
    if (!stage) {
      if (s.stages.sums[id]) return text("node ", id, " is a sum outside of a stage");
      continue;
    }
    if (id < s.stages.first(stage) || id > s.stages.last(stage)) return text("node ", id, " is apart from its stage");
    const bool sum = s.stages.sums[id], samples = (node.op->per_sample || node.op->view) && node.type.batched();
    if (node.op->leaf || node.op->effect || sum == samples || (sum && (!node.op->block_sums || node.type.batched())))
      return text("node ", id, " cannot run for a block");
    for (int k = 0; k < node.operands; ++k)
      if (s.stages.of[node.operand[k]] == stage && s.stages.sums[node.operand[k]])
        return text("node ", id, " reads a sum that is not complete");
  }
  for (int stage = 1; stage <= s.stages.count; ++stage)
    for (int id = s.stages.first(stage); id <= s.stages.last(stage); ++id)
      if (s.stages.of[id] != stage) return text("node ", id, " stands in stage ", stage, " without being of it");
  return "";
}
}  // namespace

TEST_CASE("stages: nodes that work sample by sample come together, what needs the batch runs before or behind") {
  Maker<16> make;
  const int x = make.input(rows), w = make.parameter(vector4), y = make.input(vector4, 1);
  const int a = make.call<ops::Relu>(x);
  const int scale = make.call<Mix>(y);    // needs nothing of the stage
  const int total = make.call<Total>(a);  // a sum, block by block
  const int whole = make.call<Mix>(a);    // needs all samples
  const int b = make.call<ops::Mul>(a, scale), c = make.call<ops::Add>(b, w);
  make.call<Update>(w, total);
  make.output(make.call<Total>(c)), make.output(whole);
  const Staged<16> after = staged(make.graph);
  CHECK(wrong(after) == "");
  REQUIRE(after.stages.count == 1);
  CHECK(after.stages.first(1) == 4);
  CHECK(after.stages.last(1) == 8);  // relu, the sum, product, add, the second sum
  CHECK(is<Mix>(after.graph[3]));
  CHECK(is<Mix>(after.graph[9]));
  CHECK(is<Update>(after.graph[10]));
}

TEST_CASE("stages: a node that needs a complete sum begins the next stage") {
  Maker<20> make;
  const int x = make.input(rows);
  const int a = make.call<ops::Mul>(make.call<ops::Relu>(x), x), mean = make.call<Total>(a);
  const int b = make.call<ops::Mul>(make.call<ops::Relu>(make.call<ops::Add>(x, mean)), x);
  make.output(make.call<Total>(b));
  const Staged<20> after = staged(make.graph);
  CHECK(wrong(after) == "");
  REQUIRE(after.stages.count == 2);
  CHECK(after.stages.last(1) - after.stages.first(1) == 2);
  CHECK(after.stages.last(2) - after.stages.first(2) == 3);
}

TEST_CASE("stages: an update waits for the readers of its parameter in a stage, and a later reader for the update") {
  Maker<24> make;
  const int x = make.input(rows), g = make.input(vector4, 1), w = make.parameter(vector4);
  const int a = make.call<ops::Relu>(make.call<ops::Relu>(make.call<ops::Mul>(x, w)));
  make.call<Update>(w, g);
  const int b = make.call<ops::Relu>(make.call<ops::Mul>(a, w));
  make.output(make.call<Total>(make.call<ops::Relu>(b)));
  const Staged<24> after = staged(make.graph);
  CHECK(wrong(after) == "");
  CHECK(after.stages.count == 2);
}

TEST_CASE("stages: values of one stage need one block, others all samples from its begin to its end") {
  Maker<20> make;
  const int x = make.input(rows), a = make.call<ops::Relu>(x), kept = make.call<ops::Mul>(a, x);
  int b = make.call<ops::Relu>(kept);
  for (int i = 0; i < 3; ++i) b = make.call<ops::Relu>(b);
  make.output(make.call<Total>(b)), make.output(make.call<Mix>(kept));
  const Staged<20> after = staged(make.graph);
  REQUIRE(after.stages.count == 1);
  const auto lives = lifetimes(after.graph, after.stages);
  const int first = after.stages.first(1), last = after.stages.last(1);
  CHECK(lives.region[first] == Region::block);
  CHECK(lives.last[first] == first + 1);
  CHECK(lives.region[first + 1] == Region::sample);
  CHECK(lives.first[first + 1] == first);
  CHECK(lives.last[first + 1] == after.graph.count - 1);
  CHECK(lives.region[last] == Region::fixed);  // the sum
  CHECK(lives.first[last] == first);
}

TEST_CASE("stages: where none pays, the order stays") {
  const auto same_order = [](const Staged<16>& after, const Graph<16>& before) {
    bool same = after.stages.count == 0;
    for (int id = 0; id < before.count; ++id) same = same && after.graph[id].op->id == before[id].op->id;
    return same;
  };
  Maker<16> make;
  const int x = make.input(rows), a = make.call<ops::Relu>(x), whole = make.call<Mix>(a), other = make.call<Mix>(x);
  make.output(make.call<ops::Mul>(a, other)), make.output(whole);
  CHECK(same_order(staged(make.graph), make.graph));  // whatever the stage computes is needed behind it
  Maker<16> plain;
  int b = plain.input(rows);
  for (int i = 0; i < 4; ++i) b = plain.call<ops::Relu>(b);
  plain.output(plain.call<Total>(b));
  CHECK(staged(plain.graph).stages.count == 1);
  CHECK(same_order(staged(plain.graph, false), plain.graph));  // nothing is in blocks
  Maker<16> large;
  const int table = large.parameter(TensorType{{1 << 16, 4}, 2, Dtype::float32});
  b = large.input(TensorType{{dyn, 1 << 16, 4}, 3, Dtype::float32});
  for (int i = 0; i < 4; ++i) b = large.call<ops::Mul>(b, table);
  large.output(large.call<Total>(b));
  CHECK(same_order(staged(large.graph), large.graph));  // reads too much again
}

TEST_CASE("stages of random graphs: nothing changes what they compute, every node can run, plans overlap nowhere") {
  constexpr int size = 64, graphs = 4000;
  int with_stages = 0, several = 0, sums = 0, saved = 0;
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
    for (int id = 0; id < graph.count; ++id) layouts.row[id] = true;
    const Staged<size> after = make_stages(before, layouts, choose_stages(before, layouts));
    REQUIRE(in_order(after.graph));
    REQUIRE(wrong(after) == "");
    REQUIRE(interpret(after.graph) == interpret(graph));
    with_stages += after.stages.count > 0, several += after.stages.count > 1;
    for (bool sum : after.stages.sums) sums += sum;
    const auto lives = lifetimes(after.graph, after.stages);
    Plan<size> plan;
    for (Region region : {Region::sample, Region::fixed, Region::block}) {
      plan = place_by_time(after.graph, lives, plan, region);
      REQUIRE(plan.bound[int(region)] == independent_bound(after.graph, region, after.stages));
      REQUIRE(overlap(after.graph, plan, region, after.stages) == "");
      const Plan<size> by_size = place_by_size(after.graph, lives, plan, region, PlaceOrder::size);
      REQUIRE(overlap(after.graph, by_size, region, after.stages) == "");
    }
    plan = lift_fixed(after.graph, lives, plan);
    for (long n : {1, 7, 16, 33, 256}) {
      REQUIRE(overlap(after.graph, plan, n, after.stages) == "");
      REQUIRE(joint_bound(after.graph, lives, n) == independent_bound(after.graph, n, after.stages));
    }
    saved += joint_bound(after.graph, lives, 256) < joint_bound(before, lifetimes(before), 256);
  }
  MESSAGE(with_stages, " of ", graphs, " graphs have stages, ", several, " several, with ", sums, " sums; ", saved,
          " need less memory for it");
  CHECK(with_stages > graphs / 10);
  CHECK(several > graphs / 100);
  CHECK(sums > graphs / 100);
  CHECK(saved > graphs / 20);
}
