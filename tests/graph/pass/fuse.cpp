#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "../interpreter.hpp"

using namespace graph_test;

namespace {
using ops::Add, ops::Mul, ops::Relu, ops::Fused;

// An element-wise operator of so many operands.
template <int operands>
struct SumOf : ops::Elementwise<SumOf<operands>, "TestSumOf"> {
  template <class... V>
  static constexpr auto eval(V... v) {
    return (v + ...);
  }
  static constexpr None derivative{};
};

// Fuses, and checks what every fusion must keep.
template <int N>
Graph<N> fused(const Graph<N>& graph) {
  const Graph<N> after = fuse(graph);
  CHECK(in_order(after));
  CHECK(kernels_can_run(after));
  CHECK(interpret(after) == interpret(graph));
  return after;
}
}  // namespace

TEST_CASE("fuse: a chain becomes one node with its steps in order") {
  Maker<8> make;
  const int x = make.input(rows), y = make.input(rows, 1);
  make.output(make.call<Relu>(make.call<Mul>(make.call<Add>(x, y), y)));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 3);
  const Node& node = after[2];
  CHECK(is<Fused>(node));
  REQUIRE(node.steps == 3);
  CHECK(node.operands == 2);
  CHECK(after.program[node.program] == Add::id);
  CHECK(after.program[node.program + 2] == Mul::id);
  CHECK(after.program[node.program + 4] == Relu::id);
  CHECK(after.output[0] == 2);
}

TEST_CASE("fuse: a value with two users or that is an output stays a node of its own") {
  for (bool output : {false, true}) {
    Maker<8> make;
    const int x = make.input(rows), shared = make.call<Relu>(x);
    const int a = make.call<Add>(shared, x);
    if (output) make.output(shared);
    make.output(output ? a : make.call<Mul>(a, shared));
    const Graph<8> after = fused(make.graph);
    CHECK(find<Relu>(after) >= 0);
    CHECK(after.count == 3);  // x, relu, one kernel
  }
}

TEST_CASE("fuse: both arms of a diamond join") {
  Maker<8> make;
  const int x = make.input(rows);
  make.output(make.call<Add>(make.call<Relu>(x), make.call<Mul>(x, x)));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 2);
  CHECK(after[1].steps == 3);
  CHECK(after[1].operands == 1);
}

TEST_CASE("fuse: a product of a value with itself reads it once and does not swallow it twice") {
  Maker<8> make;
  const int x = make.input(rows), a = make.call<Relu>(x);
  make.output(make.call<Mul>(a, a));
  CHECK(fused(make.graph).count == 3);
}

TEST_CASE("fuse: a smaller operand is broadcast by the kernel, but not computed in it") {
  Maker<8> make;
  const int x = make.input(rows), bias = make.input(vector4, 1);
  make.output(make.call<Relu>(make.call<Add>(x, make.call<Mul>(bias, bias))));
  const Graph<8> after = fused(make.graph);
  REQUIRE(after.count == 4);
  CHECK(is<Mul>(after[2]));
  CHECK(after[3].steps == 2);
}

TEST_CASE("fuse: another dtype ends a chain") {
  Maker<8> make;
  const int x = make.input(rows), a = make.call<Relu>(x);
  Node to_half = make.graph[a];  // an element-wise node whose result has another dtype, as a comparison has
  to_half.operand[0] = a;
  to_half.type.dtype = Dtype::float16;
  const int h = make.add(to_half);
  make.output(make.call<Relu>(h));
  CHECK(fuse(make.graph).count == make.graph.count);
}

TEST_CASE("fuse: a kernel has at most max_operands operands") {
  Maker<32> make;
  int sum = make.input(rows);
  for (int i = 1; i < 12; ++i) sum = make.call<Add>(sum, make.input(rows, i));
  make.output(sum);
  const Graph<32> after = fused(make.graph);
  int kernels = 0, steps = 0;
  for (int id = 0; id < after.count; ++id)
    kernels += !after[id].op->leaf, steps += is<Fused>(after[id]) ? after[id].steps : !after[id].op->leaf;
  CHECK(steps == 11);
  CHECK(kernels == 3);  // 5 + 5 + 1 steps: each kernel reads 6 operands
}

TEST_CASE("fuse: a step has up to max_sources sources, and a node with more operands is none") {
  const auto kernels = [](auto sum) {
    Maker<16> make;
    const int x = make.input(rows), y = make.call<Mul>(x, x), a = make.input(rows, 1);
    make.output(make.call<Relu>(sum(make, x, y, a)));
    const Graph<16> after = fused(make.graph);
    int count = 0;
    for (int id = 0; id < after.count; ++id) count += !after[id].op->leaf;
    return count;
  };
  static_assert(max_sources == 4);
  CHECK(kernels([](auto& make, int x, int y, int a) { return make.template call<SumOf<4>>(a, x, a, y); }) == 1);
  CHECK(kernels([](auto& make, int x, int y, int a) { return make.template call<SumOf<5>>(a, x, a, x, y); }) == 3);
}

