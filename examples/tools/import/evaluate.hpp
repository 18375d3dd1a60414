// Nodes that read constants of the file alone: the tool computes them, with the same rules for large and small ones.
#pragma once
#include "convolving.hpp"

namespace importer::evaluation {

using Evaluation = Computed (*)(const Computation&);
inline const std::map<std::string, Evaluation>& evaluations() {
  static const std::map<std::string, Evaluation> all = [] {
    std::map<std::string, Evaluation> table{
        {"BatchNormalization", normalized_channels},
        {"Cast", converted},
        {"Clip", limited},
        {"Concat", joined},
        {"Conv", convolved},
        {"CumSum", summed_up},
        {"Expand", expanded},
        {"Flatten", reshaped},
        {"Gather", gathered},
        {"GatherElements", gathered_elements},
        {"GatherND", gathered_at},
        {"Gelu", as_gelu},
        {"IsNaN", is_nan},
        {"LayerNormalization", normalized_layer},
        {"LogSoftmax", as_softmax},
        {"MatMul", multiplied},
        {"Not", of_each},
        {"Pad", bordered},
        {"Range", counted},
        {"Reshape", reshaped},
        {"Resize", resized},
        {"ScatterND", scattered},
        {"Slice", sliced},
        {"Softmax", as_softmax},
        {"Split", piece},
        {"Squeeze", reshaped},
        {"Tile", tiled},
        {"Transpose", reordered},
        {"Trilu", triangle},
        {"Unsqueeze", reshaped},
        {"Where", selected},
    };
    for (const char* const op :
         {"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
      table[op] = reduced;
    for (const char* const op : {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                                 "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Xor"})
      table[op] = of_several;
    for (const auto& [op, function] : real_functions<double>()) table[op] = of_each;
    return table;
  }();
  return all;
}

/// Whether the inputs have the types that the operator takes: a damaged file may have others.
inline bool has_fitting_types(const Computation& c, const std::string& op) {
  static const std::set<std::string> of_reals{
      "BatchNormalization", "Conv",   "Gelu",   "IsNaN",  "LayerNormalization", "Mean",
      "LogSoftmax",         "MatMul", "Resize", "Softmax"},
      with_numbers{"Gather", "GatherElements", "GatherND", "Trilu"},
      of_one_type{"BatchNormalization", "Clip", "Conv", "LayerNormalization", "MatMul", "Range"};
  const auto is_number = [&](std::size_t k) { return !c.has(k) || c.in(k).type == 6 || c.in(k).type == 7; };
  bool fits = (!of_reals.count(op) || c.in(0).is_real()) && (!with_numbers.count(op) || is_number(1));
  for (std::size_t k = 1; k < c.inputs.size(); ++k)
    fits = fits && (!of_one_type.count(op) || !c.has(k) || c.in(k).type == c.in(0).type);
  if (op == "Pad") fits = fits && (!c.has(2) || c.in(2).type == c.in(0).type);
  if (op == "Where") fits = fits && c.in(0).type == 9;
  if (op == "ScatterND") fits = fits && c.has(2) && c.in(1).type == 7 && c.in(2).type == c.in(0).type;
  return fits;
}
/// Whether the rules have code for it: rows of a table that is trained, by their numbers.
inline bool is_look_up(const NodeView& n) {
  return n.node.operation == "Gather" && n.in(0).tensor && is_weight(*n.in(0).tensor) && n.rank(0) == 2 &&
         n.whole("axis", 0) == 0;
}
/// Whether it adds two weights that nothing else reads, such as the biases of a recurrent layer: one weight.
inline bool joins_weights(const NodeView& n) {
  const auto is_free = [&](std::size_t k) {
    const ReadTensor* const t = n.in(k).tensor;
    return t && is_weight(*t) && t->count() > 1 && n.in(k).call < 0 && n.uses(k) == 1;
  };
  return n.node.operation == "Add" && is_free(0) && is_free(1) && n.in(0).tensor->extents == n.in(1).tensor->extents;
}
/// Whether it is arithmetic of which no cell reads the result: with a weight the header does that itself.
inline bool is_arithmetic(const NodeView& n, Evaluation of) {
  return (of == of_several || of == of_each || of == limited || of == selected || of == reduced || of == multiplied ||
          of == as_softmax || of == as_gelu || of == summed_up) &&
         !n.g.cell_weights.count(n.node.outputs[0]) && !joins_weights(n);
}
/// Whether only its first input has elements; the others are a shape, or places.
inline bool reads_one(Evaluation of) {
  return of == reshaped || of == expanded || of == tiled || of == sliced || of == piece;
}
/// Whether it takes and makes constants of which each sample has the same.
inline bool takes_samples(Evaluation of) {
  return of != normalized_channels && of != convolved && of != as_softmax && of != as_gelu && of != normalized_layer &&
         of != bordered && of != counted && of != reduced && of != resized && of != scattered;
}
/// Elements that depend on the number of a sample in no way that is known here: a node may read the shape alone.
inline bool give_shape(const Computation& c, Evaluation of) {
  const auto has_slope = [](const auto& x) { return x && !x->slope.empty(); };
  if (of != of_several || std::none_of(c.inputs.begin(), c.inputs.end(), has_slope)) return false;
  Shape shape = c.n.shape(0);
  for (std::size_t k = 1; k < c.inputs.size(); ++k) shape = stretched(c.n, shape, c.n.shape(k));
  c.n.out(0, shape, is_test(c.n.node.operation) ? 9 : c.in(0).type).origin = -1;
  return true;
}
/// The same of large constants with equal elements each, of any shape: one number.
inline bool evaluate_equal(const NodeView& n, Evaluation rule) {
  if (rule != of_several && rule != of_each) return false;
  Computation c{n};
  Shape shape = n.shape(0);
  for (std::size_t k = 0; k < n.ids.size(); ++k) {
    if (!n.has(k) || !n.in(k).is_scalar()) return false;
    Array one(n.in(k).type, Shape{});
    if (one.is_real()) one.reals.push_back(n.in(k).scalar());
    else one.wholes.push_back(n.in(k).whole_scalar());
    c.inputs.push_back(std::move(one)), shape = stretched(n, shape, n.shape(k));
  }
  const Extent count = count_of(shape);
  const Computed y = count.is_number() && count.factor <= 64 ? std::nullopt : rule(c);
  if (!y) return false;
  Value& v = n.out(0, shape, y->type);
  v.filled = y->number(0), v.origin = -1;
  return true;
}
/// Whether the node computes with constants alone, so that its output is one. One that is made of a weight stays
/// trained, under the name of the weight; what a Split takes apart, such as a table of sines and cosines, does not.
inline bool evaluate(const NodeView& n) {
  const auto found = evaluations().find(n.node.operation);
  if (found == evaluations().end() || n.ids.empty() || !n.has(0) || is_look_up(n)) return false;
  const Evaluation rule = found->second;
  if (evaluate_equal(n, rule)) return true;
  Computation c{n};
  std::string weight;
  bool has_samples = false, is_dynamic = false;
  for (std::size_t k = 0; k < (reads_one(rule) ? 1 : n.ids.size()); ++k) {
    c.inputs.emplace_back();
    if (!n.has(k)) continue;
    c.inputs.back() = array_of(n.in(k));
    if (!c.inputs.back()) return false;
    has_samples = has_samples || c.in(k).has_samples(), is_dynamic = is_dynamic || !c.in(k).dynamic.empty();
    const ReadTensor* const t = tensor_in(n.in(k));
    const bool is_trained = t && is_weight(*t) && (t->count() > 1 || !n.in(k).reals);
    if (is_trained && rule == scattered && (k > 0 || n.in(k).call >= 0)) return false;
    if (is_trained && weight.empty()) weight = rule == piece ? "/" : t->name;
  }
  if (!has_fitting_types(c, n.node.operation) || (has_samples && !takes_samples(rule))) return false;
  if (is_dynamic && !takes_samples(rule) && rule != reduced) return false;
  if (!weight.empty() && (has_samples || is_dynamic || is_arithmetic(n, rule))) return false;
  for (const std::size_t outputs = rule == piece ? n.node.outputs.size() : 1; c.output < outputs; ++c.output) {
    Computed y = rule(c);
    if (!y) return give_shape(c, rule);
    if (y->count() != elements_in(y->extents)) n.refuse("its inputs are damaged");
    if (*y == c.in(0)) n.alias(c.output, n.id(0));
    else if ((!weight.empty() && y->has_samples()) || !give_array(n, c.output, std::move(*y), weight)) return false;
  }
  return true;
}

}  // namespace importer::evaluation

namespace importer {
using evaluation::evaluate;
}  // namespace importer
