// From the nodes of an ONNX file to calls of Tenon: the table of operators, and the walk over the nodes.
#pragma once
#include "adaptive.hpp"
#include "borders.hpp"
#include "cell_weights.hpp"
#include "control.hpp"
#include "convolution.hpp"
#include "einsum.hpp"
#include "empty_parts.hpp"
#include "evaluate.hpp"
#include "lifting.hpp"
#include "lookups.hpp"
#include "movement.hpp"
#include "norms.hpp"
#include "patterns.hpp"
#include "places.hpp"
#include "recurrent.hpp"
#include "resizing.hpp"
#include "rotary.hpp"
#include "shared.hpp"
#include "sources.hpp"
#include "unfolding.hpp"

namespace importer {

using Rule = void (*)(const NodeView&);

/// How each operator is translated. What stands here is in scope, with the limits that the rules state.
inline const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all{
      {"Abs", [](const NodeView& n) { unary(n, "abs"); }},
      {"Acos", [](const NodeView& n) { unary(n, "acos", "", true); }},
      {"Acosh", [](const NodeView& n) { unary(n, "acosh", "", true); }},
      {"AdaptiveAveragePool", adaptive_pool},
      {"Add", [](const NodeView& n) { infix(n, "+", 2); }},
      {"And", [](const NodeView& n) { function_of_two(n, "logical_and"); }},
      {"ArgMax", [](const NodeView& n) { place_of_extreme(n, "argmax"); }},
      {"ArgMin", [](const NodeView& n) { place_of_extreme(n, "argmin"); }},
      {"Asin", [](const NodeView& n) { unary(n, "asin", "", true); }},
      {"Asinh", [](const NodeView& n) { unary(n, "asinh", "", true); }},
      {"Atan", [](const NodeView& n) { unary(n, "atan", "", true); }},
      {"Atanh", [](const NodeView& n) { unary(n, "atanh", "", true); }},
      {"AveragePool", [](const NodeView& n) { pool(n, "avg"); }},
      {"BatchNormalization", batch_norm},
      {"Cast", cast},
      {"Ceil", [](const NodeView& n) { unary(n, "ceil", "", true); }},
      {"Celu", [](const NodeView& n) { with_alpha(n, "celu", 1); }},
      {"Clip", clip},
      {"Col2Im", fold_windows},
      {"Concat", [](const NodeView& n) { n.ids.size() == 1 ? n.alias(0, n.id(0)) : concat(n); }},
      {"Conv", [](const NodeView& n) { convolution(n, false); }},
      {"ConvTranspose", [](const NodeView& n) { convolution(n, true); }},
      {"Cos", [](const NodeView& n) { unary(n, "cos", "", true); }},
      {"Cosh", [](const NodeView& n) { unary(n, "cosh", "", true); }},
      {"CumSum", cumsum},
      {"DepthToSpace", depth_to_space},
      {"Div", [](const NodeView& n) { infix(n, "/", 1); }},
      {"Dropout", [](const NodeView& n) { n.alias(0, n.id(0)); }},
      {"Einsum", einsum},
      {"Elu", [](const NodeView& n) { with_alpha(n, "elu", 1); }},
      {"Equal", [](const NodeView& n) { infix(n, "==", 3, true); }},
      {"Erf", [](const NodeView& n) { unary(n, "erf", "", true); }},
      {"Exp", [](const NodeView& n) { unary(n, "exp"); }},
      {"Expand", expand},
      {"Flatten", flatten},
      {"Floor", [](const NodeView& n) { unary(n, "floor", "", true); }},
      {"GRU", [](const NodeView& n) { recurrent(n, false); }},
      {"Gather", [](const NodeView& n) { gather_windows(n) ? void() : gather(n); }},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"Gelu", gelu},
      {"Gemm", gemm},
      {"GlobalAveragePool", [](const NodeView& n) { global_pool(n, "reduce_mean"); }},
      {"GlobalMaxPool", [](const NodeView& n) { global_pool(n, "reduce_max"); }},
      {"Greater", [](const NodeView& n) { infix(n, ">", 3, true); }},
      {"GreaterOrEqual", [](const NodeView& n) { infix(n, ">=", 3, true); }},
      {"GroupNormalization", [](const NodeView& n) { group_norm(n, false); }},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", [](const NodeView& n) { unary(n, "hswish", "nn::HSwish", true); }},
      {"Identity", [](const NodeView& n) { n.alias(0, n.id(0)); }},
      {"If", [](const NodeView& n) { ControlFlow(n).branch(); }},
      {"InstanceNormalization", [](const NodeView& n) { group_norm(n, true); }},
      {"IsNaN", [](const NodeView& n) { unary_test(n, "isnan"); }},
      {"LSTM", [](const NodeView& n) { recurrent(n, true); }},
      {"LayerNormalization", [](const NodeView& n) { layer_norm(n, false); }},
      {"LeakyRelu", [](const NodeView& n) { with_alpha(n, "leaky_relu", 0.01f); }},
      {"Less", [](const NodeView& n) { infix(n, "<", 3, true); }},
      {"LessOrEqual", [](const NodeView& n) { infix(n, "<=", 3, true); }},
      {"Log", [](const NodeView& n) { unary(n, "log"); }},
      {"LogSoftmax", [](const NodeView& n) { softmax(n, "log_softmax"); }},
      {"Loop", [](const NodeView& n) { ControlFlow(n).loop(); }},
      {"MatMul", matmul},
      {"Max", [](const NodeView& n) { chain_of_calls(n, "maximum"); }},
      {"MaxPool", [](const NodeView& n) { pool(n, "max"); }},
      {"Mean", [](const NodeView& n) { sum(n, true); }},
      {"Min", [](const NodeView& n) { chain_of_calls(n, "minimum"); }},
      {"Mish", [](const NodeView& n) { unary(n, "mish", "nn::Mish", true); }},
      {"Mod", mod},
      {"Mul", [](const NodeView& n) { infix(n, "*", 1); }},
      {"Neg", [](const NodeView& n) { unary(n, "neg"); }},
      {"Not", [](const NodeView& n) { unary(n, "logical_not"); }},
      {"OneHot", one_hot},
      {"Or", [](const NodeView& n) { function_of_two(n, "logical_or"); }},
      {"PRelu", [](const NodeView& n) { function_of_two(n, "leaky_relu", true); }},
      {"Pad", pad},
      {"Pow", [](const NodeView& n) { function_of_two(n, "pow"); }},
      {"RMSNormalization", [](const NodeView& n) { layer_norm(n, true); }},
      {"Reciprocal", reciprocal},
      {"ReduceL1", [](const NodeView& n) { reduce(n, "reduce_sum", false, "abs"); }},
      {"ReduceL2", [](const NodeView& n) { reduce(n, "norm", true); }},
      {"ReduceLogSumExp", [](const NodeView& n) { reduce(n, "logsumexp", true); }},
      {"ReduceMax", [](const NodeView& n) { reduce(n, "reduce_max"); }},
      {"ReduceMean", [](const NodeView& n) { reduce(n, "reduce_mean"); }},
      {"ReduceMin", [](const NodeView& n) { reduce(n, "reduce_min"); }},
      {"ReduceProd", [](const NodeView& n) { reduce(n, "reduce_prod", true); }},
      {"ReduceSum", [](const NodeView& n) { reduce(n, "reduce_sum"); }},
      {"ReduceSumSquare", [](const NodeView& n) { reduce(n, "reduce_sum_square", true); }},
      {"Relu", [](const NodeView& n) { unary(n, "relu", "nn::ReLU"); }},
      {"Reshape", reshape},
      {"Resize", resize},
      {"Round", [](const NodeView& n) { unary(n, "round", "", true); }},
      {"Scan", [](const NodeView& n) { ControlFlow(n).scan(); }},
      {"ScatterElements", scatter_elements},
      {"Selu", selu},
      {"Sigmoid", [](const NodeView& n) { unary(n, "sigmoid", "nn::Sigmoid"); }},
      {"Sign", [](const NodeView& n) { unary(n, "sign", "", true); }},
      {"Silu", [](const NodeView& n) { unary(n, "silu", "nn::SiLU"); }},
      {"Sin", [](const NodeView& n) { unary(n, "sin", "", true); }},
      {"Sinh", [](const NodeView& n) { unary(n, "sinh", "", true); }},
      {"Slice", slice},
      {"Softmax", [](const NodeView& n) { softmax(n, "softmax"); }},
      {"Softplus", [](const NodeView& n) { unary(n, "softplus", "nn::Softplus"); }},
      {"Softsign", [](const NodeView& n) { unary(n, "softsign", "", true); }},
      {"SpaceToDepth", space_to_depth},
      {"Split", split},
      {"Sqrt", [](const NodeView& n) { unary(n, "sqrt"); }},
      {"Squeeze", squeeze},
      {"Sub", [](const NodeView& n) { infix(n, "-", 2); }},
      {"Sum", [](const NodeView& n) { sum(n, false); }},
      {"Tan", [](const NodeView& n) { unary(n, "tan", "", true); }},
      {"Tanh", [](const NodeView& n) { unary(n, "tanh", "nn::Tanh"); }},
      {"Tile", tile},
      {"TopK", topk},
      {"Transpose", transpose},
      {"Trilu", trilu},
      {"Unsqueeze", unsqueeze},
      {"Where", where},
      {"Xor", [](const NodeView& n) { function_of_two(n, "logical_xor", true); }},
  };
  return all;
}

