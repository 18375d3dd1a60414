// The messages of an ONNX file: attributes, nodes, tensors, types of values.
// Source: onnx/onnx.proto of ONNX 1.12, whose operators have version 17.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if __has_include(<protozero/pbf_writer.hpp>)
#include <protozero/pbf_writer.hpp>
#else
#include <Header tenon/onnx.hpp needs protozero. On Debian: apt-get install libprotozero-dev>
#endif

#include <tenon/core/dtype.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::onnx {

inline constexpr int ir_version = 8, operators_version = 17;

/// The number of a dtype in ONNX (TensorProto.DataType).
constexpr int data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32: return 1;
    case Dtype::uint8: return 2;
    case Dtype::int8: return 3;
    case Dtype::uint16: return 4;
    case Dtype::int16: return 5;
    case Dtype::int32: return 6;
    case Dtype::int64: return 7;
    case Dtype::bool_: return 9;
    case Dtype::float16: return 10;
    case Dtype::float64: return 11;
    case Dtype::uint32: return 12;
    case Dtype::uint64: return 13;
    case Dtype::bfloat16: return 16;
  }
  return 0;
}

/// The bytes of a GraphProto that a node has: a body of a loop or of a condition.
struct InnerGraph {
  std::string bytes;
};

/// A setting of a node: a whole number, a real one, a list of whole numbers, a text, or a graph.
struct Attribute {
  enum Kind : int { real = 1, whole = 2, text = 3, graph = 5, wholes = 7 };  // AttributeProto.AttributeType

  Attribute(std::string_view named, int value) : name(named), kind(whole), number(value) {}
  Attribute(std::string_view named, float value) : name(named), kind(real), fraction(value) {}
  Attribute(std::string_view named, const char* value) : name(named), kind(text), word(value) {}
  Attribute(std::string_view named, std::vector<std::int64_t> value)
      : name(named), kind(wholes), list(std::move(value)) {}
  Attribute(std::string_view named, InnerGraph value) : name(named), kind(graph), inner(std::move(value.bytes)) {}

  std::string_view name;
  Kind kind;
  std::int64_t number = 0;
  float fraction = 0;
  std::string_view word{};
  std::vector<std::int64_t> list{};
  std::string inner{};
};

/// The bytes of a ModelProto, to which nodes, tensors, inputs, and outputs are added. Nodes, inputs, and outputs are
/// those of the innermost graph that has begun; tensors are those of the model, which all graphs in it read.
class ModelMessage {
 public:
  void begin_graph() { graphs_.emplace_back(); }
  [[gnu::cold]] InnerGraph end_graph(std::string_view name) {
    protozero::pbf_writer(graphs_.back()).add_string(2, name.data(), name.size());
    InnerGraph ended{std::move(graphs_.back())};
    graphs_.pop_back();
    return ended;
  }
  [[gnu::cold]] void add_node(std::string_view operation, std::string_view name, std::span<const std::string> inputs,
                              std::span<const std::string> outputs, std::span<const Attribute> attributes) {
    protozero::pbf_writer graph(graphs_.back()), node(graph, 1);
    for (const std::string& input : inputs) node.add_string(1, input);
    for (const std::string& output : outputs) node.add_string(2, output);
    node.add_string(3, name.data(), name.size());
    node.add_string(4, operation.data(), operation.size());
    for (const Attribute& a : attributes) {
      protozero::pbf_writer attribute(node, 5);
      attribute.add_string(1, a.name.data(), a.name.size());
      if (a.kind == Attribute::real) attribute.add_float(2, a.fraction);
      if (a.kind == Attribute::whole) attribute.add_int64(3, a.number);
      if (a.kind == Attribute::text) attribute.add_bytes(4, a.word.data(), a.word.size());
      if (a.kind == Attribute::graph) attribute.add_message(6, a.inner);
      if (a.kind == Attribute::wholes)
        for (const std::int64_t each : a.list) attribute.add_int64(8, each);
      attribute.add_enum(20, a.kind);
    }
  }
  /// A tensor whose elements are in the file.
  [[gnu::cold]] void add_tensor(std::string_view name, Dtype dtype, std::span<const std::int64_t> extents,
                                std::string_view bytes) {
    protozero::pbf_writer graph(graphs_.front()), tensor(graph, 5);
    for (const std::int64_t extent : extents) tensor.add_int64(1, extent);
    tensor.add_enum(2, data_type(dtype));
    tensor.add_string(8, name.data(), name.size());
    tensor.add_bytes(9, bytes.data(), bytes.size());
  }
  /// A tensor whose elements are bytes offset .. offset + length - 1 of another file in the same folder.
  [[gnu::cold]] void add_external_tensor(std::string_view name, Dtype dtype, std::span<const std::int64_t> extents,
                                         const std::string& file, std::uint64_t offset, std::uint64_t length) {
    protozero::pbf_writer graph(graphs_.front()), tensor(graph, 5);
    for (const std::int64_t extent : extents) tensor.add_int64(1, extent);
    tensor.add_enum(2, data_type(dtype));
    tensor.add_string(8, name.data(), name.size());
    for (const auto& [key, value] : {std::pair<const char*, std::string>{"location", file},
                                     {"offset", std::to_string(offset)},
                                     {"length", std::to_string(length)}}) {
      protozero::pbf_writer entry(tensor, 13);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    tensor.add_enum(14, 1);  // EXTERNAL
  }
  void add_input(std::string_view name, const TensorType& type) { add_value(11, name, type); }
  void add_output(std::string_view name, const TensorType& type) { add_value(12, name, type); }

  /// The whole file.
  [[gnu::cold]] std::string bytes(std::string_view network, std::string_view producer_version) const {
    std::string made, graph = graphs_.front();
    protozero::pbf_writer(graph).add_string(2, network.data(), network.size());
    protozero::pbf_writer model(made);
    model.add_int64(1, ir_version);
    model.add_string(2, "Tenon");
    model.add_string(3, producer_version.data(), producer_version.size());
    model.add_message(7, graph);
    protozero::pbf_writer operators(model, 8);
    operators.add_string(1, "");
    operators.add_int64(2, operators_version);
    operators.commit();
    return made;
  }

 private:
  [[gnu::cold]] void add_value(std::uint32_t field, std::string_view name, const TensorType& of) {
    protozero::pbf_writer graph(graphs_.back()), value(graph, field);
    value.add_string(1, name.data(), name.size());
    protozero::pbf_writer type(value, 2), tensor(type, 1);
    tensor.add_enum(1, data_type(of.dtype));
    if (of.rank == 0) tensor.add_message(2, std::string());  // a shape without extents is one, too
    protozero::pbf_writer shape(tensor, 2);
    for (int axis = 0; axis < of.rank; ++axis) {
      protozero::pbf_writer extent(shape, 1);
      if (of[axis] >= 0) extent.add_int64(1, of[axis]);
      else extent.add_string(2, of[axis] == -1 ? "n" : std::to_string(-of[axis]) + "*n");
    }
  }
  std::vector<std::string> graphs_ = std::vector<std::string>(1);  // GraphProtos, each in the one before
};

}  // namespace tenon::onnx
