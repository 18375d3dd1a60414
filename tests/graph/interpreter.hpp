// What a graph computes, as symbols: two graphs with equal symbols compute equal bits, whatever the kernels do.
#pragma once
#include <algorithm>
#include <map>
#include <vector>

#include "maker.hpp"

namespace graph_test {

/// The content of a buffer: a hash of the expression that it came from, or a number known to the compiler.
struct Symbol {
  std::uint64_t hash = 0;
  bool constant = false;
  double number = 0;
};

/// What can be seen of a run: the outputs, and what parameters and states hold in the end, by kind and number.
struct Seen {
  std::vector<std::uint64_t> outputs;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> kept;
  bool operator==(const Seen&) const = default;
};

template <int N>
class Interpreter {
 public:
  explicit Interpreter(const Graph<N>& graph) : graph_(graph) {}

  Seen run() {
    for (int id = 0; id < graph_.count; ++id) execute(id);
    Seen seen;
    for (int k = 0; k < graph_.outputs; ++k) seen.outputs.push_back(value(graph_.output[k]).hash);
    for (const auto& [leaf, buffer] : leaves_)
      if (changed_[buffer]) seen.kept[leaf] = buffer_[buffer].hash;
    return seen;
  }

 private:
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return hash_number(a, hash_number(b, 77)); }
  static std::uint64_t hash_of(const TensorType& t) {
    std::uint64_t h = std::uint64_t(t.rank) * 16 + std::uint64_t(t.dtype);
    for (int axis = 0; axis < t.rank; ++axis) h = mixed(h, std::uint64_t(t.extent[axis] + 1000));
    return h;
  }
  static Symbol constant_symbol(Dtype dtype, double number) {
    const std::uint64_t bytes = constant_bytes(dtype, number);
    return {mixed(bytes, std::uint64_t(dtype)), true, number};
  }
  const Symbol& value(int id) const { return buffer_.at(place_[std::size_t(id)]); }

  // An operand as an element-wise step sees it: where it is broadcast, its own shape matters.
  Symbol operand(const Node& node, int k) const {
    const Node& from = graph_[node.operand[k]];
    Symbol s = value(node.operand[k]);
    if (!(from.type == node.type) && !s.constant) s.hash = mixed(s.hash, hash_of(from.type));
    return s;
  }
  static Symbol step(const OperatorInfo* op, int id, Dtype dtype, const Symbol* in, int count) {
    if (id == ops::Identity::id || id == ops::StopGradient::id) return in[0];
    const bool all_constant = std::all_of(in, in + count, [](const Symbol& s) { return s.constant; });
    if (all_constant && op && op->has_fold) {
      const double folded = rules_of(op).fold(dtype, in[0].number, count > 1 ? in[1].number : 0);
      if (folded == folded) return constant_symbol(dtype, folded);
    }
    if (id == ops::Mul::id)
      for (int k = 0; k < 2; ++k)
        if (in[k].constant && in[k].number == 1) return in[1 - k];
    std::uint64_t h = mixed(std::uint64_t(id), std::uint64_t(dtype));
    for (int k = 0; k < count; ++k) h = mixed(h, in[k].hash);
    return {h};
  }
  static const OperatorInfo* operator_with(int id) {
    for (const OperatorInfo* op :
         {&info<ops::Add>, &info<ops::Mul>, &info<ops::Relu>, &info<ops::Identity>, &info<ops::StopGradient>})
      if (op->id == id) return op;
    return nullptr;
  }
  // The fused steps of a node; `own` is the operator's own result in an epilogue.
  Symbol steps(const Node& node, const Symbol* own) const {
    std::vector<Symbol> results;
    for (int i = 0; i < node.steps; ++i) {
      const Step s = Step::unpack(graph_.program[node.program + 2 * i], graph_.program[node.program + 2 * i + 1]);
      Symbol in[max_sources];
      int count = 0;
      for (; count < max_sources && s.source[count] != no_source; ++count) {
        const int from = s.source[count];
        if (from >= step_result) in[count] = results.at(std::size_t(from - step_result));
        else if (own) in[count] = from == 0 ? *own : operand(node, from + 1);
        else in[count] = operand(node, from);
      }
      results.push_back(step(operator_with(s.op), s.op, node.type.dtype, in, count));
    }
    return results.back();
  }
  // Result k of a call.
  static Symbol further(const Symbol& call, int k) { return {mixed(call.hash, std::uint64_t(k))}; }
  // What a list of argmaxes replaces: the gradients of max pooling and of the ReLU before it.
  Symbol listed(const Node& node) const {
    const Node& pooling = graph_[node.operand[0]];
    const ops::Pool2dGradAttributes attributes(unpack<ops::Pool2dAttributes>(pooling.attributes), node.type);
    std::uint64_t h = mixed(mixed(std::uint64_t(ops::MaxPool2dGrad::id), hash_of(node.type)), 0);
    for (int word : pack(attributes).word) h = mixed(h, std::uint64_t(word));
    for (int k : {1, 2}) h = mixed(mixed(h, value(node.operand[k]).hash), hash_of(graph_[node.operand[k]].type));
    const Symbol in[]{value(pooling.operand[0]), {h}};
    return step(nullptr, ops::ReluGrad::id, node.type.dtype, in, 2);
  }
  // The operator that reads the whole gradient instead of a list of argmaxes.
  static int without_list(const Node& node) {
    if (is<ops::ArgmaxConv2dWeight>(node)) return ops::Conv2dBackwardWeight::id;
    if (is<ops::ArgmaxConv2dInput>(node)) return ops::Conv2dBackwardInput::id;
    if (is<ops::SumOfLists>(node)) return ops::SumTo::id;
    return node.op->id;
  }
  Symbol computed(const Node& node) const {
    if (is<ops::Fused>(node)) return steps(node, nullptr);
    if (is<ops::MaxPoolList>(node)) return listed(node);
    Symbol in[max_operands];
    for (int k = 0; k < node.operands; ++k) in[k] = operand(node, k);
    if (node.op->elementwise) return step(node.op, node.op->id, node.type.dtype, in, node.operands);
    std::uint64_t h = mixed(std::uint64_t(without_list(node)), hash_of(node.type));
    h = mixed(h, node.immediate);
    const Attributes attributes = is<ops::SumOfLists>(node) ? pack(ops::SumTo::to(node.type)) : node.attributes;
    for (int word : attributes.word) h = mixed(h, std::uint64_t(word));
    const int own_operands = node.op->kernel.epilogue ? 2 : node.operands;
    for (int k = 0; k < own_operands; ++k)
      h = mixed(mixed(h, value(node.operand[k]).hash), hash_of(graph_[node.operand[k]].type));
    const Symbol own{h};
    return node.steps ? steps(node, &own) : own;
  }
  void execute(int id) {
    const Node& node = graph_[id];
    std::size_t& place = place_[std::size_t(id)];
    if (node.op->view) {
      place = place_[std::size_t(node.operand[0])];
    } else if (node.op->leaf) {
      place = leaf(node);
    } else if (node.op->effect) {
      std::uint64_t h = std::uint64_t(node.op->id);
      for (int k = 0; k < node.operands; ++k) h = mixed(h, value(node.operand[k]).hash);
      change(node.operand[0], h);
      if (node.operands > 2) change(node.operand[2], mixed(h, 2));
      place = place_[std::size_t(node.operand[0])];
    } else {
      place = new_buffer(node.op->part ? further(value(node.operand[0]), part_number(node)) : computed(node));
    }
  }
  std::size_t leaf(const Node& node) {  // leaves of one kind and number are one buffer
    const std::pair<int, std::uint64_t> key{node.op->id, mixed(node.immediate, hash_of(node.type))};
    const auto known = leaves_.find(key);
    if (known != leaves_.end()) return known->second;
    return leaves_[key] = new_buffer(is<ops::Constant>(node) ? constant_symbol(node.type.dtype, constant_value(node))
                                                             : Symbol{mixed(key.second, std::uint64_t(key.first))});
  }
  std::size_t new_buffer(const Symbol& s) {
    buffer_.push_back(s);
    changed_.push_back(false);
    return buffer_.size() - 1;
  }
  void change(int id, std::uint64_t hash) {
    buffer_[place_[std::size_t(id)]] = {hash};
    changed_[place_[std::size_t(id)]] = true;
  }

