// Groups of nodes that are one operator, such as the five nodes of GELU; and which nodes are read at all.
#pragma once
#include "graph.hpp"

namespace importer {

/// Matches trees of nodes with patterns such as "Mul(x,Sigmoid(x))": numbers are constants, a letter is any value, the
/// same each time; "m:Sqrt(x)" calls a value m, too. The order of two operands does not count, nor do casts to float32
/// between the nodes.
class Matcher {
 public:
  using Values = std::map<char, std::string>;  // what the letters are

  Matcher(const std::vector<ReadNode>& nodes, const std::vector<ReadTensor>& initializers) {
    for (const ReadNode& node : nodes) {
      for (const std::string& output : node.outputs) made_by_[output] = &node;
      if (const auto* const a = node.find("value");
          node.operation == "Constant" && a && a->has_tensor && !node.outputs.empty())
        take_scalar(node.outputs[0], a->tensor);
    }
    for (const ReadTensor& t : initializers) take_scalar(t.name, t);
  }
  const ReadNode* maker(const std::string& value) const {
    const auto found = made_by_.find(value);
    return found == made_by_.end() ? nullptr : found->second;
  }
  /// The values of the letters; none if the node is something else.
  Values match(const ReadNode& node, std::string_view pattern) const {
    Values values;
    std::string_view rest = pattern;
    rest.remove_prefix(rest.find('(') + 1);
    if (pattern.substr(0, pattern.find('(')) != node.operation) return {};
    return operands(node, rest, values) ? values : Values();
  }
  /// A constant of one element.
  std::optional<double> scalar(const std::string& value) const {
    const auto found = scalars_.find(value);
    return found == scalars_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void take_scalar(const std::string& name, const ReadTensor& t) {
    if (t.count() != 1) return;
    if (const auto all = elements_of(t); all.size() == 1) scalars_[name] = all[0];
  }
  /// Takes the text of one operand off the pattern.
  static std::string_view take(std::string_view& rest) {
    std::size_t depth = 0, end = 0;
    for (; end < rest.size() && (depth > 0 || (rest[end] != ',' && rest[end] != ')')); ++end)
      depth += rest[end] == '(' ? 1 : rest[end] == ')' ? std::size_t(-1) : 0;
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return one;
  }
  bool operands(const ReadNode& node, std::string_view rest, Values& values) const {
    const std::string_view a = take(rest);
    if (node.inputs.empty()) return false;
    if (rest.empty()) return one(node.inputs[0], a, values);
    const std::string_view b = take(rest);
    if (node.inputs.size() < 2) return false;
    for (const bool swapped : {false, true}) {
      if (swapped && node.operation != "Mul" && node.operation != "Add") break;
      Values found = values;
      if (one(node.inputs[swapped], a, found) && one(node.inputs[!swapped], b, found)) {
        values = std::move(found);
        return true;
      }
    }
    return false;
  }
  static bool is_cast_to_float(const ReadNode& node) {
    const auto* const to = node.operation == "Cast" && !node.inputs.empty() ? node.find("to") : nullptr;
    return to && to->whole == std::vector<std::int64_t>{1};
  }
  bool one(const std::string& value, std::string_view pattern, Values& values) const {
    if (pattern.size() == 1 && pattern[0] >= 'a') return values.try_emplace(pattern[0], value).first->second == value;
    const std::size_t open = pattern.find('(');
    if (open == pattern.npos) {
      const auto found = scalar(value);
      const double wanted = std::stod(std::string(pattern));
      return found && std::abs(*found - wanted) <= 1e-5 * std::abs(wanted);
    }
    const ReadNode* made = maker(value);
    for (int casts = 0; made && is_cast_to_float(*made) && casts < 4; ++casts) made = maker(made->inputs[0]);
    if (!made) return false;
    const bool is_called = pattern.size() > 1 && pattern[1] == ':';
    const std::string& name = made->outputs[0];
    if (is_called && values.try_emplace(pattern[0], name).first->second != name) return false;
    const std::size_t begin = is_called ? 2 : 0;
    return made->operation == pattern.substr(begin, open - begin) && operands(*made, pattern.substr(open + 1), values);
  }

  std::map<std::string, const ReadNode*> made_by_;
  std::map<std::string, double> scalars_;
};

/// A mean of all elements, with axes that a squeeze takes away: PyTorch's newer exporter writes it so.
inline void join_squeeze(ReadNode& node, const Matcher& matcher) {
  if (node.operation != "Squeeze" || node.inputs.size() != 1 || node.find("axes")) return;
  const ReadNode* const reduced = matcher.maker(node.inputs[0]);
  if (!reduced || !reduced->operation.starts_with("Reduce") || reduced->inputs.size() != 1 || reduced->find("axes"))
    return;
  if (const auto* const a = reduced->find("noop_with_empty_axes"); a && !a->whole.empty() && a->whole[0]) return;
  node.operation = reduced->operation, node.inputs = reduced->inputs;
  node.attributes.emplace_back();
  node.attributes.back().name = "keepdims", node.attributes.back().whole = {0};
}
/// Replaces such groups by one node each.
inline void join_nodes(ReadGraph& model) {
  struct Joined {
    std::string_view pattern, operation, approximate;
  };
  static constexpr Joined all[]{
      {"Mul(Mul(x,Add(Erf(Div(x,1.4142135)),1)),0.5)", "Gelu", "none"},
      {"Mul(Mul(x,0.5),Add(Erf(Div(x,1.4142135)),1))", "Gelu", "none"},
      {"Mul(0.5,Mul(x,Add(1,Tanh(Mul(0.7978846,Add(x,Mul(0.044715,Mul(x,Mul(x,x)))))))))", "Gelu", "tanh"},
      {"Mul(Mul(0.5,x),Add(1,Tanh(Mul(0.7978846,Add(x,Mul(0.044715,Pow(x,3)))))))", "Gelu", "tanh"},
      {"Mul(x,Sigmoid(x))", "Silu", ""},
  };
  const std::vector<ReadNode> before = model.nodes;  // patterns see what was there
  const Matcher matcher(before, model.initializers);
  for (ReadNode& node : model.nodes) {
    for (const auto& a : node.attributes)
      if (a.graph) join_nodes(*a.graph);
    join_squeeze(node, matcher);
    for (const Joined& j : all)
      if (const Matcher::Values values = matcher.match(node, j.pattern); !values.empty()) {
        node.operation = j.operation;
        node.inputs = {values.at('x')};
        node.attributes.clear();
        if (!j.approximate.empty()) {
          node.attributes.emplace_back();
          node.attributes.back().name = "approximate", node.attributes.back().text = j.approximate;
        }
        break;
      }
  }
}

/// Calls f(name) for all that a node reads, in its graphs, too.
template <class F>
void each_read(const ReadNode& node, const F& f) {
  for (const std::string& input : node.inputs) f(input);
  for (const auto& a : node.attributes) {
    if (!a.graph) continue;
    for (const ReadNode& inner : a.graph->nodes) each_read(inner, f);
    for (const auto& output : a.graph->outputs) f(output.name);
  }
}

/// Removes nodes whose results no other node reads, and which are no output of the model.
inline void drop_unread_nodes(ReadGraph& model) {
  std::set<std::string> read;
  for (const auto& output : model.outputs) read.insert(output.name);
  std::vector<ReadNode> kept;
  for (std::size_t k = model.nodes.size(); k-- > 0;) {
    ReadNode& node = model.nodes[k];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](const auto& name) { return read.count(name) > 0; }))
      continue;
    each_read(node, [&](const std::string& name) { read.insert(name); });
    for (const auto& a : node.attributes)
      if (a.graph) drop_unread_nodes(*a.graph);
    kept.push_back(std::move(node));
  }
  model.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace importer
