// Nodes with bodies in a trace: which values they take and give, without the bundles between.
#pragma once
#include <tenon/more.hpp>

namespace tenon::inline TENON_ABI::onnx {

/// Whether a node is a loop or a condition.
[[gnu::cold]] inline bool has_bodies(const Node& node) { return is<ops::Loop>(node) || is<ops::Branch>(node); }

/// The members of a bundle, or of a bundle of bundles.
[[gnu::cold]] inline void add_members(const Builder& graph, int id, std::vector<int>& members) {
  const Node& node = graph.nodes[std::size_t(id)];
  if (!is<ops::Pack>(node)) return members.push_back(id);
  for (int k = 0; k < node.operands; ++k) add_members(graph, node.operand[k], members);
}

/// The nodes whose values a loop or a condition takes: those of the inputs of its first body, then those that the
/// second one captures.
[[gnu::cold]] inline std::vector<int> members_with_bodies(const Builder& graph, const Node& node,
                                                          const ops::LoopConfig& c) {
  std::vector<int> bundle[ops::bundle_kinds], members;
  std::size_t next[ops::bundle_kinds]{};
  const int before = is<ops::Branch>(node);
  for (int k = 0; k < ops::bundle_kinds; ++k)
    if (const auto kind = static_cast<ops::BundleKind>(k); c.has_operand(kind))
      add_members(graph, node.operand[before + c.operand_of(kind)], bundle[k]);
  const auto take = [&](const Body& body, int from) {
    for (int i = from; i < body.inputs(); ++i) {
      const bool is_slice = i >= c.carried && i < c.carried + c.sliced;
      const auto kind = std::size_t(ops::bundle_kind(body.node[i].type, is_slice));
      members.push_back(bundle[kind][next[kind]++]);
    }
  };
  take(body_of(graph, c.body), 0);
  if (c.condition >= 0) take(body_of(graph, c.condition), body_of(graph, c.condition).given);
  return members;
}

/// The loop or condition whose results a node takes apart, or -1.
[[gnu::cold]] inline int call_with_bodies(const Builder& graph, const Node& node) {
  if (!is<ops::Unpack>(node) && !is<ops::Reshape>(node)) return -1;
  int from = node.operand[0];
  if (graph.nodes[std::size_t(from)].op->part) from = graph.nodes[std::size_t(from)].operand[0];
  return has_bodies(graph.nodes[std::size_t(from)]) ? from : -1;
}

/// Which of these results a node is: a number of an output of the body. -1: it is none.
[[gnu::cold]] inline int result_with_bodies(const Builder& graph, const Node& node) {
  const int from = call_with_bodies(graph, node);
  if (from < 0) return -1;
  const Node& call = graph.nodes[std::size_t(from)];
  const auto c = unpack<ops::LoopConfig>(call.attributes);
  const Node& part = graph.nodes[std::size_t(node.operand[0])];
  const int number = part.op->part ? part_number(part) : 0;
  const Body body = body_of(graph, c.body);
  ops::BundleSize size[ops::result_kinds];
  for (int k = 0; k < body.outputs; ++k) {
    TensorType type = body.node[body.output[k]].type;
    if (is<ops::Loop>(call) && k >= c.carried) type = ops::detail::with_turns(type, c.turns);
    const ops::BundleKind kind = ops::bundle_kind(type);
    const ops::BundlePlace place = size[int(kind)].add(type);
    if (c.result_of(kind) != number) continue;
    if (is<ops::Reshape>(node)) return k;  // the only one of its kind
    const auto item = unpack<ops::BundleItem>(node.attributes);
    if (item.batched == place.batched && item.fixed == place.fixed) return k;
  }
  return -1;
}

}  // namespace tenon::onnx
