// What mine.cpp and yours.cpp share: the ways on which an operator becomes code, and the results.
//
// Both units have operators of the same names and other code, one of them in a namespace of its own, the others in an
// anonymous namespace.
#pragma once
#include <cstdint>

#include <tenon/nn/jit.hpp>
#include <tenon/nn/optim/update/moment_update.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/relu.hpp>

/// What an operator makes of 3 (or what remains of 3, if it is an update) on each way.
struct Results {
  float eager, graph, chain, epilogue;
  bool operator==(const Results&) const = default;
};
struct UnitResults {
  Results own_namespace, anonymous;
  float update;
};
UnitResults mine(), yours();

template <class Op>
struct Alone {
  constexpr auto operator()(auto x) const { return tenon::apply<Op>(std::source_location::current(), x); }
};
template <class Op>
struct Chain {
  constexpr auto operator()(auto x) const { return Alone<Op>()(relu(x)); }
};
template <class Op>
struct Epilogue {
  constexpr auto operator()(auto x, auto y) const { return Alone<Op>()(matmul(x, y)); }
};

template <class Op>
Results results_of() {
  using namespace tenon;
  using One = Tensor<float, Shape<1, 1>>;
  const One one = One::full(1), three = One::full(3);
  return {Alone<Op>()(three)(0, 0), jit(Alone<Op>())(three)(0, 0), jit(Chain<Op>())(three)(0, 0),
          jit(Epilogue<Op>())(three, one)(0, 0)};
}

/// A step of training by hand: a weight [2,3], its gradient as a product, and the update.
template <class Update>
struct TrainingStep {
  static constexpr tenon::Entry entry{};
  static constexpr const tenon::Entry* entries = &entry;
  static constexpr tenon::Builder trace() {
    using namespace tenon;
    Builder b;
    const TensorType weight{{2, 3}, 2, Dtype::float32}, x{{dyn, 2}, 2, Dtype::float32}, y{{dyn, 3}, 2, Dtype::float32},
        numbers{{8}, 1, Dtype::float32};
    const int parameter = b.leaf(&info<ops::ParameterLeaf>, weight, 0), a = b.leaf(&info<ops::Input>, x, 0),
              c = b.leaf(&info<ops::Input>, y, 1), moment = b.leaf(&info<ops::StateLeaf>, weight, 0),
              number = b.leaf(&info<ops::StateLeaf>, numbers, 64);
    const int gradient = b.call<ops::MatMul>({ops::Transposed::first}, a, c);
    b.call<Update>(NoConfig{}, parameter, gradient, moment, number);
    b.outputs.push_back(a);
    return b;
  }
};

/// What the update makes of a weight of 3 with a gradient of 1. -1: it did not join the product.
template <class Update>
float updated() {
  using namespace tenon;
  using Graph = Compiled<TrainingStep<Update>>;
  bool joined = false;
  for (int id = 0; id < Graph::graph.count; ++id) joined |= is<ops::ProductUpdate>(Graph::graph[id]);
  alignas(64) float weight[16]{3, 3, 3, 3, 3, 3}, state[32]{};
  const float x[]{1, 1}, y[]{1, 1, 1};
  const void* inputs[]{x, y};
  Executor executor(Graph::program);
  executor.bind(reinterpret_cast<std::byte*>(weight), reinterpret_cast<std::byte*>(state));
  executor.run(inputs, 1);
  return joined ? weight[5] : -1;
}
