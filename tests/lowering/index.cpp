#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <unordered_map>

#include <tenon/core/random/philox.hpp>

#include "../graph/maker.hpp"

using namespace graph_test;

TEST_CASE("equal calls at equal shapes are one kernel; leaves and views have none") {
  Maker<16> make;
  const int x = make.input(rows), y = make.input(rows, 1), bias = make.parameter(vector4);
  const int a = make.call<ops::Add>(x, y), b = make.call<ops::Add>(y, a),
            view = make.reshape(TensorType{{dyn, 2, 2}, 3, Dtype::float32}, b);
  const int broadcast = make.call<ops::Add>(a, bias), product = make.call<ops::Mul>(a, b),
            other_shape = make.call<ops::Add>(view, view);
  const KernelIndex<16> index = index_kernels(make.graph);
  CHECK(index.count == 4);
  CHECK(index.of[a] == index.of[b]);
  CHECK(index.node[index.of[a]] == a);
  for (int id : {x, y, bias, view}) CHECK(index.of[id] == -1);
  for (int id : {broadcast, product, other_shape}) CHECK(index.of[id] > 0);
  CHECK(index.of[broadcast] != index.of[product]);
  CHECK(index.of[product] != index.of[other_shape]);
}

TEST_CASE("settings and fused programs are part of a kernel, numbers are not") {
  Maker<16> make;
  const int x = make.input(rows);
  const int half = make.call<ops::Mul>(x, make.constant(0.5)), third = make.call<ops::Mul>(x, make.constant(1.0 / 3));
  make.output(make.call<ops::Relu>(make.call<ops::Add>(x, half)));
  make.output(make.call<ops::Add>(make.call<ops::Relu>(x), third));
  const Graph<16> fused = fuse(make.graph);
  const KernelIndex<16> index = index_kernels(fused);
  CHECK(index.count == 2);
  const KernelIndex<16> plain = index_kernels(make.graph);
  CHECK(plain.of[half] == plain.of[third]);
  CHECK(plain.count == 3);
}

TEST_CASE("a thousand distinct kernels and as many repetitions") {
  Maker<2100> make;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1000; ++i) {
      Node node;
      node.op = &info<Mix>;
      node.type = TensorType{{i + 1}, 1, Dtype::float32};
      make.add(node);
    }
  const KernelIndex<2100> index = index_kernels(make.graph);
  CHECK(index.count == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(index.of[i] == index.of[i + 1000]);
}

TEST_CASE("kernels with one hash are two") {
  Maker<4> make;
  const int x = make.input(rows), first = make.call<Mix>(x), second = make.call<Mix>(x);
  make.graph[first].attributes = {{1, 1}};
  // the hash of the words before the two settings, and from it two pairs of settings with one hash
  KernelKey key = kernel_key(make.graph, first);
  key.length = key.arguments - 2;
  const auto with = [h = key.hash()](std::uint32_t setting) { return (h ^ setting) * 1099511628211ull; };
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  Random random(3);
  std::uint32_t a = random.word(), b = a;
  while (seen.emplace(with(a) >> 32, a).second || (b = seen[with(a) >> 32]) == a) a = random.word();
  make.graph[first].attributes = {{int(a), 77}};
  make.graph[second].attributes = {{int(b), int(std::uint32_t(with(a)) ^ 77u ^ std::uint32_t(with(b)))}};
  REQUIRE(kernel_key(make.graph, first).hash() == kernel_key(make.graph, second).hash());
  const KernelIndex<4> index = index_kernels(make.graph);
  CHECK(index.count == 2);
  CHECK(index.of[first] != index.of[second]);
}
