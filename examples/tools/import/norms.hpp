// Normalizations that a file writes out, as export_onnx does a BatchNorm and PyTorch an RMSNorm: one node again, so
// that the header has the cell.
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

/// Finds x / sqrt(mean of x^2 + epsilon) * gamma over the last axis, where gamma is a weight, or a weight and a number.
class RmsNormSearch {
 public:
  RmsNormSearch(const Matcher& matcher, const TensorsByName& tensors) : matcher_(matcher), tensors_(tensors) {}

  /// Whether the node became an RMS normalization.
  bool join(ReadNode& node) {
    for (const std::string_view square : {"Pow(x,2)", "Mul(x,x)"}) {
      const std::string root = text("Sqrt(Add(m:ReduceMean(", square, "),e))");
      for (const std::string& scaled :
           {text("Mul(x,Reciprocal(", root, "))"), text("Mul(x,Div(1,", root, "))"), text("Div(x,", root, ")")}) {
        const Matcher::Values v = matcher_.match(node, text("Mul(g,", scaled, ")"));
        if (v.empty() || !is_gamma(v.at('g')) || !is_of_last_axis(*matcher_.maker(v.at('m')))) continue;
        const auto epsilon = matcher_.scalar(v.at('e'));
        if (!epsilon) continue;
        node.operation = "RMSNormalization", node.inputs = {v.at('x'), v.at('g')};
        node.attributes.resize(1);
        node.attributes[0].name = "epsilon", node.attributes[0].has_number = true;
        node.attributes[0].number = float(*epsilon);
        return true;
      }
    }
    return false;
  }

 private:
  bool is_weight(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found != tensors_.end() && found->second->type == 1 && found->second->count() > 1 &&
           found->second->extents.back() == found->second->count();
  }
  bool is_gamma(const std::string& name) const {
    const ReadNode* const made = matcher_.maker(name);
    if (!made || made->operation != "Add" || made->inputs.size() != 2) return is_weight(name);
    for (const bool swapped : {false, true})
      if (is_weight(made->inputs[swapped]) && matcher_.scalar(made->inputs[!swapped])) return true;
    return false;
  }
  bool is_of_last_axis(const ReadNode& mean) const {
    const auto* const keeps = mean.find("keepdims");
    if (keeps && !keeps->whole.empty() && keeps->whole[0] == 0) return false;
    if (const auto* const axes = mean.find("axes")) return axes->whole == std::vector<std::int64_t>{-1};
    return mean.inputs.size() > 1 && matcher_.scalar(mean.inputs[1]) == -1;
  }

  const Matcher& matcher_;
  const TensorsByName& tensors_;
};

inline void join_norms(ReadGraph& graph, TensorsByName tensors = {}) {
  for (const ReadTensor& t : graph.initializers) tensors[t.name] = &t;
  const std::vector<ReadNode> before = graph.nodes;  // the search sees what was there
  const Matcher matcher(before, graph.initializers);
  for (ReadNode& node : graph.nodes) {
    for (const auto& a : node.attributes)
      if (a.graph) join_norms(*a.graph, tensors);
    if (!BatchNormSearch(matcher, tensors).join(node)) RmsNormSearch(matcher, tensors).join(node);
  }
}

}  // namespace importer
