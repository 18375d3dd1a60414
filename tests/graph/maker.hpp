// Graphs built by hand, without a trace and without a kernel: what the tests of passes and plans start from.
#pragma once
#include <tenon/graph/ir/part.hpp>
#include <tenon/lowering/compiled.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

namespace graph_test {

using namespace tenon;

/// A product whose kernel can apply an epilogue; its channels are the last axis.
struct Product : Operator<Product, "TestProduct"> {
  static constexpr KernelFacts facts{.epilogue = true};
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
/// A product of images; its channels are axis 1.
struct ImageProduct : Operator<ImageProduct, "TestImageProduct"> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1};
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
/// Anything that is neither element-wise nor a product.
struct Mix : Operator<Mix, "TestMix"> {
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
/// The same, but cheap to compute again.
struct Cheap : Operator<Cheap, "TestCheap"> {
  static constexpr KernelFacts facts{.cheap = true};
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
/// Changes operand 0, and a training state if it is operand 2. Operand 1 is what the change is made from.
struct Update : Operator<Update, "TestUpdate"> {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};

inline constexpr TensorType rows{{dyn, 4}, 2, Dtype::float32};
inline constexpr TensorType vector4{{4}, 1, Dtype::float32};
inline constexpr TensorType number{{}, 0, Dtype::float32};

/// Appends nodes to a graph; each function returns the number of its node.
template <int N>
struct Maker {
  Graph<N> graph;

  constexpr int add(const Node& node) {
    graph.node[graph.count] = node;
    return graph.count++;
  }
  constexpr int leaf(const OperatorInfo& op, const TensorType& type, int immediate) {
    Node node;
    node.op = &op;
    node.type = type;
    node.immediate = std::uint64_t(immediate);
    return add(node);
  }
  constexpr int input(const TensorType& type, int column = 0) { return leaf(info<ops::Input>, type, column); }
  constexpr int parameter(const TensorType& type, int entry = 0) { return leaf(info<ops::ParameterLeaf>, type, entry); }
  constexpr int state(const TensorType& type, int offset = 0) { return leaf(info<ops::StateLeaf>, type, offset); }
  constexpr int constant(double value, Dtype dtype = Dtype::float32) { return add(constant_node(dtype, value)); }

  template <class Op, class... Ids>
  constexpr int call_with(const typename Op::Config& config, Ids... ids) {
    Node node;
    node.op = &info<Op>;
    OperandTypes types;
    for (int id : {ids...}) {
      types.type[types.count++] = graph[id].type;
      node.operand[node.operands++] = id;
    }
    Sentence error;
    node.type = first_of(Op::shape(types, config, error));
    node.attributes = pack(config);
    return add(node);
  }
  /// Result k of a call.
  constexpr int result(int call, int k) {
    OperandTypes types;
    for (; types.count < graph[call].operands; ++types.count)
      types.type[types.count] = graph[graph[call].operand[types.count]].type;
    const int part = call_with<ops::ResultPart>({k}, call);
    graph[part].type = rules_of(graph[call].op).results(types, graph[call].attributes)[k];
    graph[call].parts |= 1 << k;
    return part;
  }
  template <class Op, class... Ids>
  constexpr int call(Ids... ids) {
    return call_with<Op>(typename Op::Config{}, ids...);
  }
  constexpr int reshape(const TensorType& type, int id) { return call_with<ops::Reshape>(ops::Reshape::to(type), id); }
  constexpr void output(int id) { graph.output[graph.outputs++] = id; }
};

/// Number of nodes of an operator.
template <class Op, int N>
int count_of(const Graph<N>& graph) {
  int count = 0;
  for (int id = 0; id < graph.count; ++id) count += is<Op>(graph[id]);
  return count;
}
/// The first node of an operator, -1 if there is none.
template <class Op, int N>
int find(const Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id)
    if (is<Op>(graph[id])) return id;
  return -1;
}

}  // namespace graph_test
