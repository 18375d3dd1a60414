// Which values cells read as weights: these the tool computes. With all other weights the header computes itself, so
// that they are trained as the file has them.
#pragma once
#include <set>

#include "patterns.hpp"

namespace importer {

/// Names of the values that nodes read as weights of a cell, such as those of a convolution, and of what these are
/// computed of without an input of the network. So are the angles of rotary positions.
inline std::set<std::string> weights_of_cells(const ReadModel& model,
                                              const std::map<std::string, Matcher::Values>& rotary_groups) {
  static const std::set<std::string> cells{
      "BatchNormalization", "Conv",   "ConvTranspose",   "Gemm", "InstanceNormalization",
      "LayerNormalization", "MatMul", "RMSNormalization"};
  std::set<std::string> dynamic, weights;
  for (const auto& input : model.inputs) dynamic.insert(input.name);
  for (const ReadTensor& t : model.initializers) dynamic.erase(t.name);  // older files list them as inputs, too
  for (const ReadNode& node : model.nodes) {
    if (node.operation == "Shape" || node.operation == "Size") continue;  // the tool knows it
    bool is_dynamic = false;
    each_read(node, [&](const std::string& name) { is_dynamic = is_dynamic || dynamic.count(name) > 0; });
    if (is_dynamic) dynamic.insert(node.outputs.begin(), node.outputs.end());
  }
  const auto add = [&](const std::string& name) {
    if (!dynamic.count(name)) weights.insert(name);
  };
  for (const auto& [output, values] : rotary_groups) add(values.at('c')), add(values.at('s'));
  for (auto node = model.nodes.rbegin(); node != model.nodes.rend(); ++node) {
    for (std::size_t k = 1; cells.count(node->operation) && k < node->inputs.size(); ++k) add(node->inputs[k]);
    const auto is_weight = [&](const std::string& name) { return weights.count(name) > 0; };
    if (std::any_of(node->outputs.begin(), node->outputs.end(), is_weight))
      for (const std::string& input : node->inputs) add(input);
  }
  return weights;
}

}  // namespace importer