  const Graph<N>& graph_;
  std::vector<std::size_t> place_ = std::vector<std::size_t>(N + 1);  // buffer of each node
  std::vector<Symbol> buffer_;
  std::vector<bool> changed_;
  std::map<std::pair<int, std::uint64_t>, std::size_t> leaves_;
};

template <int N>
Seen interpret(const Graph<N>& graph) {
  return Interpreter<N>(graph).run();
}

/// True if every operand stands before its user and every output exists.
template <int N>
bool in_order(const Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id)
    for (int k = 0; k < graph[id].operands; ++k)
      if (graph[id].operand[k] < 0 || graph[id].operand[k] >= id) return false;
  for (int k = 0; k < graph.outputs; ++k)
    if (graph.output[k] < 0 || graph.output[k] >= graph.count) return false;
  return true;
}

/// True if every fused step reads what its kernel can read: in an epilogue a number, the result's shape, or one value
/// per channel; in a chain what broadcasts to the result; everywhere one dtype, and results of earlier steps only.
template <int N>
bool kernels_can_run(const Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id) {
    const Node& node = graph[id];
    const int own = is<ops::Fused>(node) ? 0 : 2;
    if (node.steps > max_steps || node.operands > max_operands || node.program + 2 * node.steps > graph.program_length)
      return false;
    for (int k = own; node.steps && k < node.operands; ++k) {
      const TensorType t = graph[node.operand[k]].type;
      TensorType wider;
      if (t.dtype != node.type.dtype || !ops::broadcast(t, node.type, wider) || !(wider == node.type)) return false;
      const int channel = node.op->kernel.channel_axis < 0 ? node.type.rank - 1 : node.op->kernel.channel_axis;
      if (own && !(t == node.type) && !(t.count(1) == 1 && !t.batched()) && t.count(1) != node.type.extent[channel])
        return false;
    }
    for (int i = 0; i < node.steps; ++i)
      for (int from : Step::unpack(0, graph.program[node.program + 2 * i + 1]).source)
        if (from != no_source && (from >= step_result ? from - step_result >= i : from > node.operands - own))
          return false;
  }
  return true;
}

}  // namespace graph_test
