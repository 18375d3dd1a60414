// NodeExport: what a rule sees of one call of an operator, and the nodes of ONNX that it makes of it.
#pragma once
#include <initializer_list>
#include <map>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/graph/ir/builder.hpp>
#include <tenon/onnx/message.hpp>
#include <tenon/onnx/operator_types.hpp>

namespace tenon::inline TENON_ABI::onnx {

/// A trace on its way into a file, the network's or a body's: its nodes, and what they are called in the file.
struct TraceExport {
  const Builder& graph;
  std::string name{};                // before the names of a body's values
  std::vector<std::string> value{};  // of each node

  /// A path of cells as the beginning of a name, which no other trace has.
  std::string place(const std::string& path) const {
    return name.empty() || path.empty() ? name + path : name + "/" + path;
  }
};

/// What all traces of a file share.
struct Export {
  ModelMessage message{};
  std::map<std::string, std::string> numbers{};  // constants that are there: their bytes and type -> name
  std::map<std::string, Dtype> dtypes{};         // of values, by their names
  std::string batch{};                           // an input whose leading extent is n
  int made = 0;                                  // values and constants that the rules have named
};

/// One call of an operator.
class NodeExport {
 public:
  using Names = std::initializer_list<std::string>;
  using Attributes = std::initializer_list<Attribute>;

  NodeExport(Export& to, const TraceExport& trace, int id, std::string path)
      : to_(to), trace_(trace), id_(id), path_(std::move(path)) {}

  const Node& node() const { return trace_.graph.nodes[std::size_t(id_)]; }
  template <class Op>
  typename Op::Config config() const {
    return unpack<typename Op::Config>(node().attributes);
  }
  int operands() const { return node().operands; }
  const TensorType& type(int k) const { return trace_.graph.nodes[std::size_t(node().operand[k])].type; }
  const TensorType& result() const { return node().type; }
  const std::string& input(int k) const { return trace_.value[std::size_t(node().operand[k])]; }
  /// The name of result k.
  std::string output(int k = 0) const {
    const std::string& first = trace_.value[std::size_t(id_)];
    return k ? first + "_" + std::to_string(k) : first;
  }

  /// A node whose result has a unique name, which is returned: with a dot, unlike those of results of the network.
  std::string make(std::string_view operation, Names inputs, Attributes attributes = {}) {
    std::string name = trace_.place(path_) + "/" + std::string(operation) + "." + std::to_string(to_.made++);
    write(operation, {inputs.begin(), inputs.size()}, {name}, attributes);
    return name;
  }
  std::string make_list(std::string_view operation, std::span<const std::string> inputs, Attributes attributes = {}) {
    std::string name = trace_.place(path_) + "/" + std::string(operation) + "." + std::to_string(to_.made++);
    write(operation, inputs, {name}, attributes);
    return name;
  }
  /// The file, for the graph of a node that has one.
  ModelMessage& message() { return to_.message; }
  /// The node whose result is that of the call.
  void give(std::string_view operation, Names inputs, Attributes attributes = {}) {
    write(operation, {inputs.begin(), inputs.size()}, {output()}, attributes);
  }
  void give_as(const std::string& result, std::string_view operation, Names inputs, Attributes attributes = {}) {
    write(operation, {inputs.begin(), inputs.size()}, {result}, attributes);
  }
  void give_list(std::string_view operation, std::span<const std::string> inputs, Attributes attributes = {}) {
    write(operation, inputs, {output()}, attributes);
  }
  /// The node whose results have these names.
  void give_lists(std::string_view operation, std::span<const std::string> inputs, std::span<const std::string> outputs,
                  std::span<const Attribute> attributes) {
    to_.message.add_node(operation, output(), inputs, outputs, attributes);
  }
  void give_lists(std::string_view operation, std::span<const std::string> inputs, std::span<const std::string> outputs,
                  Attributes attributes) {
    give_lists(operation, inputs, outputs, {attributes.begin(), attributes.size()});
  }
  /// A node of several results, with a name for each. The name "" leaves a result out.
  void give_all(std::string_view operation, Names inputs, Names outputs, Attributes attributes = {}) {
    write(operation, {inputs.begin(), inputs.size()}, outputs, attributes);
  }

  /// A constant list of whole numbers, as ONNX takes shapes and axes.
  std::string whole_numbers(const std::vector<std::int64_t>& values) {
    return constant(Dtype::int64, {std::int64_t(values.size())},
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
  }
  /// A constant of rank 0.
  std::string number(double value, Dtype dtype) {
    const std::uint64_t bytes = constant_bytes(dtype, value);
    return constant(dtype, {}, {reinterpret_cast<const char*>(&bytes), bytes_of(dtype)});
  }
  /// The number of the call, which the node has beside its operands.
  std::string immediate() {
    return constant(result().dtype, {}, {reinterpret_cast<const char*>(&node().immediate), bytes_of(result().dtype)});
  }
  std::string constant(Dtype dtype, const std::vector<std::int64_t>& extents, std::string_view bytes) {
    std::string key = std::to_string(int(dtype));
    for (const std::int64_t extent : extents) key += "," + std::to_string(extent);
    std::string& name = to_.numbers[key + ":" + std::string(bytes)];
    if (name.empty()) {
      name = "/constant." + std::to_string(to_.made++);  // no parameter has a slash in its name
      to_.dtypes[name] = dtype;
      to_.message.add_tensor(name, dtype, extents, bytes);
    }
    return name;
  }
  /// The extents of a type for Reshape: the one that depends on n is what is left.
  std::string shape_of(const TensorType& type) {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < type.rank; ++axis) extents.push_back(type[axis] < 0 ? -1 : type[axis]);
    return whole_numbers(extents);
  }
  /// The extents of a type as numbers, with n from the input of the network.
  std::string extents_of(const TensorType& type) {
    if (!type.batched()) return shape_of(type);
    if (to_.batch.empty()) refuse("needs n, which is the leading extent of no input");
    std::string n = make("Slice", {make("Shape", {to_.batch}), whole_numbers({0}), whole_numbers({1})});
    if (type[0] != -1) n = make("Mul", {n, whole_numbers({-type[0]})});
    if (type.rank == 1) return n;
    std::vector<std::int64_t> others;
    for (int axis = 1; axis < type.rank; ++axis) others.push_back(type[axis]);
    return make("Concat", {n, whole_numbers(others)}, {{"axis", 0}});
  }