TEST_CASE("fuse: a kernel has at most max_steps steps") {
  Maker<80> make;
  const int x = make.input(rows);
  int y = x;
  for (int i = 0; i < 60; ++i) y = i % 2 ? make.call<Mul>(y, x) : make.call<Relu>(y);
  make.output(y);
  const Graph<80> after = fused(make.graph);
  int steps = 0;
  for (int id = 0; id < after.count; ++id) {
    CHECK(after[id].steps <= max_steps);
    steps += after[id].op->leaf ? 0 : after[id].steps ? after[id].steps : 1;
  }
  CHECK(steps == 60);
  CHECK(after.count == 1 + 3);
}

TEST_CASE("fuse: a long chain reuses its room in the program pool") {
  Maker<400> make;
  const int x = make.input(rows);
  int y = x;
  for (int i = 0; i < 380; ++i) y = make.call<Relu>(y);
  make.output(y);
  const Graph<400> after = fused(make.graph);
  CHECK(after.program_length == 2 * 380);
  CHECK(after.count == 1 + (380 + max_steps - 1) / max_steps);
}

TEST_CASE("fuse: bias, residual, number, and relu become the epilogue of a product") {
  Maker<16> make;
  const int x = make.input(rows), w = make.input(vector4, 1), bias = make.parameter(vector4),
            residual = make.input(rows, 2), half = make.constant(0.5);
  const int product = make.call<Product>(x, w);
  const int sum = make.call<Add>(residual, make.call<Mul>(make.call<Add>(product, bias), half));
  make.output(make.call<Relu>(sum));
  const Graph<16> after = fused(make.graph);
  REQUIRE(after.count == 6);
  const Node& node = after[after.output[0]];
  CHECK(is<Product>(node));
  CHECK(node.steps == 4);
  CHECK(node.operands == 5);
  CHECK(Step::unpack(0, after.program[node.program + 1]).source[0] == 0);  // the product's own result
}

TEST_CASE("fuse: an epilogue takes operands until it has max_operands, the rest is a chain") {
  Maker<32> make;
  int y = make.call<Product>(make.input(rows), make.input(vector4, 1));
  for (int i = 0; i < 7; ++i) y = make.call<Add>(y, make.input(rows, 2 + i));
  make.output(y);
  const Graph<32> after = fused(make.graph);
  const Node& product = after[find<Product>(after)];
  CHECK(product.operands == max_operands);
  CHECK(product.steps == 4);
  CHECK(after[after.output[0]].steps == 3);
}

TEST_CASE("fuse: what has neither the shape of the product nor one value per channel is no operand of its epilogue") {
  constexpr TensorType images{{dyn, 3, 2, 3}, 4, Dtype::float32}, per_channel{{3, 1, 1}, 3, Dtype::float32},
      per_column{{3}, 1, Dtype::float32}, per_row{{2, 1}, 2, Dtype::float32};
  const auto steps_with = [&]<class Op>(Op, const TensorType& operand) {
    Maker<8> make;
    const int product = make.call<Op>(make.input(images), make.input(vector4, 1));
    make.output(make.call<Add>(product, make.input(operand, 2)));
    const Graph<8> after = fused(make.graph);
    return after[find<Op>(after)].steps;
  };
  CHECK(steps_with(ImageProduct{}, per_channel) == 1);
  CHECK(steps_with(ImageProduct{}, per_column) == 0);
  CHECK(steps_with(ImageProduct{}, per_row) == 0);
  CHECK(steps_with(ImageProduct{}, images) == 1);
  CHECK(steps_with(Product{}, per_channel) == 0);  // a stack of matrices has its channels in the last axis
  CHECK(steps_with(Product{}, per_column) == 1);
  CHECK(steps_with(Product{}, per_row) == 0);
}

TEST_CASE("fuse: a node is not moved behind a change of what it reads") {
  Maker<16> make;
  const int p = make.parameter(rows), x = make.input(rows);
  const int before = make.call<Relu>(p), product = make.call<Product>(p, x);
  make.call<Update>(p, x);
  make.output(make.call<Add>(before, x));
  make.output(make.call<Mul>(product, x));
  const Graph<16> after = fused(make.graph);
  CHECK(after.count == make.graph.count);
}
