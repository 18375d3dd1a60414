// The derivative of one operator at given shapes, as a small constexpr graph that the tape replays.
#pragma once
#include <tenon/graph/ir/derivative.hpp>
#include <tenon/lowering/index.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::eager {

/// The derivative as data. Nodes 0 .. operands - 1 are the operands, then the results, then their gradients.
struct Rule {
  const OperatorInfo* op = nullptr;
  const Node* node = nullptr;
  const short* kernel = nullptr;  // of each node, -1: none
  const KernelEntry* const* entry = nullptr;
  const std::uint64_t* constant = nullptr;  // bytes of each Constant node
  int operands = 0, results = 1, count = 0;
  // of an operator with several results: the rule for each set of them that have a gradient, by bits; else null
  const Rule* const* by_gradients = nullptr;
  OperandNodes gradient;                     // node that holds the gradient of an operand
  OperandNodes accumulate;                   // node whose kernel adds two such gradients
  const unsigned char* needed_by = nullptr;  // operands (bits) whose gradient needs the node
  const bool* images = nullptr;              // are there images among the node's operands?
  unsigned forgets = 0;                      // operands (bits) of which the derivative does not speak
  unsigned keeps = 0;                        // operands and results (bits) whose elements the derivative reads

  /// The first node that is computed.
  constexpr int computed() const { return operands + 2 * results; }
};

/// The results of a call that can have a gradient, as bits.
template <class Inference>
constexpr unsigned all_gradients() {
  unsigned all = 0;
  for (int k = 0; k < Inference::results.count && k < Inference::Op::returns; ++k)
    all |= unsigned(is_floating(Inference::results[k].dtype)) << k;
  return all;
}

/// Traces the derivative of a call whose results `having` (bits) have a gradient. Inference gives `Op`, `types`,
/// `results`, `attributes` as constants.
template <class Inference, unsigned having>
constexpr Builder trace_rule(OperandNodes& gradients, unsigned& forgets) {
  Builder b;
  const int operands = Inference::types.count;
  for (int k = 0; k < operands; ++k) b.leaf(&info<ops::Input>, Inference::types.type[k], 0);
  ResultNodes results, own;
  for (int k = 0; k < Inference::results.count; ++k) results[k] = b.leaf(&info<ops::Input>, Inference::results[k], 0);
  for (int k = 0; k < Inference::results.count; ++k) {
    const int gradient = b.leaf(&info<ops::Input>, Inference::results[k], 0);
    if (having >> k & 1) own[k] = gradient;
  }
  Node self;
  self.op = &info<typename Inference::Op>;
  self.operands = operands;
  for (int k = 0; k < operands; ++k) self.operand[k] = k;
  self.type = Inference::result_type;
  self.attributes = Inference::attributes;
  if (self.op->has_derivative) {
    Derivative d(b, self, results, own);
    rules_of(self.op).derivative(d);
    for (int k = 0; k < operands; ++k) gradients[k] = d.contribution(k), forgets |= unsigned(d.forgets(k)) << k;
  }
  return b;
}