  /// Throws ValueError: this call has no place in an ONNX file.
  [[noreturn, gnu::cold]] void refuse(std::string_view why) const {
    const Location& at = node().location;
    throw_error<ValueError>("export_onnx: ", node().op->name, " in ", path_.empty() ? "the network" : path_, " (",
                            std::string_view(at.file), ":", at.line, ") ", why, ".");
  }

 private:
  static std::size_t bytes_of(Dtype dtype) { return std::size_t(TensorType{{}, 0, dtype}.bytes(1)); }
  /// The dtype of a value of this call, or nothing if no rule has made it.
  std::optional<Dtype> dtype_of_value(const std::string& name) const {
    for (int k = 0; k < operands(); ++k)
      if (input(k) == name) return type(k).dtype;
    const auto found = to_.dtypes.find(name);
    return found == to_.dtypes.end() ? std::nullopt : std::optional(found->second);
  }
  /// The dtype of the first result of a node whose values have `dtype`.
  static std::optional<Dtype> dtype_of_result(std::string_view operation, std::optional<Dtype> dtype,
                                              std::span<const Attribute> attributes) {
    if (operation == "Shape" || operation == "ArgMax" || operation == "ArgMin") return Dtype::int64;
    if (!keeps_dtype(operation)) return Dtype::bool_;
    if (operation != "Cast") return dtype;
    for (int k = 0; k <= int(Dtype::float64); ++k)
      if (data_type(static_cast<Dtype>(k)) == attributes[0].number) return static_cast<Dtype>(k);
    return std::nullopt;
  }
  // A node is called as its first result, so that all names differ.
  void write(std::string_view operation, std::span<const std::string> inputs, Names outputs, Attributes attributes) {
    const std::size_t values = operation == "OneHot" ? 2 : operation == "Where" ? 1 : 0;  // the first of them
    const auto dtype = dtype_of_value(inputs[values]);
    std::vector<std::string> taken(inputs.begin(), inputs.end());
    const bool has_places = operation == "Gather" || operation == "GatherElements" || operation == "ScatterElements";
    if (const auto places = has_places ? dtype_of_value(inputs[1]) : std::nullopt;
        places && *places != Dtype::int32 && *places != Dtype::int64)
      taken[1] = cast(inputs[1], Dtype::int64);
    if (dtype && !takes(operation, *dtype)) return write_in_stand_in(operation, taken, outputs, attributes, *dtype);
    if (const auto result = dtype_of_result(operation, dtype, {attributes.begin(), attributes.size()}))
      for (const std::string& output : outputs) {
        if (operation == "TopK" && &output != outputs.begin()) break;  // places
        to_.dtypes[output] = *result;
      }
    to_.message.add_node(operation, *outputs.begin(), taken, {outputs.begin(), outputs.size()},
                         {attributes.begin(), attributes.size()});
  }
  std::string cast(const std::string& value, Dtype to) { return make("Cast", {value}, {{"to", data_type(to)}}); }
  /// The node between casts: it does not take values of `dtype`.
  void write_in_stand_in(std::string_view operation, std::vector<std::string> inputs, Names outputs,
                         Attributes attributes, Dtype dtype) {
    const auto carrier = stand_in(operation, dtype);
    if (!carrier)
      refuse(text("is ", operation, " of ", tenon::name(dtype),
                  " in ONNX, which version 17 does not have: cast its operands, cast<float>(x)"));
    for (std::string& each : inputs)
      if (dtype_of_value(each) == dtype) each = cast(each, *carrier);
    std::vector<std::string> results(outputs.begin(), outputs.end());
    const std::size_t cast_back = !keeps_dtype(operation) ? 0 : operation == "TopK" ? 1 : results.size();
    for (std::size_t k = 0; k < cast_back; ++k)
      if (!results[k].empty())
        results[k] = trace_.place(path_) + "/" + std::string(operation) + "." + std::to_string(to_.made++);
    to_.message.add_node(operation, results[0], inputs, results, {attributes.begin(), attributes.size()});
    for (std::size_t k = 0; k < cast_back; ++k)
      if (!results[k].empty()) give_as(outputs.begin()[k], "Cast", {results[k]}, {{"to", data_type(dtype)}});
    if (!cast_back) to_.dtypes[results[0]] = operation.starts_with("Arg") ? Dtype::int64 : Dtype::bool_;
  }
  Export& to_;
  const TraceExport& trace_;
  int id_;
  std::string path_;
};

/// How the calls of an operator are written to the file. The rules are in onnx/rules.
struct Rule {
  int id;  // operator_id
  void (*write)(NodeExport& call);
};

}  // namespace tenon::onnx
