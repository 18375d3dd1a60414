// The messages of ONNX files that its node cases use: a tensor, and a graph of nodes with attributes.
// Source: onnx/onnx.proto of ONNX 1.22.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace onnx {

/// The numbers of TensorProto.DataType that the cases use.
enum class DataType : int {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  text = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16
};

inline std::size_t bytes_of(DataType type) {
  switch (type) {
    case DataType::float64:
    case DataType::int64:
    case DataType::uint64: return 8;
    case DataType::float32:
    case DataType::int32:
    case DataType::uint32: return 4;
    case DataType::uint16:
    case DataType::int16:
    case DataType::float16:
    case DataType::bfloat16: return 2;
    case DataType::uint8:
    case DataType::int8:
    case DataType::boolean: return 1;
    default: return 0;
  }
}

struct TensorMessage {
  std::string name;
  DataType type{};
  std::vector<long> extents;
  std::string bytes;  // little-endian elements

  long count() const {
    long all = 1;
    for (const long extent : extents) all *= extent;
    return all;
  }
};

struct Attribute {
  std::string name, text;
  double number = 0;
  bool has_number = false, has_text = false, has_tensor = false;
  std::vector<long> whole;
  std::vector<double> numbers;
  TensorMessage tensor;
};

struct NodeMessage {
  std::string operation, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
};

struct GraphMessage {
  std::vector<std::string> inputs, outputs;
  std::vector<NodeMessage> nodes;
  std::vector<TensorMessage> initializers;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream all;
  all << file.rdbuf();
  return std::move(all).str();
}

namespace detail {
template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// A number of a repeated field of 32-bit integers, which also has all smaller types.
inline void append_small(std::string& bytes, DataType type, std::int32_t value) {
  const std::size_t size = bytes_of(type);
  bytes.append(reinterpret_cast<const char*>(&value), size < 4 ? size : 4);
}
template <class F>
void each_varint(protozero::pbf_reader& message, F f) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited)
    for (const std::int64_t value : message.get_packed_int64()) f(value);
  else f(message.get_int64());
}
template <class F>
void each_float(protozero::pbf_reader& message, F f) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited)
    for (const float value : message.get_packed_float()) f(value);
  else f(message.get_float());
}
}  // namespace detail

inline TensorMessage read_tensor(const protozero::data_view& data) {
  TensorMessage tensor;
  protozero::pbf_reader message(data);
  std::vector<std::int64_t> small;  // the type may come after the numbers
  while (message.next()) switch (message.tag()) {
      case 1: detail::each_varint(message, [&](std::int64_t extent) { tensor.extents.push_back(long(extent)); }); break;
      case 2: tensor.type = DataType(message.get_int32()); break;
      case 4: detail::each_float(message, [&](float value) { detail::append(tensor.bytes, value); }); break;
      case 5: detail::each_varint(message, [&](std::int64_t value) { small.push_back(value); }); break;
      case 7: detail::each_varint(message, [&](std::int64_t value) { detail::append(tensor.bytes, value); }); break;
      case 8: tensor.name = message.get_string(); break;
      case 9: tensor.bytes = message.get_string(); break;
      case 10:
        for (const double value : message.get_packed_double()) detail::append(tensor.bytes, value);
        break;
      case 11: {
        const auto values = message.get_packed_uint64();
        for (const std::uint64_t value : values)
          if (bytes_of(tensor.type) == 4) detail::append(tensor.bytes, std::uint32_t(value));
          else detail::append(tensor.bytes, value);
        break;
      }
      default: message.skip();
    }
  for (const std::int64_t value : small) detail::append_small(tensor.bytes, tensor.type, std::int32_t(value));
  if (tensor.bytes.size() != std::size_t(tensor.count()) * bytes_of(tensor.type) && bytes_of(tensor.type) != 0)
    throw std::runtime_error("a tensor has " + std::to_string(tensor.bytes.size()) + " bytes, its shape needs " +
                             std::to_string(std::size_t(tensor.count()) * bytes_of(tensor.type)));
  return tensor;
}

inline Attribute read_attribute(const protozero::data_view& data) {
  Attribute attribute;
  protozero::pbf_reader message(data);
  while (message.next()) switch (message.tag()) {
      case 1: attribute.name = message.get_string(); break;
      case 2: attribute.number = double(message.get_float()), attribute.has_number = true; break;
      case 3: attribute.whole.push_back(long(message.get_int64())); break;
      case 4: attribute.text = message.get_string(), attribute.has_text = true; break;
      case 5: attribute.tensor = read_tensor(message.get_view()), attribute.has_tensor = true; break;
      case 7: detail::each_float(message, [&](float value) { attribute.numbers.push_back(double(value)); }); break;
      case 8: detail::each_varint(message, [&](std::int64_t value) { attribute.whole.push_back(long(value)); }); break;
      default: message.skip();
    }
  return attribute;
}

inline NodeMessage read_node(const protozero::data_view& data) {
  NodeMessage node;
  protozero::pbf_reader message(data);
  while (message.next()) switch (message.tag()) {
      case 1: node.inputs.push_back(message.get_string()); break;
      case 2: node.outputs.push_back(message.get_string()); break;
      case 4: node.operation = message.get_string(); break;
      case 5: node.attributes.push_back(read_attribute(message.get_view())); break;
      case 7: node.domain = message.get_string(); break;
      default: message.skip();
    }
  return node;
}

/// The name of a ValueInfoProto.
inline std::string read_name(const protozero::data_view& data) {
  protozero::pbf_reader message(data);
  std::string name;
  while (message.next())
    if (message.tag() == 1) name = message.get_string();
    else message.skip();
  return name;
}

/// The graph of the model in a file.
inline GraphMessage read_graph(const std::string& path) {
  const std::string file = contents(path);
  GraphMessage graph;
  protozero::pbf_reader model(file);
  while (model.next(7)) {
    protozero::pbf_reader message(model.get_view());
    while (message.next()) switch (message.tag()) {
        case 1: graph.nodes.push_back(read_node(message.get_view())); break;
        case 5: graph.initializers.push_back(read_tensor(message.get_view())); break;
        case 11: graph.inputs.push_back(read_name(message.get_view())); break;
        case 12: graph.outputs.push_back(read_name(message.get_view())); break;
        default: message.skip();
      }
  }
  return graph;
}

inline TensorMessage read_tensor_file(const std::string& path) {
  const std::string file = contents(path);
  return read_tensor(protozero::data_view(file));
}

}  // namespace onnx
