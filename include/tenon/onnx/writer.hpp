// Writes a traced network as an ONNX file.
#pragma once
#include <algorithm>
#include <array>
#include <set>

#include <tenon/io/file.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/onnx/bodies.hpp>
#include <tenon/onnx/rules/arithmetic.hpp>
#include <tenon/onnx/rules/elementwise.hpp>
#include <tenon/onnx/rules/movement.hpp>
#include <tenon/onnx/rules/places.hpp>
#include <tenon/onnx/rules/product.hpp>
#include <tenon/onnx/rules/recurrent.hpp>
#include <tenon/onnx/rules/reduce.hpp>
#include <tenon/onnx/rules/resample.hpp>

namespace tenon::inline TENON_ABI::onnx {

/// Files beyond this many bytes have their parameters in a second file: a message of protobuf has at most 2 GB.
inline constexpr std::uint64_t most_bytes = 1'900'000'000;

[[gnu::cold]] inline const Rule* find_rule(const Node& node) {
  for (const std::span<const Rule> rules :
       std::initializer_list<std::span<const Rule>>{arithmetic_rules, elementwise_rules, movement_rules, places_rules,
                                                    product_rules, recurrent_rules, reduce_rules, resample_rules})
    for (const Rule& rule : rules)
      if (node.op->id == rule.id) return &rule;
  return nullptr;
}

/// The path of a cell, or of the network itself: "blocks/0/attention".
[[gnu::cold]] inline std::string path_of(const Entry* entries, int scope) {
  std::string path = parameter_name(entries, scope);
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

/// Writes a traced network. `parameters` has what the trace knows by the number of an entry.
class Writer {
 public:
  Writer(const Builder& graph, const ParameterList& parameters, const std::string& path, std::uint64_t most)
      : graph_(graph), parameters_(parameters), path_(path) {
    for (int entry = 0; entry < parameters.entries(); ++entry)
      if (parameters.table()[entry].parameter) {
        names_.insert(parameter_name(parameters.table(), entry));
        bytes_ += std::uint64_t(parameters.table()[entry].dims.bytes(1));
      }
    is_external_ = bytes_ > most;
  }

  [[gnu::cold]] void write(std::string_view network) {
    TraceExport trace{graph_};
    write_inputs(trace);
    write_nodes(trace);
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) give_output(trace, k, output_name(k));
    if (is_external_) write_elements(elements_, path_ + ".data");
    io::write_file(path_, to_.message.bytes(network, "1"));
  }

 private:
  std::string output_name(std::size_t k) const {
    return graph_.outputs.size() == 1 ? "output" : "output_" + std::to_string(k);
  }
  static std::string input_name(const Node& node) { return "input_" + std::to_string(node.immediate); }
  /// The name of a parameter; with an underscore, if an input or an output of the file has it.
  std::string name_of_parameter(int entry) const {
    std::set<std::string> taken;
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) taken.insert(output_name(k));
    for (const Node& node : graph_.nodes)
      if (is<ops::Input>(node)) taken.insert(input_name(node));
    std::string name = parameter_name(parameters_.table(), entry);
    if (!taken.count(name)) return name;
    do name += "_";
    while (taken.count(name) || names_.count(name));
    return name;
  }
  /// The name, with underscores until no parameter's name begins with it: results of a node append to it.
  std::string apart_from_parameters(std::string name) const {
    const auto begins = [&](const std::string& parameter) { return parameter.starts_with(name); };
    while (std::any_of(names_.begin(), names_.end(), begins)) name += "_";
    return name;
  }
  static const std::string& value(const TraceExport& t, int id) { return t.value[std::size_t(id)]; }
  static std::vector<bool> read_nodes(const Builder& graph) {
    std::vector<bool> is_read(graph.nodes.size(), false);
    for (const int id : graph.outputs) is_read[std::size_t(id)] = true;
    for (std::size_t id = graph.nodes.size(); id-- > 0;)
      for (int k = 0; is_read[id] && k < graph.nodes[id].operands; ++k)
        is_read[std::size_t(graph.nodes[id].operand[k])] = true;
    for (std::size_t id = 0; id < graph.nodes.size(); ++id)  // an input is one of the file, be it read or not
      if (is<ops::Input>(graph.nodes[id])) is_read[id] = true;
    return is_read;
  }
  /// In the order of the call, which is not that in which they are read.
  void write_inputs(TraceExport& t) {
    t.value.resize(t.graph.nodes.size());
    std::vector<int> inputs;
    for (int id = 0; id < int(t.graph.nodes.size()); ++id)
      if (is<ops::Input>(t.graph.nodes[std::size_t(id)])) inputs.push_back(id);
    std::sort(inputs.begin(), inputs.end(), [&](int a, int b) {
      return t.graph.nodes[std::size_t(a)].immediate < t.graph.nodes[std::size_t(b)].immediate;
    });
    for (const int id : inputs) write_node(t, id);
  }
  /// Writes what the results of a trace need. Inputs of a body have names already.
  void write_nodes(TraceExport& t) {
    const std::vector<bool> is_read = read_nodes(t.graph);
    t.value.resize(t.graph.nodes.size());
    for (int id = 0; id < int(t.graph.nodes.size()); ++id)
      if (is_read[std::size_t(id)] && value(t, id).empty()) write_node(t, id);
  }
  /// Result k of a trace as an output of its graph: SSA wants a name that no other value has.
  void give_output(const TraceExport& t, std::size_t k, const std::string& name) {
    const int id = t.graph.outputs[k];
    to_.message.add_node("Identity", name, {{value(t, id)}}, {{name}}, {});
    to_.message.add_output(name, t.graph.nodes[std::size_t(id)].type);
  }
  void write_node(TraceExport& t, int id) {
    const Node& node = t.graph.nodes[std::size_t(id)];
    std::string& name = t.value[std::size_t(id)];
    const std::string path = path_of(parameters_.table(), node.scope);
    if (is<ops::Input>(node)) {
      name = input_name(node);
      to_.message.add_input(name, node.type);
      if (to_.batch.empty() && node.type.batched() && node.type[0] == -1) to_.batch = name;
    } else if (is<ops::ParameterLeaf>(node)) {
      name = name_of_parameter(int(node.immediate));
      write_parameter(name, parameters_.ref(int(node.immediate)).view());
    } else if (is<ops::Constant>(node)) {
      name = NodeExport(to_, t, id, path)
                 .constant(node.type.dtype, {},
                           {reinterpret_cast<const char*>(&node.immediate), std::size_t(node.type.bytes(1))});
    } else if (node.op->part) {
      name = value(t, node.operand[0]) + "_" + std::to_string(part_number(node));
    } else if (is<ops::Pack>(node)) {
      name = "bundle";  // the node with bodies reads its members
    } else if (const int result = result_with_bodies(t.graph, node); result >= 0) {
      name = value(t, call_with_bodies(t.graph, node)) + "_" + std::to_string(result);
    } else {
      name = t.place(path) + (t.place(path).empty() ? "" : "/") + std::string(node.op->name) + "_" + std::to_string(id);
      name = apart_from_parameters(std::move(name));
      NodeExport call(to_, t, id, path);
      if (has_bodies(node)) return write_bodies(t, call);
      const Rule* const rule = find_rule(node);
      if (!rule) call.refuse("has no rule for ONNX: the rules are in tenon/onnx/rules");
      rule->write(call);
    }
  }

