// Constants that the file computes, in code: numbers in a shape, or tensors of the checkpoint.
#pragma once
#include "arrays.hpp"
#include "views.hpp"

namespace importer {

/// How C++ calls a type of elements that a network computes with.
inline std::string type_text(const NodeView& n, int type) {
  switch (type) {
    case 1: return "float";
    case 6: return "std::int32_t";
    case 7: return "std::int64_t";
    case 9: return "bool";
    default: n.refuse("it reads a constant of another type than float32, int32, int64, bool");
  }
}
/// The tensor of a constant; one that the file computes gets it here.
inline const ReadTensor& tensor_of(const NodeView& n, int id) {
  Value& v = n.g[id];
  if (v.tensor) return *v.tensor;
  type_text(n, v.type);
  const auto x = array_of(v);
  if (!count_of(v.shape).is_number() || (x && !x->dynamic.empty()))
    n.refuse("it reads extents of a dynamic axis as numbers: state one size of the axis, --extent NAME=32");
  if (!x) n.refuse("it reads a constant whose elements do not fit its shape, or are too many");
  n.g.made.push_back(*tensor_from(*x, ""));
  v.tensor = &n.g.made.back();
  return *v.tensor;
}
/// A value from which others take their trace, of this type if there is one; with samples if `has_batch`.
inline int any_value(const NodeView& n, int type, bool has_batch = false) {
  int found = -1;
  const auto look = [&](int id) {
    const bool has_code = id >= 0 && n.g[id].special == Special::none && (n.g[id].call >= 0 || n.g[id].origin >= 0);
    const bool fits = !has_batch || (has_code && !n.g[id].shape.empty() && n.g[id].shape[0].has_batch());
    if (has_code && fits && (found < 0 || (n.g[found].type != type && n.g[id].type == type))) found = id;
  };
  for (const int id : n.ids) look(id);
  for (const int id : n.g.inputs) look(id);
  if (found < 0) n.refuse("it reads no value");
  return found;
}
/// A constant of equal elements in code.
inline int equal_elements(const NodeView& n, int id) {
  const Value v = n.g[id];
  const std::string type = type_text(n, v.type);
  const std::string name = v.scalar() == 0 && !std::signbit(v.scalar()) ? "zeros<"
                           : v.scalar() == 1                            ? "ones<"
                                                                        : "full<";
  const std::string made = name + n.g.shape(v.shape) + (name == "full<" ? ">($0, " + scalar_text(v) + ")" : ">($0)");
  const int anchor = any_value(n, v.type, !v.shape.empty() && v.shape[0].has_batch());
  const bool fits = n.g[anchor].type == v.type;
  const int result = add_call(n, fits ? made : "cast<" + type + ">(" + made + ")", {anchor}, v.shape);
  n.g[result].type = v.type;
  n.g.needs_more = true;
  return result;
}

/// The path of the cell in the names of PyTorch's weights, if this is such a name.
inline std::string cell_path(const ReadTensor& t) {
  for (const std::string_view end : {".weight", ".bias"})
    if (t.name.ends_with(end)) return t.name.substr(0, t.name.size() - end.size());
  return "";
}
inline void name_member(Call& call, const NodeView& n, const ReadTensor& weight) {
  const std::string path = cell_path(weight);
  // equal weights of several cells have the name of one of them
  const std::string& scope = n.scope;
  if (!path.empty() && path.rfind('.') != path.npos && path.substr(0, path.rfind('.')) == scope)
    call.name = path.substr(path.rfind('.') + 1);
  else if (!path.empty() && path.find('.') == path.npos && scope.empty()) call.name = path;
}

/// A constant as a parameter of the network, which `output` is.
inline void give_parameter(const NodeView& n, const ReadTensor& t, const Shape& shape, const std::string& scope,
                           int output) {
  const std::string type = type_text(n, t.type);
  const bool is_trained = is_weight(t);
  Call call;
  call.scope = scope, call.code = "@", call.node = n.node.name, call.outputs = {output};
  const std::string last = t.name.substr(t.name.rfind('.') + 1);
  if (is_trained && last.find('/') == last.npos) call.name = last;
  if (is_trained) name_member(call, n, t);  // rows of a table
  Member member{"table",
                "Parameter<" + type + ", " + n.g.shape(shape) + (is_trained ? ", nn::Zero{}>" : ", nn::Zero{}, false>"),
                {{"", t, is_trained}},
                "yes"};
  call.member = std::move(member);
  n.g[output].call = int(n.g.calls.size());
  n.g.calls.push_back(std::move(call));
}
/// Whether an operator stretches its operands to each other.
inline bool stretches_operands(const std::string& op) {
  static const std::set<std::string> all{"Add",
                                         "Sub",
                                         "Mul",
                                         "Div",
                                         "Pow",
                                         "Mod",
                                         "Max",
                                         "Min",
                                         "Less",
                                         "Greater",
                                         "Equal",
                                         "And",
                                         "Or",
                                         "Xor",
                                         "Where",
                                         "LessOrEqual",
                                         "GreaterOrEqual",
                                         "Sum",
                                         "Mean"};
  return all.count(op) > 0;
}
/// Whether another operand of the node has all samples, so that one of a constant is enough.
inline bool has_samples_beside(const NodeView& n, int id) {
  const Shape& shape = n.g[id].shape;
  const auto behind = std::find_if(shape.begin(), shape.end(), [](const Extent& e) { return e.has_batch(); });
  const auto back = std::size_t(shape.end() - behind);
  return stretches_operands(n.node.operation) && *behind == Extent::symbol(0) &&
         std::any_of(n.ids.begin(), n.ids.end(), [&](int other) {
           if (other < 0) return false;
           const Value& v = n.g[other];
           const bool has_code = v.call >= 0 || v.origin >= 0 || v.view || v.scores;
           const Shape& of = v.shape;
           return has_code && !v.is_constant() && !v.is_stretched && of.size() >= back &&
                  of[of.size() - back].has_batch();
         });
}
/// The parameter with one sample of a constant.
inline int sample(const NodeView& n, int id) {
  if (n.g[id].in_code >= 0) return n.g[id].in_code;
  const Repeated of = *n.g[id].repeated;
  if (!of.slope.empty()) n.refuse("it computes with the numbers of the samples");
  const int made = n.g.add_value(n.g[id].name);
  Value& v = n.g[made];
  v.type = of.one.type, v.has_shape = true, v.shape = n.g[id].shape, v.scope = n.g[id].scope, v.origin = -1;
  give_parameter(n, of.one, Shape(of.one.extents.begin(), of.one.extents.end()), n.scope, made);
  return n.g[id].in_code = made;
}
/// A value of which each sample has the same, in code: one sample, or all if the node needs them.
inline int samples(const NodeView& n, int id) {
  const int made = sample(n, id), type = n.g[id].type;
  if (has_samples_beside(n, id)) return made;
  const Shape shape = n.g[id].shape;
  const int anchor = any_value(n, type);
  const std::string zeros = "zeros<" + n.g.shape(shape) + ">($1)";
  const std::string fitting = n.g[anchor].type == type ? zeros : "cast<" + type_text(n, type) + ">(" + zeros + ")";
  const bool is_test = type == 9;
  const std::string code = is_test ? "logical_or($0, " + fitting + ")" : "$0 + " + fitting;
  const int all = add_call(n, code, {made, anchor}, shape, is_test ? 0 : 2);
  n.g.needs_more = true;
  n.g[all].type = type;
  return all;
}

}  // namespace importer