/// The parts of a path, "layer1.0" -> layer1, 0.
inline std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}
inline std::string parent_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

/// The words of a list in Python, "['', 'net']".
inline std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = list.find('\''); at != list.npos; at = list.find('\'', at + 1)) {
    const std::size_t end = list.find('\'', at + 1);
    if (end == list.npos) break;
    words.push_back(list.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

/// The modules around each node, and their classes where the file names them.
class Scopes {
 public:
  std::map<std::string, std::string> class_of;

  /// False if the file does not say it.
  bool find(const ReadNode& node, std::string& scope) {
    const std::vector<std::string> scopes = words_of(node.scopes), classes = words_of(node.classes);
    if (scopes.size() >= 2 && scopes[0].empty()) {
      scope = scopes[scopes.size() - 2];
      for (std::size_t k = 0; k + 1 < scopes.size() && k < classes.size(); ++k)
        class_of[scopes[k]] = classes[k].substr(classes[k].rfind('.') + 1);
      return true;
    }
    if (!node.name.starts_with('/')) return false;
    scope = from_name(node.name);
    return true;
  }

 private:
  /// "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1"
  static std::string from_name(const std::string& name) {
    std::string path, before;
    for (std::size_t begin = 1; begin < name.size();) {
      const std::size_t end = name.find('/', begin);
      if (end == name.npos) break;
      const std::string part = name.substr(begin, end - begin);
      const bool is_inner = !before.empty() && part.starts_with(before + ".");
      path += (path.empty() ? "" : ".") + (is_inner ? part.substr(before.size() + 1) : part);
      before = part;
      begin = end + 1;
    }
    return path;
  }
};

/// An axis of an input that is dynamic: its extents are on the command line.
inline Extent dynamic_extent(Graph& g, const tenon::onnx::ReadValue& input, std::size_t axis) {
  const std::string& name = input.names[axis];
  if (g.symbol_of.count(name)) return Extent::symbol(g.symbol_of[name]);
  const auto given = g.options.extents.find(name);
  if (given == g.options.extents.end())
    throw_error<ValueError>("axis ", axis, " of input '", input.name, "' is dynamic: state its extents, --extent ",
                            name.empty() ? "NAME" : name, "=32,64,128.");
  if (given->second.size() == 1) return Extent(given->second[0]);
  if (g.symbols.size() == Extent::most_symbols) throw_error<ValueError>("more than 3 dynamic axes are not in scope.");
  g.symbol_of[name] = int(g.symbols.size());
  g.symbols.push_back(identifier(name.empty() ? "extent" : name));
  return Extent::symbol(g.symbol_of[name]);
}
/// The axes of the inputs: the leading one is the batch, or the second one, after the steps of a sequence; others have
/// extents from the command line.
inline void take_inputs(Graph& g) {
  std::set<std::string> constants;
  for (const ReadTensor& t : g.model.initializers) constants.insert(t.name);
  for (const auto& input : g.model.inputs) {
    if (constants.count(input.name)) continue;
    const auto is_open = [&](std::size_t k) {
      return k < input.extents.size() && input.extents[k] < 0 && !g.options.extents.count(input.names[k]);
    };
    const std::size_t batch = !is_open(0) && is_open(1) && input.extents[0] != 1 ? 1 : 0;
    const int id = g.add_value(input.name);
    g.id_of[input.name] = id;
    g[id].type = input.type, g[id].has_shape = true, g[id].origin = int(g.inputs.size());
    Shape shape;
    for (std::size_t k = 0; k < input.extents.size(); ++k)
      if (k == batch && input.extents[k] < 0) shape.push_back(Extent::symbol(0));
      else shape.push_back(input.extents[k] >= 0 ? Extent(long(input.extents[k])) : dynamic_extent(g, input, k));
    // an example of one size is a batch, too
    if (!shape.empty() && shape[0] == Extent(1)) shape[0] = Extent::symbol(0);
    g.inputs.push_back(id);
    g[id].shape = shape;
    if (batch == 0) continue;
    std::swap(g[id].shape[0], g[id].shape[1]);
    View v = plain_view(g, id);
    std::swap(v.dims[0], v.dims[1]);
    const int seen = g.add_value(input.name);
    g[seen].type = input.type, g[seen].has_shape = true, g[seen].origin = g[id].origin, g[seen].shape = shape;
    g[seen].special = Special::view, g[seen].view = std::make_shared<View>(std::move(v));
    g.id_of[input.name] = seen;
    g.notes.push_back(text("input '", input.name, "' has the samples first in the header"));
  }
  if (g.inputs.size() > 4)
    throw_error<ValueError>("the file has ", g.inputs.size(),
                            " inputs, and a cell takes at most 4: join some of them before the export.");
}

/// The value of an output. One with the steps first is returned with the samples first; one of which each sample has
/// the same gets all samples.
inline int result_of(Graph& g, const std::string& name) {
  const int id = g.id_of[name];
  ReadNode node;
  node.name = name, node.operation = "output";
  const NodeView n(g, node, g[id].scope);
  if (g[id].repeated || g[id].is_stretched) return Operands::readable(n, id);
  if (g[id].special != Special::view) return id;
  View v = *g[id].view;
  const auto batch = std::find_if(v.dims.begin(), v.dims.end(),
                                  [](const Pieces& pieces) { return !pieces.empty() && pieces[0].axis == 0; });
  if (batch != v.dims.begin() && batch != v.dims.end()) {
    std::rotate(v.dims.begin(), batch, batch + 1);
    g.notes.push_back(text("output '", name, "' has the samples first in the header"));
  }
  return materialized(n, v);
}

/// Whether a node computes with its first input as a cell does, also where that is a constant, such as positions.
inline bool takes_images(const std::string& op) {
  static const std::set<std::string> all{"AveragePool",
                                         "BatchNormalization",
                                         "Conv",
                                         "ConvTranspose",
                                         "GlobalAveragePool",
                                         "GlobalMaxPool",
                                         "InstanceNormalization",
                                         "LayerNormalization",
                                         "LogSoftmax",
                                         "MaxPool",
                                         "RMSNormalization",
                                         "Softmax"};
  return all.count(op) > 0;
}
/// Translates a node, or says why not.
inline void translate_node(Graph& g, const ReadNode& node, const std::string& scope) try {
  for (const std::string& input : node.inputs)
    if (!input.empty() && !g.id_of.count(input)) throw std::string(input);
  NodeView n(g, node, scope);
  if (node.outputs.empty() || node.outputs[0].empty()) n.refuse("it has no output");
  for (const std::string& output : node.outputs)
    if (g.id_of.count(output)) n.refuse("its output is that of another node, too");
  if (!node.domain.empty() && node.domain != "ai.onnx") n.refuse("operators of this domain are not in scope");
  if (const auto less = without_empty(n)) return translate_node(g, *less, scope);
  const auto rule = rules().find(node.operation);
  if (takes_nothing(n) || is_rotary(n) || moves_steps(n) ||
      Lifting(n, rule == rules().end() ? nullptr : rule->second).run() || dense_of_constant(n) ||
      (node.operation == "Range" && evaluate(n)) || give_source(n) || evaluate(n))
    return;
  if (rule == rules().end())
    n.refuse(
        "this operator is not in scope: write it into the header by hand, or change the network before the export");
  if (takes_images(node.operation) && n.has(0) && n.in(0).is_constant()) n.ids[0] = Operands::readable(n, n.ids[0]);
  rule->second(n);
} catch (const ValueError& error) {
  g.problems.push_back(error.what());
  for (const std::string& output : node.outputs) g.id_of.erase(output);  // so that what follows is not a problem, too
} catch (const std::string& input) {                                     // follows from an earlier problem
  if (g.problems.empty())
    g.problems.push_back(
        text("node '", node.name, "' (", node.operation, ") reads '", input, "', which no node before it computes."));
}
inline void translate_nodes(Graph& g, const std::vector<ReadNode>& nodes, const std::string& scope) {
  for (const ReadNode& node : nodes) translate_node(g, node, scope);
}

inline void translate(Graph& g, Scopes& scopes) {
  for (const ReadTensor& t : g.model.initializers) {
    const int id = g.add_value(t.name);
    g.id_of[t.name] = id;
    describe_constant(g[id], t);
    g.given_bytes += t.bytes.size();
  }
  take_inputs(g);
  for (const ReadNode& node : g.model.nodes) each_read(node, [&](const std::string& name) { ++g.uses[name]; });
  for (const auto& output : g.model.outputs) ++g.uses[output.name];
  g.rotary_groups = rotary_groups(g.model);
  g.cell_weights = weights_of_cells(g.model, g.rotary_groups);
  for (const ReadNode& node : g.model.nodes) {
    std::string scope;
    if (!scopes.find(node, scope))
      for (const std::string& input : node.inputs)
        if (g.id_of.count(input)) {
          const int call = g[g.id_of[input]].call;
          scope = g[g.id_of[input]].scope;
          if (call >= 0 && g.calls[std::size_t(call)].member) scope = parent_of(scope);
          break;
        }
    translate_node(g, node, scope);
  }
  if (!g.problems.empty()) return;
  for (const auto& output : g.model.outputs) {
    if (!g.id_of.count(output.name)) throw_error<ValueError>("output '", output.name, "' is not computed.");
    const int id = result_of(g, output.name);
    if (g[id].call < 0 && g[id].origin < 0)
      throw_error<ValueError>("output '", output.name, "' is a constant, or has the steps first.");
    g.outputs.push_back(id);
  }
  join_attentions(g);
  join_slices(g);
  settle_shared_parameters(g);
}

}  // namespace importer
