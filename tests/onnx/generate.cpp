// Writes ONNX's node cases as a typed program: `generate FOLDER CASE... > program.cpp`. FOLDER has a folder for each
// case, with model.onnx and test_data_set_0/{input,output}_*.pb.
//
// The program knows nothing of operators: a node becomes a call of the function of its name in operators/, whose
// template argument has the attributes, and the inputs that are small whole numbers (shapes, axes, ...), as constants.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "messages.hpp"

namespace {
using onnx::DataType;
using onnx::TensorMessage;

const char* type_name(DataType type) {
  switch (type) {
    case DataType::float32: return "float";
    case DataType::float64: return "double";
    case DataType::float16: return "tenon::float16";
    case DataType::bfloat16: return "tenon::bfloat16";
    case DataType::boolean: return "bool";
    case DataType::int8: return "std::int8_t";
    case DataType::int16: return "std::int16_t";
    case DataType::int32: return "std::int32_t";
    case DataType::int64: return "std::int64_t";
    case DataType::uint8: return "std::uint8_t";
    case DataType::uint16: return "std::uint16_t";
    case DataType::uint32: return "std::uint32_t";
    case DataType::uint64: return "std::uint64_t";
    default: throw std::runtime_error("a type that no tensor of Tenon has");
  }
}

/// A list in braces; empty if a number of it has no spelling.
template <class T>
void write_list(std::vector<T> values) {
  for (const T value : values)
    if (!std::isfinite(double(value))) return write_list(std::vector<T>());
  std::cout << '{';
  for (std::size_t i = 0; i < values.size(); ++i) std::cout << (i ? ", " : "") << values[i];
  std::cout << '}';
}

/// The elements of a small tensor as numbers.
template <class T, class To>
std::vector<To> elements(const TensorMessage& tensor) {
  std::vector<To> values;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + i, sizeof value);
    values.push_back(To(value));
  }
  return values;
}

/// The elements of a small tensor of float16.
std::vector<double> halves(const TensorMessage& tensor) {
  std::vector<double> values;
  for (const int bits : elements<std::uint16_t, int>(tensor)) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31
                            ? (fraction ? NAN : INFINITY)
                            : std::ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
    values.push_back(bits >> 15 ? -size : size);
  }
  return values;
}

void write_constant(int input, const TensorMessage& tensor) {
  std::cout << "      {" << input << ", " << tensor.count() << ", ";
  if (tensor.type == DataType::int64) write_list(elements<std::int64_t, long>(tensor));
  else if (tensor.type == DataType::int32) write_list(elements<std::int32_t, long>(tensor));
  else if (tensor.type == DataType::boolean) write_list(elements<std::uint8_t, long>(tensor));
  else std::cout << "{}";
  std::cout << ", ";
  if (tensor.type == DataType::float32) write_list(elements<float, double>(tensor));
  else if (tensor.type == DataType::float64) write_list(elements<double, double>(tensor));
  else if (tensor.type == DataType::float16) write_list(halves(tensor));
  else std::cout << "{}";
  std::cout << "},\n";
}

void write_attributes(const onnx::NodeMessage& node, int number, const std::map<std::string, TensorMessage>& known) {
  std::cout << "struct Node" << number << " {\n  static constexpr onnx::Setting settings[]{\n";
  for (const onnx::Attribute& a : node.attributes) {
    std::cout << "      {\"" << a.name << "\", \"" << a.text << "\", " << a.whole.size() << ", ";
    std::vector<long> whole = a.whole;
    std::vector<double> numbers = a.numbers;
    if (a.has_number) numbers = {a.number};
    if (a.has_tensor && a.tensor.count() <= 16) {
      if (a.tensor.type == DataType::float32) numbers = elements<float, double>(a.tensor);
      if (a.tensor.type == DataType::int32) whole = elements<std::int32_t, long>(a.tensor);
      if (a.tensor.type == DataType::int64) whole = elements<std::int64_t, long>(a.tensor);
    }
    write_list(whole);
    std::cout << ", " << numbers.size() << ", ";
    write_list(numbers);
    std::cout << "},\n";
  }
  std::cout << "      {}};\n  static constexpr onnx::Constant constants[]{\n";
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (const auto found = known.find(node.inputs[i]); found != known.end()) write_constant(int(i), found->second);
  std::cout << "      {-1, 0, {}, {}}};\n  static constexpr int inputs = " << node.inputs.size()
            << ", outputs = " << node.outputs.size() << ";\n};\n";
}

void write_case(const std::string& folder, const std::string& name) {
  const std::string place = folder + "/" + name + "/";
  const onnx::GraphMessage graph = onnx::read_graph(place + "model.onnx");
  std::map<std::string, std::string> variable;
  std::map<std::string, TensorMessage> known;
  std::vector<TensorMessage> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(onnx::read_tensor_file(place + "test_data_set_0/input_" + std::to_string(i) + ".pb"));
    if (inputs.back().count() <= 16) known[graph.inputs[i]] = inputs.back();
    variable[graph.inputs[i]] = "x" + std::to_string(i);
  }
  std::cout << "namespace " << name << " {\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) write_attributes(graph.nodes[i], int(i), known);
  std::cout << "struct Graph {\n  constexpr auto operator()(";
  for (std::size_t i = 0; i < inputs.size(); ++i) std::cout << (i ? ", " : "") << "[[maybe_unused]] const auto& x" << i;
  std::cout << ") const {\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const onnx::NodeMessage& node = graph.nodes[i];
    std::cout << "    const auto y" << i << " = onnx::" << node.operation << "<Node" << i << ">(";
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      std::cout << (k ? ", " : "") << (node.inputs[k].empty() ? "onnx::absent" : variable.at(node.inputs[k]));
    std::cout << ");\n";
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      variable[node.outputs[k]] = "onnx::nth<" + std::to_string(k) + ">(y" + std::to_string(i) + ")";
  }
  std::cout << "    return std::tuple(";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) std::cout << (i ? ", " : "") << variable.at(graph.outputs[i]);
  std::cout << ");\n  }\n};\nTEST_CASE(\"" << name << "\") {\n  const onnx::Case files(\"" << name << "\");\n"
            << "  files.check<Graph>(";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::cout << (i ? ",\n                     " : "") << "files.input<" << type_name(inputs[i].type)
              << ", tenon::Shape<";
    for (std::size_t k = 0; k < inputs[i].extents.size(); ++k) std::cout << (k ? ", " : "") << inputs[i].extents[k];
    std::cout << ">>(" << i << ")";
  }
  std::cout << ");\n}\n}  // namespace " << name << "\n\n";
}
}  // namespace

int main(int count, char** argument) try {
  std::cout.precision(17);
  std::cout << "// Written by tests/onnx/generate.cpp.\n#include \"operators.hpp\"\n#include \"case.hpp\"\n\n";
  for (int i = 2; i < count; ++i) write_case(argument[1], argument[i]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
