// Constants that the file computes, in code: numbers in a shape, or tensors of the checkpoint.
#pragma once
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
/// The bytes of elements, in the type of a value.
inline std::string bytes_of(const Value& v, const std::vector<Extent>& whole, const std::vector<double>& reals) {
  std::string bytes;
  const auto put = [&](auto element) { bytes.append(reinterpret_cast<const char*>(&element), sizeof element); };
  for (const double each : reals) put(float(each));
  for (const Extent& each : whole)
    if (v.type == 6) put(std::int32_t(each.factor));
    else if (v.type == 7) put(std::int64_t(each.factor));
    else put(std::uint8_t(each.factor != 0));
  return bytes;
}
/// The tensor of a constant; one that the file computes gets it here.
inline const ReadTensor& tensor_of(const NodeView& n, int id) {
  Value& v = n.g[id];
  if (v.tensor) return *v.tensor;
  type_text(n, v.type);
  ReadTensor t{"", v.type, {}, {}};
  for (const Extent& each : v.shape) t.extents.push_back(each.factor);
  const Extent all = count_of(v.shape);
  const bool is_equal = v.filled && !v.whole && !v.reals && all.is_number() && all.factor <= 1 << 25;
  if (is_equal && v.type == 1) v.reals.emplace(std::size_t(all.factor), *v.filled);
  if (is_equal && v.type != 1) v.whole.emplace(std::size_t(all.factor), Extent(v.whole_scalar()));
  bool is_known = v.type == 1 ? v.reals.has_value() : v.whole.has_value();
  for (std::size_t k = 0; v.whole && k < v.whole->size(); ++k) is_known = is_known && (*v.whole)[k].is_number();
  if (!is_known || !count_of(v.shape).is_number())
    n.refuse("it reads extents of a dynamic axis as numbers: state one size of the axis, --extent NAME=32");
  t.bytes = v.type == 1 ? bytes_of(v, {}, *v.reals) : bytes_of(v, *v.whole, {});
  if (t.bytes.size() != std::size_t(t.count()) * (v.type == 1 || v.type == 6 ? 4 : v.type == 7 ? 8 : 1))
    n.refuse("it reads a constant whose elements do not fit its shape");
  n.g.made.push_back(std::move(t));
  v.tensor = &n.g.made.back();
  return *v.tensor;
}
/// A value from which others take their trace, of this type if there is one.
inline int any_value(const NodeView& n, int type) {
  int found = -1;
  const auto look = [&](int id) {
    const bool has_code = id >= 0 && n.g[id].special == Special::none && (n.g[id].call >= 0 || n.g[id].origin >= 0);
    if (has_code && (found < 0 || (n.g[found].type != type && n.g[id].type == type))) found = id;
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
  const int anchor = any_value(n, v.type);
  const bool fits = n.g[anchor].type == v.type;
  const int result = add_call(n, fits ? made : "cast<" + type + ">(" + made + ")", {anchor}, v.shape);
  n.g[result].type = v.type;
  return result;
}

}  // namespace importer
