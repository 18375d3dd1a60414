// Batch normalizations that a file writes out, as export_onnx does: one node again, so that the header has the cell.
#pragma once
#include "patterns.hpp"

namespace importer {

/// The tensors that a graph reads by their names, those of the graphs around it, too.
using TensorsByName = std::map<std::string, const ReadTensor*>;

/// Finds (x - mean) * (gamma / sqrt(variance + epsilon)) + beta, where the four are rows, or stand for channels.
class BatchNormSearch {
 public:
  BatchNormSearch(const Matcher& matcher, const TensorsByName& tensors) : matcher_(matcher), tensors_(tensors) {}

  /// Whether the node became a batch normalization.
  bool join(ReadNode& node) {
    if (node.operation != "Add" || node.inputs.size() != 2) return false;
    for (const bool swapped : {false, true})
      if (row(node.inputs[!swapped], beta_) && product(node.inputs[swapped])) {
        node.operation = "BatchNormalization";
        node.inputs = {x_, gamma_, beta_, mean_, variance_};
        node.attributes.resize(2);
        node.attributes[0].name = "epsilon", node.attributes[0].has_number = true;
        node.attributes[0].number = epsilon_;
        node.attributes[1].name = "axes_behind", node.attributes[1].whole = {behind_};
        return true;
      }
    return false;
  }

 private:
  const ReadNode* maker(const std::string& value, std::string_view operation) const {
    const ReadNode* const made = matcher_.maker(value);
    return made && made->operation == operation && made->inputs.size() == 2 ? made : nullptr;
  }
  /// Of [C] as [C, 1, 1], or as [C]: the name of the value [C].
  bool reshaped(const std::string& value, std::string& from) {
    const ReadNode* const made = maker(value, "Reshape");
    if (!made || !tensors_.count(made->inputs[1])) return false;
    const ReadTensor& to = *tensors_.at(made->inputs[1]);
    const std::vector<double> shape = elements_of(to);
    if (to.type != 7 || (shape.size() != 1 && shape.size() != 3)) return false;
    for (std::size_t k = 1; k < shape.size(); ++k)
      if (shape[k] != 1) return false;
    const long behind = long(shape.size()) - 1;
    if (behind_ >= 0 && behind_ != behind) return false;
    from = made->inputs[0], behind_ = behind;
    return true;
  }
  bool is_weight_of(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found != tensors_.end() && found->second->type == 1 && found->second->extents.size() == 1;
  }
  bool row(const std::string& value, std::string& name) {
    behind_ = -1;
    return reshaped(value, name) && is_weight_of(name);
  }
  bool product(const std::string& value) {
    const ReadNode* const scaled = maker(value, "Mul");
    for (const bool swapped : {false, true})
      if (scaled && centred(scaled->inputs[swapped]) && scale(scaled->inputs[!swapped])) return true;
    return false;
  }
  bool centred(const std::string& value) {
    const ReadNode* const difference = maker(value, "Sub");
    if (!difference || !reshaped(difference->inputs[1], mean_) || !is_weight_of(mean_)) return false;
    x_ = difference->inputs[0];
    return true;
  }
  bool scale(const std::string& value) {
    std::string quotient;
    const ReadNode* const divided = reshaped(value, quotient) ? maker(quotient, "Div") : nullptr;
    if (!divided || !is_weight_of(divided->inputs[0])) return false;
    const ReadNode* const root = matcher_.maker(divided->inputs[1]);
    const ReadNode* const sum =
        root && root->operation == "Sqrt" && root->inputs.size() == 1 ? maker(root->inputs[0], "Add") : nullptr;
    if (!sum || !is_weight_of(sum->inputs[0]) || !tensors_.count(sum->inputs[1])) return false;
    const std::vector<double> epsilon = elements_of(*tensors_.at(sum->inputs[1]));
    if (epsilon.size() != 1 || !(epsilon[0] > 0)) return false;
    gamma_ = divided->inputs[0], variance_ = sum->inputs[0], epsilon_ = float(epsilon[0]);
    return true;
  }

  const Matcher& matcher_;
  const TensorsByName& tensors_;
  std::string x_, gamma_, beta_, mean_, variance_;
  float epsilon_ = 0;
  long behind_ = -1;  // how many axes of extent 1 the rows have behind theirs
};

inline void join_norms(ReadGraph& graph, TensorsByName tensors = {}) {
  for (const ReadTensor& t : graph.initializers) tensors[t.name] = &t;
  const std::vector<ReadNode> before = graph.nodes;  // the search sees what was there
  const Matcher matcher(before, graph.initializers);
  for (ReadNode& node : graph.nodes) {
    for (const auto& a : node.attributes)
      if (a.graph) join_norms(*a.graph, tensors);
    BatchNormSearch(matcher, tensors).join(node);
  }
}

}  // namespace importer