  using Names = std::vector<std::string>;
  /// Writes a body here, whose inputs have these names. Returns the trace, which knows the names of its results.
  TraceExport write_body(const Builder& body, const Names& inputs, const std::string& name) {
    TraceExport trace{body, name, inputs};
    write_nodes(trace);
    return trace;
  }
  void write_bodies(const TraceExport& t, NodeExport& call) {
    const auto c = unpack<ops::LoopConfig>(call.node().attributes);
    const bool is_branch = is<ops::Branch>(call.node());
    Names outside, given, first, results;
    for (const int id : members_with_bodies(t.graph, call.node(), c)) outside.push_back(value(t, id));
    const Body body = body_of(t.graph, c.body);
    for (int k = 0; k < body.outputs; ++k) results.push_back(call.output() + "_" + std::to_string(k));
    if (is_branch) return write_if(t, call, c, outside, results);
    if (c.condition >= 0) return write_loop(t, call, c, outside, results);
    write_scan(t, call, c, outside, results);
  }
  /// The names of the inputs of the second body, the condition or the other branch: what both are given, then what
  /// this one captures.
  static Names of_second_body(const Builder& graph, const ops::LoopConfig& c, const Names& given,
                              const Names& outside) {
    Names names(given.begin(), given.begin() + body_of(graph, c.condition).given);
    names.insert(names.end(), outside.begin() + body_of(graph, c.body).inputs(), outside.end());
    return names;
  }
  void write_if(const TraceExport& t, NodeExport& call, const ops::LoopConfig& c, const Names& outside,
                const Names& results) {
    const Names inputs(outside.begin(), outside.begin() + body_of(t.graph, c.body).inputs());
    const auto branch = [&](int number, const Names& names, const std::string& name) {
      const Builder body = forward_of_body(t.graph, number, false);
      to_.message.begin_graph();
      const TraceExport trace = write_body(body, names, name);
      for (std::size_t k = 0; k < results.size(); ++k) give_output(trace, k, name + "/result_" + std::to_string(k));
      return to_.message.end_graph(name);
    };
    InnerGraph then = branch(c.body, inputs, call.output() + "/then");
    InnerGraph otherwise = branch(c.condition, of_second_body(t.graph, c, inputs, outside), call.output() + "/else");
    call.give_lists("If", Names{call.input(0)}, results,
                    {{"then_branch", std::move(then)}, {"else_branch", std::move(otherwise)}});
  }
  /// The names of the inputs of a body that runs in turns: its own, then what it captures. Its own are declared.
  Names declared_inputs(const Builder& body, int own, const Names& outside, const std::string& name) {
    Names inputs(outside);
    for (int k = 0; k < own; ++k) {
      inputs[std::size_t(k)] = name + "/given_" + std::to_string(k);
      to_.message.add_input(inputs[std::size_t(k)], body.nodes[std::size_t(k)].type);
    }
    return inputs;
  }
  void write_scan(const TraceExport& t, NodeExport& call, const ops::LoopConfig& c, const Names& outside,
                  const Names& results) {
    const Builder body = forward_of_body(t.graph, c.body, false);
    const int own = c.carried + c.sliced;
    const std::string name = call.output() + "/body";
    to_.message.begin_graph();
    const TraceExport trace = write_body(body, declared_inputs(body, own, outside, name), name);
    std::vector<std::int64_t> from, to;  // the axes of turns
    for (int k = c.carried; k < own; ++k) from.push_back(body.nodes[std::size_t(k)].type.batched());
    for (std::size_t k = 0; k < results.size(); ++k) {
      give_output(trace, k, name + "/result_" + std::to_string(k));
      if (int(k) >= c.carried) to.push_back(body.nodes[std::size_t(body.outputs[k])].type.batched());
    }
    std::vector<Attribute> attributes{{"body", to_.message.end_graph(name)}, {"num_scan_inputs", c.sliced}};
    attributes.emplace_back("scan_input_axes", from);
    if (!to.empty()) attributes.emplace_back("scan_output_axes", to);
    call.give_lists("Scan", Names(outside.begin(), outside.begin() + own), results, attributes);
  }
  /// ONNX asks before the first turn, and at the end of each turn for the next one.
  void write_loop(const TraceExport& t, NodeExport& call, const ops::LoopConfig& c, const Names& outside,
                  const Names& results) {
    const Builder body = forward_of_body(t.graph, c.body, false),
                  condition = forward_of_body(t.graph, c.condition, false);
    const auto holds = [&](const Names& carried, const std::string& name) {
      const TraceExport asked = write_body(condition, of_second_body(t.graph, c, carried, outside), name);
      return call.make("Reshape", {value(asked, condition.outputs[0]), call.whole_numbers({})});
    };
    const std::string name = call.output() + "/body", first = holds(outside, call.output() + "/condition");
    to_.message.begin_graph();
    to_.message.add_input(name + "/turn", {{}, 0, Dtype::int64});
    to_.message.add_input(name + "/condition", {{}, 0, Dtype::bool_});
    const Names inputs = declared_inputs(
        body, c.carried, Names(outside.begin(), outside.begin() + body_of(t.graph, c.body).inputs()), name);
    const TraceExport trace = write_body(body, inputs, name);
    Names next;
    for (const int id : body.outputs) next.push_back(value(trace, id));
    const std::string goes_on = name + "/goes_on";
    to_.message.add_node("Identity", goes_on, {{holds(next, name + "/condition")}}, {{goes_on}}, {});
    to_.message.add_output(goes_on, {{}, 0, Dtype::bool_});
    for (std::size_t k = 0; k < results.size(); ++k) give_output(trace, k, name + "/result_" + std::to_string(k));
    Names taken{c.turns ? call.number(c.turns, Dtype::int64) : "", first};
    taken.insert(taken.end(), outside.begin(), outside.begin() + c.carried);
    call.give_lists("Loop", taken, results, {{"body", to_.message.end_graph(name)}});
  }

