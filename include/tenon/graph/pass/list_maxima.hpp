// Lists instead of images for the gradient of max pooling: of the pixels under a window only the greatest gets one.
#pragma once
#include <tenon/graph/ir/list_form.hpp>
#include <tenon/graph/ir/step.hpp>
#include <tenon/graph/plan/buffers.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ArgmaxConv2dWeight;
struct MaxPool2dGrad;
struct ReluGrad;
struct SumOfLists;
}  // namespace ops

namespace detail {

/// The max pooling whose gradient node `id` is together with that of the ReLU before it, else -1. Where a maximum is
/// greater than 0, so is the element that it comes from: the result of the ReLU need not be read.
template <int N>
constexpr int pooling_after_relu(const Graph<N>& graph, int id) {
  const Node& node = graph[id];
  if (!is<ops::MaxPool2dGrad>(node) || node.steps != 1) return -1;
  const Step step = Step::unpack(graph.program[node.program], graph.program[node.program + 1]);
  const int pooling = maker(graph, node.operand[0]);
  return is<ops::ReluGrad>(step) && step.source[0] == 1 && step.source[1] == 0 &&
                 node.operand[2] == graph[pooling].operand[0]
             ? pooling
             : -1;
}

/// The form in which the kernel of a node makes its result a list, or reads operand `at` as one.
template <int N>
constexpr ListForm form_of(const Graph<N>& graph, const Node& node, int at = -1) {
  TensorType operand[max_operands]{};
  for (int k = 0; k < node.operands; ++k) operand[k] = graph[node.operand[k]].type;
  return rules_of(node.op).lists ? rules_of(node.op).list_form(node.type, operand, node.attributes, at) : ListForm{};
}

/// Puts gradients of weights before the sums of the same lists, which find there what those add up anyway
/// (backend/cpu/conv/max_pool/argmax_lists.hpp). No effect between changes what they read, values of the batch.
template <int N>
constexpr void sum_lists_late(Graph<N>& graph) {
  for (int sum = 0; sum < graph.count; ++sum) {
    if (!is<ops::SumOfLists>(graph[sum])) continue;
    int from = sum + 1;
    while (from < graph.count &&
           !(is<ops::ArgmaxConv2dWeight>(graph[from]) && graph[from].operand[1] == graph[sum].operand[0]))
      ++from;
    if (from == graph.count) continue;
    const Node node = graph[from];
    bool moves = true;
    for (int k = 0; k < node.operands; ++k) moves &= node.operand[k] < sum && graph[node.operand[k]].type.batched();
    if (!moves) continue;
    for (int id = from; id > sum; --id) graph[id] = graph[id - 1];
    graph[sum] = node;
    const auto move = [&](int& id) { id = id == from ? sum : id >= sum && id < from ? id + 1 : id; };
    for (int id = sum + 1; id < graph.count; ++id)
      for (int k = 0; k < graph[id].operands; ++k) move(graph[id].operand[k]);
    for (int k = 0; k < graph.outputs; ++k) move(graph.output[k]);
    ++sum;
  }
}
}  // namespace detail

/// Whether a node is a gradient of max pooling whose kernel can make lists.
template <int N>
constexpr bool has_maxima(const Graph<N>&, const Node& node) {
  return is<ops::MaxPool2dGrad>(node) && rules_of(node.op).lists;
}

/// Makes a list of the gradient of max pooling and of the ReLU before it, if the kernels of all its readers can read
/// one: the gradients of a convolution and of its bias. O(nodes x max poolings).
template <int N>
constexpr Graph<N> list_maxima(const Graph<N>& before) {
  Graph<N> graph = before;
  for (int id = 0; id < graph.count; ++id) {
    const int pooling = detail::pooling_after_relu(graph, id);
    if (pooling < 0) continue;
    ListForm form = detail::form_of(graph, graph[id]);
    for (int k = 0; k < graph.outputs; ++k)
      if (graph.output[k] == id) form = {};
    const auto each_read = [&](auto body) {
      for (int reader = id + 1; reader < graph.count; ++reader)
        for (int k = 0; k < graph[reader].operands; ++k)
          if (graph[reader].operand[k] == id) body(graph[reader], k);
    };
    each_read([&](const Node& reader, int k) { form = common(form, detail::form_of(graph, reader, k)); });
    if (form == ListForm{} || form == ListForm::any()) continue;
    each_read([&](Node& reader, int) {
      reader.op = rules_of(reader.op).listed;
      if (is<ops::SumOfLists>(reader)) reader.attributes = pack(form);  // its segments end at a place
    });
    Node& list = graph[id];
    list.op = rules_of(list.op).listed;
    list.attributes = pack(form);
    list.operand[2] = list.operand[1], list.operand[1] = list.operand[0], list.operand[0] = pooling;
    list.steps = 0;
  }
  detail::sum_lists_late(graph);
  return graph;
}

}  // namespace tenon
