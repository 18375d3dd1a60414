// Small ONNX models, and what tenon-import makes of them.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "../../examples/tools/import/import.hpp"

namespace support {
using tenon::onnx::ReadAttribute, tenon::onnx::ReadNode, tenon::onnx::ReadTensor, tenon::onnx::ReadModel;

template <class T>
ReadTensor tensor(const std::string& name, int type, std::vector<std::int64_t> extents, std::vector<T> elements) {
  return {
      name, type, std::move(extents), {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)}};
}
inline ReadTensor reals(const std::string& name, std::vector<std::int64_t> extents, std::vector<float> elements) {
  return tensor(name, 1, std::move(extents), std::move(elements));
}
inline ReadTensor wholes(const std::string& name, std::vector<std::int64_t> extents,
                         std::vector<std::int64_t> elements) {
  return tensor(name, 7, std::move(extents), std::move(elements));
}
inline ReadAttribute whole(const std::string& name, std::vector<std::int64_t> values) {
  ReadAttribute a;
  a.name = name, a.whole = std::move(values);
  return a;
}
inline ReadNode node(const std::string& operation, std::vector<std::string> inputs, const std::string& output,
                     std::vector<ReadAttribute> attributes = {}) {
  ReadNode n;
  n.name = output, n.operation = operation, n.inputs = std::move(inputs), n.outputs = {output};
  n.attributes = std::move(attributes);
  return n;
}
/// A model of x, [n, 4] or another shape, whose result is y.
inline ReadModel model(std::vector<ReadNode> nodes, std::vector<ReadTensor> tensors,
                       std::vector<std::int64_t> x = {-1, 4}, int type = 1) {
  ReadModel m;
  m.opset = 17;
  m.nodes = std::move(nodes), m.initializers = std::move(tensors);
  m.inputs = {{"x", type, x, std::vector<std::string>(x.size())}};
  m.outputs = {{"y", type, {}, {}}};
  return m;
}
inline importer::Imported imported(const ReadModel& m) { return importer::import_model(m, "net", "", {}); }
/// What construct returns, or the sentence why not.
inline std::string result(const ReadModel& m) {
  const importer::Imported made = imported(m);
  if (!made.problems.empty()) return made.problems[0];
  const std::size_t at = made.header.find("return ");
  return made.header.substr(at + 7, made.header.find(';', at) - at - 7);
}
/// What x is multiplied with: the constant c that these nodes compute.
inline std::string constant(std::vector<ReadNode> nodes, std::vector<ReadTensor> tensors, int type = 1) {
  nodes.push_back(node("Mul", {"x", "c"}, "y"));
  const importer::Imported made = imported(model(std::move(nodes), std::move(tensors), {-1, 2, 4}, type));
  if (!made.problems.empty()) return made.problems[0];
  if (made.weights.empty()) {
    const std::size_t at = made.header.find("return ");
    return made.header.substr(at + 7, made.header.find(';', at) - at - 7);
  }
  std::string all;
  for (const std::int64_t extent : made.weights.at(0).tensor.extents) all += "[" + std::to_string(extent) + "]";
  for (const double each : importer::elements_of(made.weights[0].tensor)) all += " " + tenon::text(each);
  return all + (made.weights[0].is_trained ? " trained" : "");
}
inline constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

}  // namespace support
