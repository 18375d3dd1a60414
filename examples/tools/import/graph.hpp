// The graph of an ONNX file on its way to a header: values, calls, and the mistakes that were found.
#pragma once
#include <algorithm>
#include <deque>
#include <set>

#include "value.hpp"

namespace importer {

/// Numbers in code are marked, so that cells that differ by numbers alone can become one template.
inline std::string number(const std::string& role, long value) {
  return '\1' + role + ':' + std::to_string(value) + '\2';
}

/// A tensor of the checkpoint, under the name that its cell gives it.
struct Weight {
  std::string name;
  ReadTensor tensor;
  bool is_trained = true;
};

/// A cell that a call belongs to, or a parameter that it reads.
struct Member {
  std::string kind;  // of its name, if nothing else says it: "conv"
  std::string type;  // "nn::Dense<4, 8>"
  std::vector<Weight> weights;
  std::string parameter;  // of a bare parameter: its type without <...> is "Parameter"
};

/// What an attention computes with; the three are views of one value, or of several.
struct Attention {
  View queries, keys, values;
  long heads, features;
  bool is_causal, has_usual_scale;
};

/// The body of a loop, or a branch.
struct Lambda {
  std::vector<int> inputs, outputs, calls;
  std::vector<std::string> hints;     // what the file calls its inputs
  std::vector<std::size_t> groups;    // how many inputs each of its arguments has: several are a tuple
  std::vector<std::size_t> returned;  // the same of what it returns; nothing: one each
};

/// An expression of Tenon.
struct Call {
  std::string scope;  // of modules: "layer1.0.conv1"
  std::string code;   // $0, $1: its inputs; @: its member
  std::vector<int> inputs, outputs;
  int level = 0;  // 0 call, 1 product, 2 sum, 3 comparison
  std::optional<Member> member;
  std::string name;  // of the member, if the file says it
  std::string cell;  // what computes the same as a cell, for nn::SequentialCell: "nn::ReLU"
  std::string node;  // for messages
  std::optional<Attention> attention;
  std::vector<Lambda> lambdas;         // of a call with bodies: #0 and #1 among its arguments
  std::vector<std::string> arguments;  // of such a call, whose code is its name
  std::vector<std::size_t> returned;   // how many results each member of its result has; nothing: one each
  std::vector<std::string> hints;      // what its results may be called
  std::size_t explicit_inputs = 0;     // of such a call; the others are read by its bodies
  bool is_inner = false;               // of a lambda
  bool is_dropped = false;
};

struct Options {
  std::map<std::string, std::vector<long>> extents;  // of dynamic axes
};

/// All that the steps share.
struct Graph {
  const ReadModel& model;
  const Options& options;
  std::deque<Value> values{};
  std::map<std::string, int> id_of{};
  std::vector<Call> calls{};
  std::vector<int> inputs{}, outputs{};
  std::vector<std::string> symbols{"n"};                // names of the dynamic axes; 0 is the batch
  std::map<std::string, int> symbol_of{};               // of the file's name
  std::vector<std::string> problems{};                  // a sentence for each node that is out of scope
  std::vector<std::string> notes{};                     // what differs from the file
  std::map<std::pair<int, std::string>, int> tables{};  // a constant as a parameter of a module
  std::map<std::string, int> uses{};                    // how many nodes read a value, by its name
  std::set<std::string> cell_weights{};                 // names of values that the tool computes (cell_weights.hpp)
  std::map<std::string, std::map<char, std::string>> rotary_groups{};  // by their output (rotary.hpp)
  std::deque<ReadTensor> made{};                                       // constants of attributes
  std::size_t made_bytes = 0, given_bytes = 0;  // of these constants, and of the tensors of the file
  bool needs_more = false;                      // <tenon/more.hpp>

  int add_value(std::string name) {
    values.push_back({});
    values.back().name = std::move(name);
    return int(values.size()) - 1;
  }
  Value& operator[](int id) { return values[std::size_t(id)]; }
  const Value& operator[](int id) const { return values[std::size_t(id)]; }

  /// An extent in code: a number, or an expression of the names of dynamic axes.
  std::string extent(const Extent& e, const std::string& role = "Size") const {
    if (e.is_number()) return number(role, e.factor);
    std::string result = e.factor == 1 ? "" : number("Factor", e.factor);
    for (std::size_t k = 0; k < symbols.size(); ++k)
      for (int times = 0; times < e.power[k]; ++times)
        result += (result.empty() ? "" : " * ") + (k == 0 ? std::string("dyn") : symbols[k]);
    return result;
  }
  std::string shape(const Shape& shape) const {
    std::string result = "Shape<";
    for (std::size_t k = 0; k < shape.size(); ++k) result += (k ? ", " : "") + extent(shape[k]);
    return result + ">";
  }
};

/// A node with what the rules ask of it.
class NodeView {
 public:
  NodeView(Graph& graph, const ReadNode& of, std::string around) : g(graph), node(of), scope(std::move(around)) {
    for (const std::string& name : node.inputs)
      ids.push_back(name.empty() ? -1 : graph.id_of.count(name) ? graph.id_of.at(name) : -1);
  }
  Graph& g;
  const ReadNode& node;
  std::string scope;
  std::vector<int> ids;

