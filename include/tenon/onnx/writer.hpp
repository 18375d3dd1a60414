// Writes a traced network as an ONNX file.
#pragma once
#include <algorithm>
#include <array>

#include <tenon/io/file.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/onnx/rules/elementwise.hpp>
#include <tenon/onnx/rules/movement.hpp>
#include <tenon/onnx/rules/product.hpp>
#include <tenon/onnx/rules/recurrent.hpp>
#include <tenon/onnx/rules/reduce.hpp>

namespace tenon::inline TENON_ABI::onnx {

/// Files beyond this many bytes have their parameters in a second file: a message of protobuf has at most 2 GB.
inline constexpr std::uint64_t most_bytes = 1'900'000'000;

[[gnu::cold]] inline const Rule* find_rule(const Node& node) {
  for (const std::span<const Rule> rules : std::initializer_list<std::span<const Rule>>{
           elementwise_rules, movement_rules, product_rules, recurrent_rules, reduce_rules})
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
      : to_{graph}, parameters_(parameters), path_(path) {
    to_.value.resize(graph.nodes.size());
    for (int entry = 0; entry < parameters.entries(); ++entry)
      if (parameters.table()[entry].parameter) bytes_ += std::uint64_t(parameters.table()[entry].dims.bytes(1));
    is_external_ = bytes_ > most;
  }

  [[gnu::cold]] void write(std::string_view network) {
    find_read_nodes();
    for (int id = 0; id < int(to_.graph.nodes.size()); ++id)
      if (is_read_[std::size_t(id)]) write_node(id);
    for (std::size_t k = 0; k < to_.graph.outputs.size(); ++k) {
      const int id = to_.graph.outputs[k];
      const std::string name = to_.graph.outputs.size() == 1 ? "output" : "output_" + std::to_string(k);
      to_.message.add_node("Identity", name, {{value(id)}}, {{name}}, {});
      to_.message.add_output(name, to_.graph.nodes[std::size_t(id)].type);
    }
    if (is_external_) write_elements(elements_, path_ + ".data");
    io::write_file(path_, to_.message.bytes(network, "1"));
  }

 private:
  const std::string& value(int id) const { return to_.value[std::size_t(id)]; }
  void find_read_nodes() {
    is_read_.assign(to_.graph.nodes.size(), false);
    for (const int id : to_.graph.outputs) is_read_[std::size_t(id)] = true;
    for (std::size_t id = to_.graph.nodes.size(); id-- > 0;)
      for (int k = 0; is_read_[id] && k < to_.graph.nodes[id].operands; ++k)
        is_read_[std::size_t(to_.graph.nodes[id].operand[k])] = true;
    for (std::size_t id = 0; id < to_.graph.nodes.size(); ++id)  // an input is one of the file, be it read or not
      if (is<ops::Input>(to_.graph.nodes[id])) is_read_[id] = true;
  }
  void write_node(int id) {
    const Node& node = to_.graph.nodes[std::size_t(id)];
    std::string& name = to_.value[std::size_t(id)];
    const std::string path = path_of(parameters_.table(), node.scope);
    if (is<ops::Input>(node)) {
      name = "input_" + std::to_string(node.immediate);
      to_.message.add_input(name, node.type);
      if (to_.batch.empty() && node.type.batched() && node.type[0] == -1) to_.batch = name;
    } else if (is<ops::ParameterLeaf>(node)) {
      name = parameter_name(parameters_.table(), int(node.immediate));
      write_parameter(name, parameters_.ref(int(node.immediate)).view());
    } else if (is<ops::Constant>(node)) {
      name = NodeExport(to_, id, path)
                 .constant(node.type.dtype, {},
                           {reinterpret_cast<const char*>(&node.immediate), std::size_t(node.type.bytes(1))});
    } else if (node.op->part) {
      name = value(node.operand[0]) + "_" + std::to_string(part_number(node));
    } else {
      name = (path.empty() ? "" : path + "/") + std::string(node.op->name) + "_" + std::to_string(id);
      NodeExport call(to_, id, path);
      const Rule* const rule = find_rule(node);
      if (!rule) call.refuse("has no rule for ONNX: the rules are in tenon/onnx/rules");
      rule->write(call);
    }
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
  Export to_;
  const ParameterList& parameters_;
  std::string path_;
  std::uint64_t bytes_ = 0, offset_ = 0;
  bool is_external_ = false;
  std::vector<bool> is_read_{};
  std::vector<std::string_view> elements_{};
};

}  // namespace tenon::onnx