template <class Inference, unsigned having = all_gradients<Inference>()>
struct RuleOf {
  static constexpr int given = Inference::types.count + Inference::results.count;  // operands and results
  static constexpr int size() {
    OperandNodes gradients;
    unsigned forgets = 0;
    return int(trace_rule<Inference, having>(gradients, forgets).nodes.size()) + Inference::types.count;
  }
  static constexpr int capacity = size();
  struct Traced {
    Graph<capacity> graph;
    OperandNodes gradient, accumulate;
    unsigned char needed_by[capacity + 1]{};
    bool images[capacity + 1]{};
    std::uint64_t constant[capacity + 1]{};
    bool broken = false;
    unsigned forgets = 0;
  };
  static constexpr Traced make() {
    Traced t;
    OperandNodes gradients;
    Builder b = trace_rule<Inference, having>(gradients, t.forgets);
    for (int k = 0; k < Inference::types.count; ++k) {
      t.gradient[k] = gradients[k];
      if (gradients[k] >= 0) t.accumulate[k] = add_node(b, gradients[k]);
    }
    t.broken = !b.error.empty();
    t.graph.count = int(b.nodes.size());
    for (int i = 0; i < t.graph.count; ++i) {
      Node& node = t.graph.node[i] = b.nodes[std::size_t(i)];
      node.op = rules_of(node.op).run_time;
      for (int k = 0; k < node.operands; ++k) t.images[i] |= is_image(t.graph[node.operand[k]].type);
      if (is<ops::Constant>(node)) t.constant[i] = node.immediate;
    }
    for (int i = t.graph.count; i-- > 0;) {
      for (int k = 0; k < Inference::types.count; ++k)
        if (t.gradient[k] == i) t.needed_by[i] |= static_cast<unsigned char>(1 << k);
      for (int k = 0; k < t.graph[i].operands; ++k) t.needed_by[t.graph[i].operand[k]] |= t.needed_by[i];
    }
    return t;
  }
  template <class Plus = ops::Add>
  static constexpr int add_node(Builder& b, int gradient) {
    return b.template call<Plus>(NoConfig{}, gradient, gradient);
  }
  static constexpr Traced traced = make();  // stands in the program, without room for a sentence
  static constexpr Sentence make_sentence() {
    if constexpr (traced.broken) {
      OperandNodes gradients;
      unsigned forgets = 0;
      Builder b = trace_rule<Inference, having>(gradients, forgets);
      for (const int g : gradients.node)
        if (g >= 0) add_node(b, g);
      return b.error;
    } else return {};
  }
  static constexpr Sentence sentence = make_sentence();
  static constexpr const auto& graph = traced.graph;  // auto: nvcc refuses the type's name here
  static constexpr KernelIndex<capacity> kernels = index_kernels(graph);
  static constexpr Rule make_rule() {
    Rule made;
    made.op = &run_time_info<typename Inference::Op>;
    made.node = graph.node;
    made.kernel = kernels.of;
    made.entry = kernel_entries<RuleOf>.entry;
    made.constant = traced.constant;
    made.operands = Inference::types.count;
    made.results = Inference::results.count;
    made.count = graph.count;
    made.gradient = traced.gradient, made.accumulate = traced.accumulate;
    made.needed_by = traced.needed_by;
    made.images = traced.images;
    made.forgets = traced.forgets;
    for (int i = made.computed(); i < graph.count; ++i)
      for (int k = 0; k < graph[i].operands; ++k)
        if (traced.needed_by[i] && graph[i].operand[k] < given) made.keeps |= 1u << graph[i].operand[k];
    for (int k = 0; k < Inference::types.count; ++k)
      if (made.gradient[k] >= 0 && made.gradient[k] < given) made.keeps |= 1u << made.gradient[k];
    if constexpr (having == all_gradients<Inference>() && (having & (having - 1)))
      add_others(made, std::make_integer_sequence<unsigned, having>());
    return made;
  }
  // The rules where fewer results have a gradient.
  template <unsigned... Fewer>
  static constexpr void add_others(Rule& made, std::integer_sequence<unsigned, Fewer...>) {
    ((made.keeps |= others<Fewer>()->keeps), ...);
    made.by_gradients = table<Fewer...>.rule;
  }
  template <unsigned fewer>
  static constexpr const Rule* others() {
    if constexpr (fewer == 0 || (fewer & ~having)) return &no_rule;
    else return &RuleOf<Inference, fewer>::rule;
  }
  static constexpr Rule no_rule{};
  template <unsigned... Fewer>
  struct Table {
    const Rule* rule[sizeof...(Fewer) + 1]{others<Fewer>()..., nullptr};
  };
  template <unsigned... Fewer>
  static constexpr Table<Fewer...> table{};
  static constexpr Rule rule = make_rule();
};

}  // namespace tenon::eager
TENON_INT_SIZES_END