  void write_parameter(const std::string& name, const AnyTensor& of) {
    const std::string_view bytes(static_cast<const char*>(of.data), of.bytes());
    if (!is_external_) return to_.message.add_tensor(name, of.dtype, of.shape(), bytes);
    const std::string file = path_.substr(path_.rfind('/') + 1) + ".data";
    to_.message.add_external_tensor(name, of.dtype, of.shape(), file, offset_, bytes.size());
    elements_.push_back(bytes);
    offset_ += (bytes.size() + page - 1) / page * page;
  }
  static void write_elements(const std::vector<std::string_view>& elements, const std::string& path) {
    static constexpr std::array<std::byte, page> zeros{};
    std::vector<std::span<const std::byte>> parts;
    for (const std::string_view bytes : elements) {
      parts.push_back(std::as_bytes(std::span(bytes.data(), bytes.size())));
      parts.push_back(std::span(zeros).first((page - bytes.size() % page) % page));
    }
    io::write_file(path, parts);
  }

  static constexpr std::size_t page = 4096;  // where the elements of a tensor may begin
  const Builder& graph_;
  Export to_{};
  const ParameterList& parameters_;
  std::string path_;
  std::set<std::string> names_{};  // of the parameters
  std::uint64_t bytes_ = 0, offset_ = 0;
  bool is_external_ = false;
  std::vector<std::string_view> elements_{};
};

}  // namespace tenon::onnx
