// Updates join the products that compute their gradients, on graphs built by hand.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/matmul.hpp>

#include "../interpreter.hpp"

using namespace graph_test;

namespace {
using ops::ApplyMomentum, ops::MatMul, ops::ProductUpdate, ops::Relu, ops::Transposed;

constexpr TensorType weight_type{{5, 4}, 2, Dtype::float32}, samples{{dyn, 5}, 2, Dtype::float32},
    numbers{{8}, 1, Dtype::float32};

template <int N>
bool has_fusible_update(const Graph<N>& graph) {
  bool found = false;
  for (int id = 0; id < graph.count; ++id) found |= is_fusible_update(graph, graph[id]);
  return found;
}
// Fuses, and checks that a graph is not left out by mistake.
template <int N>
Graph<N> fused(const Graph<N>& graph) {
  const Graph<N> after = fuse_update(graph);
  CHECK(in_order(after));
  CHECK((has_fusible_update(graph) || tenon::detail::same_graph(after, graph)));
  return after;
}

/// weight [5,4] with the gradient gᵀ x, of g [n,5] and x [n,4].
struct Training {
  Maker<16> make;
  int x = make.input(rows), g = make.input(samples, 1), weight = make.parameter(weight_type),
      velocity = make.state(weight_type, 64), number = make.state(numbers, 256);
  int product = 0;

  int gradient() { return product = make.call_with<MatMul>({Transposed::first}, g, x); }
  int update(int gradient) { return make.call_with<ApplyMomentum>({1}, weight, gradient, velocity, number); }
  Graph<16> optimized() { return fused(make.graph); }
};
}  // namespace

TEST_CASE("fuse update: product and update become one node with the operands and settings of both") {
  Training s;
  s.update(s.gradient());
  const Graph<16> after = s.optimized();
  REQUIRE(after.count == 6);
  const Node& node = after[5];
  REQUIRE(is<ProductUpdate>(node));
  CHECK(node.operands == 5);
  const int expected[]{s.weight, s.g, s.x, s.velocity, s.number};
  for (int k = 0; k < 5; ++k) CHECK(node.operand[k] == expected[k]);
  const auto config = unpack<ProductUpdate::Config>(node.attributes);
  CHECK(config.transposed == Transposed::first);
  CHECK(config.update == ApplyMomentum::id);
  CHECK(config.setting[0] == 1);
  CHECK(node.type == weight_type);
}

TEST_CASE("fuse update: a gradient that is read elsewhere, or an output, is stored") {
  Training shown;
  shown.update(shown.gradient());
  shown.make.output(shown.product);
  CHECK(shown.optimized().count == 7);

  Training read;
  const int gradient = read.gradient();
  read.make.output(read.make.call<Relu>(gradient));
  read.update(gradient);
  CHECK(count_of<ProductUpdate>(read.optimized()) == 0);
}

TEST_CASE("fuse update: only what is a product of matrices and an update of each element joins") {
  Training other;
  other.update(other.make.call<Relu>(other.gradient()));
  CHECK(!has_fusible_update(other.make.graph));
  CHECK(count_of<ProductUpdate>(other.optimized()) == 0);

  Training unknown;
  unknown.make.call<Update>(unknown.weight, unknown.gradient(), unknown.velocity);
  CHECK(count_of<ProductUpdate>(unknown.optimized()) == 0);

  Training half;
  for (int id = 0; id < half.make.graph.count; ++id) half.make.graph[id].type.dtype = Dtype::float16;
  half.update(half.gradient());
  CHECK(count_of<ProductUpdate>(half.optimized()) == 0);
}

TEST_CASE("fuse update: what the product reads must be unchanged at the update, and not what it writes") {
  constexpr TensorType square{{4, 4}, 2, Dtype::float32};
  for (const int changed_first : {0, 1}) {
    Maker<16> make;
    const int x = make.input(square), other = make.parameter(square), weight = make.parameter(square, 1),
              velocity = make.state(square), number = make.state(numbers, 64);
    const int gradient = make.call_with<MatMul>({Transposed::first}, x, other);
    if (changed_first) make.call<Update>(other, x);
    make.call<ApplyMomentum>(weight, gradient, velocity, number);
    CHECK(count_of<ProductUpdate>(fused(make.graph)) == 1 - changed_first);
  }
  Maker<16> make;
  const int x = make.input(square), weight = make.parameter(square), velocity = make.state(square),
            number = make.state(numbers, 64);
  make.call<ApplyMomentum>(weight, make.call<MatMul>(x, weight), velocity, number);
  make.call<ApplyMomentum>(weight, make.call<MatMul>(velocity, x), velocity, number);
  CHECK(count_of<ProductUpdate>(fused(make.graph)) == 0);
}

TEST_CASE("fuse update: a gradient that was widened is read in 16 bits, unless it changes in between, or was rounded") {
  constexpr TensorType square{{4, 4}, 2, Dtype::float32};
  const auto casts_after = [&](Dtype before, bool changes, bool shown) {
    Maker<16> make;
    const int half = make.input(square.with(before)), weight = make.parameter(square), velocity = make.state(square),
              number = make.state(numbers, 64);
    const int gradient = make.call_with<ops::Cast>({Dtype::float32}, half);
    if (changes) make.call<Update>(half, half);
    if (shown) make.output(gradient);
    make.call<ApplyMomentum>(weight, gradient, velocity, number);
    const Graph<16> after = fused(make.graph);
    return count_of<ops::Cast>(after);
  };
  CHECK(casts_after(Dtype::bfloat16, false, false) == 0);
  CHECK(casts_after(Dtype::float16, false, false) == 0);
  CHECK(casts_after(Dtype::bfloat16, false, true) == 1);
  CHECK(casts_after(Dtype::bfloat16, true, false) == 1);
  CHECK(casts_after(Dtype::float64, false, false) == 1);
}
