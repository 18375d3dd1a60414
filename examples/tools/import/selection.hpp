// Masks, and nodes that take elements of one or another tensor.
#pragma once
#include "operators.hpp"

namespace importer {

/// The lower triangle of ones.
inline void trilu(const NodeView& n) {
  const bool is_main = !n.has(1) || (n.in(1).whole && n.in(1).whole->size() == 1 && (*n.in(1).whole)[0] == Extent(0));
  const auto filled = n.in(0).filled;
  const Shape shape = n.shape(0);
  if (n.whole("upper", 1) || !is_main || !filled || *filled != 1 || shape.size() < 2 ||
      !(shape.back() == shape[shape.size() - 2]))
    n.refuse("only the mask of causal attention is in scope");
  n.out(0, shape, n.in(0).type).special = Special::lower;
}
inline bool is_minus_infinity(const Value& v) { return v.is_scalar() && std::isinf(v.scalar()) && v.scalar() < 0; }
/// PyTorch's newer exporter hides with it.
inline bool is_least(const Value& v) {
  return v.is_scalar() && v.scalar() == double(-std::numeric_limits<float>::max());
}
/// One of two numbers for each element of a condition.
inline void choose_numbers(const NodeView& n, const Operands& x, const std::string& condition) {
  const Value &a = n.in(1), &b = n.in(2);
  const auto is_zero = [](const Value& v) { return v.scalar() == 0 && !std::signbit(v.scalar()); };
  const std::string cast = "cast<" + type_text(n, a.type) + ">(";
  const bool is_product = (is_zero(a) && std::isfinite(b.scalar())) || (is_zero(b) && std::isfinite(a.scalar()));
  const Shape shape = n.shape(0);
  const int type = a.type;
  std::string code = is_zero(a) ? cast + "logical_not(" + condition + "))" : cast + condition + ")";
  if (!is_product)
    code = "select(" + condition + ", " + scalar_text(a) + ", full<Shape<1>>(" + cast + condition + "), " +
           scalar_text(b) + "))";
  else if (const Value& other = is_zero(a) ? b : a; other.scalar() != 1) code += " * " + scalar_text(other);
  n.out(0, shape, type);
  n.call(code, x.ids, is_product ? 1 : 0);
}
inline void where(const NodeView& n) {
  const Shape shape = stretched(n, n.shape(0), stretched(n, n.shape(1), n.shape(2)));
  const auto is_zero = [&](std::size_t k) { return n.in(k).is_scalar() && n.in(k).scalar() == 0; };
  if ((n.in(0).special == Special::lower && is_zero(1) && is_minus_infinity(n.in(2))) ||
      (n.in(0).special == Special::above && is_minus_infinity(n.in(1)) && is_zero(2))) {
    n.out(0, shape, 1).special = Special::hidden;
    return;
  }
  if (n.in(0).special == Special::above && is_least(n.in(1)) && is_zero(2)) {
    n.out(0, shape, 1).special = Special::nearly_hidden;
    return;
  }
  if (n.in(0).special == Special::above && is_minus_infinity(n.in(1)) && hides(n, 0, 2)) {
    n.out(0, shape, n.in(2).type);
    n.call("causal_mask($0)", {n.id(2)});
    return;
  }
  Operands x(n);
  const auto one = [&](std::size_t k) {
    const Value& v = n.in(k);
    const bool is_number = v.is_scalar() && v.call < 0 && is_real_type(v.type);
    return !is_number ? x(k) : v.type == 11 ? double_text(v.scalar()) : real_text(v.scalar());
  };
  const std::string c = x.tensor(0);
  if (const auto is_number = [&](std::size_t k) { return n.in(k).is_scalar() && n.in(k).call < 0; };
      is_number(1) && is_number(2) && n.shape(0) == shape)
    return choose_numbers(n, x, c);
  const std::string a = one(1), b = one(2);
  n.out(0, shape, n.in(1).type);
  n.call("select(" + c + ", " + a + ", " + b + ")", x.ids);
}

}  // namespace importer
