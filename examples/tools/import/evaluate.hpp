// Nodes that read constants of the file alone: the tool computes them, with the same rules for large and small ones.
#pragma once
#include "convolving.hpp"
#include "fold.hpp"

namespace importer::evaluation {

/// A node that gives its first input another shape.
inline Computed reshaped(const Computation& c) {
  const auto to = Folding::moved_shape(c.n, c.n.node.operation);
  const auto extents = to ? numbers_of(*to) : std::nullopt;
  if (!extents || elements_in(*extents) != c.in(0).count()) return std::nullopt;
  Array y = c.in(0);
  y.extents = *extents;
  return y;
}

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
        {"Slice", sliced},
        {"Softmax", as_softmax},
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
                                 "Max", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Xor"})
      table[op] = of_several;
    for (const auto& [op, function] : real_functions()) table[op] = of_each;
    return table;
  }();
  return all;
}

/// Whether the inputs have the types that the operator takes: a damaged file may have others.
inline bool has_fitting_types(const Computation& c, const std::string& op) {
  static const std::set<std::string> of_reals{"BatchNormalization", "Conv",   "Gelu",   "IsNaN",  "LayerNormalization",
                                              "LogSoftmax",         "MatMul", "Resize", "Softmax"},
      with_numbers{"Expand", "Gather", "GatherElements", "GatherND", "Tile", "Trilu"},
      of_one_type{"BatchNormalization", "Clip", "Conv", "LayerNormalization", "MatMul", "Range"};
  const auto is_number = [&](std::size_t k) { return !c.has(k) || c.in(k).type == 6 || c.in(k).type == 7; };
  bool fits = (!of_reals.count(op) || c.in(0).is_real()) && (!with_numbers.count(op) || is_number(1));
  for (std::size_t k = 1; k < c.inputs.size(); ++k)
    fits = fits && (!of_one_type.count(op) || !c.has(k) || c.in(k).type == c.in(0).type);
  if (op == "Pad") fits = fits && (!c.has(2) || c.in(2).type == c.in(0).type);
  if (op == "Where") fits = fits && c.in(0).type == 9;
  return fits;
}
/// Whether the rules have code for it: rows of a table that is trained, by their numbers.
inline bool is_look_up(const NodeView& n) {
  return n.node.operation == "Gather" && n.in(0).tensor && is_weight(*n.in(0).tensor) && n.rank(0) == 2 &&
         n.whole("axis", 0) == 0;
}
/// Whether it is a range of numbers other than 0, 1, 2, ..., which have code.
inline bool is_other_range(const NodeView& n) {
  const auto is = [&](std::size_t k, long number) { return n.in(k).whole && (*n.in(k).whole)[0] == Extent(number); };
  return n.node.operation == "Range" && n.has(0) && n.has(2) && !(is(0, 0) && is(2, 1));
}
/// Whether it is arithmetic of which no cell reads the result: with a weight the header does that itself.
inline bool is_arithmetic(const NodeView& n, Evaluation of) {
  return (of == of_several || of == of_each || of == limited || of == selected || of == reduced || of == multiplied ||
          of == as_softmax || of == as_gelu || of == summed_up) &&
         !n.g.cell_weights.count(n.node.outputs[0]);
}
/// Whether the node computes with constants alone, so that its output is one. One that is made of a weight stays
/// trained, under the name of the weight.
inline bool evaluate(const NodeView& n) {
  const auto evaluation = evaluations().find(n.node.operation);
  if (evaluation == evaluations().end() || n.ids.empty() || !n.has(0) || is_look_up(n)) return false;
  Computation c{n, {}};
  std::string weight;
  for (std::size_t k = 0; k < n.ids.size(); ++k) {
    c.inputs.emplace_back();
    if (!n.has(k)) continue;
    c.inputs.back() = array_of(n.in(k));
    if (!c.inputs.back()) return false;
    const ReadTensor* const t = n.in(k).tensor;
    if (weight.empty() && t && is_weight(*t) && (t->count() > 1 || !n.in(k).reals)) weight = t->name;
  }
  if (!has_fitting_types(c, n.node.operation)) return false;
  if (!weight.empty() && is_arithmetic(n, evaluation->second)) return false;
  const Computed y = evaluation->second(c);
  if (y && y->count() != elements_in(y->extents)) n.refuse("its inputs are damaged");
  auto made = y ? tensor_from(*y, y->type == 1 ? weight : "") : std::nullopt;
  if (!made) return false;
  const auto is_first = [&](double each) {
    return each == y->number(0) && std::signbit(each) == std::signbit(y->number(0));
  };
  bool is_equal = y->count() > 64 && made->name.empty();
  for (std::size_t i = 0; is_equal && i < y->count(); ++i) is_equal = is_first(y->number(i));
  if (!is_equal) give_constant(n, 0, std::move(*made));
  else {
    Shape shape;
    for (const long each : y->extents) shape.push_back(Extent(each));
    n.out(0, shape, y->type).filled = y->number(0);
  }
  Value& result = n.g[n.g.id_of.at(n.node.outputs[0])];
  result.origin = -1;
  if (y->count() == 1 && result.tensor && is_weight(*result.tensor)) result.reals.reset();  // no number: it is trained
  return true;
}

}  // namespace importer::evaluation

namespace importer {
using evaluation::evaluate, evaluation::is_other_range;
}  // namespace importer
