#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

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