  /// Says that this node is out of scope, and why.
  [[noreturn]] void refuse(std::string_view why) const {
    throw_error<ValueError>("node '", node.name.empty() ? node.outputs.empty() ? "?" : node.outputs[0] : node.name,
                            "' (", node.domain.empty() ? "" : node.domain + ".", node.operation, " of version ",
                            g.model.opset, "): ", why, ".");
  }
  bool has(std::size_t k) const { return k < ids.size() && ids[k] >= 0; }
  int id(std::size_t k) const {
    if (!has(k)) refuse(text("its input ", k, " is missing or not computed"));
    return ids[k];
  }
  Value& in(std::size_t k) const { return g[id(k)]; }
  int uses(std::size_t k) const { return g.uses[node.inputs[k]]; }
  const Shape& shape(std::size_t k) const {
    if (!in(k).has_shape) refuse(text("the shape of its input ", k, " is not known"));
    return in(k).shape;
  }
  std::size_t rank(std::size_t k) const { return shape(k).size(); }

  long whole(std::string_view name, long without) const {
    const auto* const a = node.find(name);
    return a && !a->whole.empty() ? long(a->whole[0]) : without;
  }
  float real(std::string_view name, float without) const {
    const auto* const a = node.find(name);
    return a && a->has_number ? a->number : without;
  }
  std::string word(std::string_view name, std::string without) const {
    const auto* const a = node.find(name);
    return a ? a->text : without;
  }
  std::vector<long> list(std::string_view name, std::size_t count, long without) const {
    const auto* const a = node.find(name);
    std::vector<long> result(a ? a->whole.begin() : std::vector<std::int64_t>::const_iterator{},
                             a ? a->whole.end() : std::vector<std::int64_t>::const_iterator{});
    if (!a) result.assign(count, without);
    if (count && result.size() != count) refuse(text("its attribute '", std::string(name), "' has another length"));
    return result;
  }
  std::size_t axis(long axis, std::size_t rank) const {
    if (axis < -long(rank) || axis >= long(rank)) refuse(text("axis ", axis, " is none of ", rank));
    return std::size_t(axis < 0 ? axis + long(rank) : axis);
  }
  /// A list of whole numbers: an attribute of older versions, or an input that is known.
  std::optional<std::vector<Extent>> numbers(std::string_view attribute, std::size_t input) const {
    if (const auto* const a = node.find(attribute)) return std::vector<Extent>(a->whole.begin(), a->whole.end());
    if (!has(input)) return std::nullopt;
    if (!in(input).whole) refuse(text("its input ", input, " must be numbers that the file knows"));
    return *in(input).whole;
  }
  std::vector<long> plain_numbers(std::string_view attribute, std::size_t input) const {
    std::vector<long> result;
    if (const auto all = numbers(attribute, input))
      for (const Extent& each : *all) {
        if (!each.is_number()) refuse("an axis depends on a dynamic extent");
        result.push_back(each.factor);
      }
    return result;
  }

  /// Output k as a new value of this shape.
  Value& out(std::size_t k, const Shape& shape, int type) const {
    const int made = g.add_value(node.outputs[k]);
    g.id_of[node.outputs[k]] = made;
    Value& v = g[made];
    v.shape = shape, v.has_shape = true, v.type = type, v.scope = scope;
    for (const int each : ids) join_origin(v, each);
    return v;
  }
  void alias(std::size_t k, int value) const { g.id_of[node.outputs[k]] = value; }
  /// A call whose results are all outputs of the node.
  Call& call(std::string code, std::vector<int> inputs, int level = 0) const {
    Call c;
    c.scope = scope, c.code = std::move(code), c.inputs = std::move(inputs), c.level = level, c.node = node.name;
    for (const int each : c.inputs)
      if (g[each].call >= 0 && g.calls[std::size_t(g[each].call)].code == "@" &&
          g.calls[std::size_t(g[each].call)].member->parameter.empty())
        refuse("rows of a table by position are in scope only as a summand");
      else if (g[each].special == Special::scores || g[each].special == Special::attended)
        refuse("it reads the scores or the weights of an attention: only a causal mask is in scope, and no weights as "
               "an output (need_weights=False)");
      else if (g[each].special >= Special::view) refuse("it reads the steps of a sequence before the samples");
      else if (g[each].call < 0 && g[each].origin < 0) refuse("it computes with constants alone");
    for (const std::string& name : node.outputs)
      if (!name.empty()) {
        if (!g.id_of.count(name)) refuse(text("its output '", name, "' is not in scope"));
        c.outputs.push_back(g.id_of.at(name));
        g[c.outputs.back()].call = int(g.calls.size());
      }
    g.calls.push_back(std::move(c));
    return g.calls.back();
  }

 private:
  void join_origin(Value& v, int input) const {
    if (input < 0) return;
    const int from = g[input].origin;
    if (g[input].is_constant()) return;
    v.origin = v.origin == -1 || v.origin == from ? from : -2;
  }
};

}  // namespace importer
