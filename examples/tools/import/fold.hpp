// Constant folding: what the file computes of shapes and of small constants is computed here.
#pragma once
#include "elements.hpp"
#include "movement.hpp"
#include "parts.hpp"

namespace importer {

/// Most elements of a constant that is computed one by one.
inline constexpr std::size_t most_elements = 64;

/// The elements of a small constant as real numbers, or nothing.
inline std::optional<std::vector<double>> known_reals(const Value& v) {
  if (v.reals) return v.reals;
  std::vector<double> all;
  if (v.whole)
    for (const Extent& each : *v.whole) {
      if (!each.is_number()) return std::nullopt;
      all.push_back(double(each.factor));
    }
  else {
    const Extent count = count_of(v.shape);
    if (!v.filled || !count.is_number() || count.factor < 0 || count.factor > long(most_elements)) return std::nullopt;
    all.assign(std::size_t(count.factor), *v.filled);
  }
  return all;
}

/// The inputs of a node stretched to each other: the shape, and where each element of it is in each input.
struct Stretched {
  Shape shape;
  std::vector<std::vector<std::size_t>> places;
  std::size_t count = 0;
  bool fits = false;  // whether the elements are few, and all extents are numbers

  explicit Stretched(const NodeView& n) {
    shape = n.shape(0);
    for (std::size_t k = 1; k < n.ids.size(); ++k) shape = stretched(n, shape, n.shape(k));
    const Extent all = count_of(shape);
    fits = all.is_number() && all.factor >= 0 && all.factor <= long(most_elements);
    if (!fits) return;
    count = std::size_t(all.factor);
    for (std::size_t k = 0; k < n.ids.size(); ++k) places.push_back(places_in(n.shape(k)));
  }

 private:
  std::vector<std::size_t> places_in(const Shape& from) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t rest = i, place = 0, stride = 1;
      for (std::size_t axis = 1; axis <= shape.size(); ++axis) {
        const auto extent = std::size_t(shape[shape.size() - axis].factor), at = rest % extent;
        rest /= extent;
        if (axis > from.size()) continue;
        const auto own = std::size_t(from[from.size() - axis].factor);
        place += own == 1 ? 0 : at * stride;
        stride *= own;
      }
      result.push_back(place);
    }
    return result;
  }
};

class Folding {
 public:
  /// Whether the node is folded: then its outputs are known.
  static bool fold(const NodeView& n) {
    if (!is_folded(n)) return false;
    for (const std::string& output : n.node.outputs)
      if (const auto made = n.g.id_of.find(output); made != n.g.id_of.end() && n.g[made->second].is_constant())
        n.g[made->second].origin = -1;  // an extent of an input is none of its elements
    return true;
  }
  /// The shape that a node gives its first input, whose elements stay where they are.
  static std::optional<Shape> moved_shape(const NodeView& n, const std::string& op) {
    const Shape& from = n.shape(0);
    if (op == "Reshape") return n.has(1) && n.in(1).whole ? std::optional(wanted_shape(n)) : std::nullopt;
    if (op == "Flatten") return flat_shape(n);
    if (op == "Unsqueeze") {
      const auto places = places_of(n, from.size() + n.plain_numbers("axes", 1).size());
      Shape to = from;
      for (const std::size_t place : places) to.insert(to.begin() + long(std::min(place, to.size())), Extent(1));
      return to;
    }
    if (op != "Squeeze") return std::nullopt;
    const auto places = places_of(n, from.size());
    const bool is_all = n.plain_numbers("axes", 1).empty();
    Shape to;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (is_all ? !(from[k] == Extent(1)) : !places.count(k)) to.push_back(from[k]);
    return to;
  }

 private:
  static bool is_folded(const NodeView& n) {
    const std::string& op = n.node.operation;
    if (n.node.outputs.empty()) return false;
    if (op == "Constant") return constant(n);
    if (op == "Shape") return shape_of(n);
    if (op == "ConstantOfShape") return constant_of_shape(n);
    if (op == "Range") return range(n);
    if (n.ids.empty() || op == "Identity") return false;
    bool whole = true, real = true, any = false;
    for (const int id : n.ids) {
      if (id < 0) continue;
      any = true;
      const Value& v = n.g[id];
      const bool stays = v.tensor && is_weight(*v.tensor) && v.tensor->count() > 1;  // to be trained
      whole = whole && v.whole;
      real = real && !stays && (v.reals || v.whole || v.filled);
    }
    if (!any) return false;
    if (whole && fold_whole(n, op)) return true;
    return real && (fold_real(n, op) || fold_equal(n, op));
  }
  using Wholes = std::vector<Extent>;
  /// Those of no dynamic axis; the others are NaN.
  static std::vector<double> numbers_of(const Wholes& x) {
    std::vector<double> all;
    for (const Extent& each : x) all.push_back(each.is_number() ? double(each.factor) : NAN);
    return all;
  }
  static void give(const NodeView& n, Wholes values, const Shape& shape, int type) {
    n.out(0, shape, type).whole = std::move(values);
  }
  static bool constant(const NodeView& n) {
    if (const auto* const a = n.node.find("value"); a && a->has_tensor) {
      const int id = n.g.add_value(n.node.outputs[0]);
      n.g.id_of[n.node.outputs[0]] = id;
      describe_constant(n.g[id], a->tensor);
      n.g[id].scope = n.scope;
      return true;
    }
    if (n.node.find("value_int")) return give(n, {Extent(n.whole("value_int", 0))}, {}, 7), true;
    if (const auto* const a = n.node.find("value_ints"))
      return give(n, Wholes(a->whole.begin(), a->whole.end()), {Extent(long(a->whole.size()))}, 7), true;
    if (const auto* const a = n.node.find("value_float")) {
      n.out(0, {}, 1).reals = std::vector<double>{double(a->number)};
      return true;
    }
    n.refuse("it is a constant without numbers");
  }
  static bool shape_of(const NodeView& n) {
    const Shape& shape = n.shape(0);
    const long rank = long(shape.size());
    const auto place = [&](long at) { return std::clamp(at < 0 ? at + rank : at, 0l, rank); };
    const long begin = place(n.whole("start", 0)), end = std::max(begin, place(n.whole("end", rank)));
    give(n, Wholes(shape.begin() + begin, shape.begin() + end), {Extent(end - begin)}, 7);
    return true;
  }
  static bool constant_of_shape(const NodeView& n) {
    if (!n.in(0).whole) n.refuse("its shape must be known");
    const auto* const a = n.node.find("value");
    const Wholes shape = *n.in(0).whole;
    double value = 0;
    if (a && a->has_tensor)
      if (const auto all = elements_of(a->tensor); !all.empty()) value = all[0];
    const int type = a && a->has_tensor ? a->tensor.type : 1;
    Value& v = n.out(0, shape, type);
    v.filled = value;
    const Extent count = count_of(shape);
    if (!is_real_type(type) && count.is_number() && count.factor >= 0 && count.factor <= 64)
      v.whole = Wholes(std::size_t(count.factor), Extent(a && a->has_tensor ? whole_element(a->tensor, 0, value) : 0));
    return true;
  }
  static bool range(const NodeView& n) {
    for (int k = 0; k < 3; ++k)
      if (!n.in(std::size_t(k)).whole || n.in(std::size_t(k)).whole->size() != 1) n.refuse("its limits must be known");
    const Extent begin = (*n.in(0).whole)[0], end = (*n.in(1).whole)[0], step = (*n.in(2).whole)[0];
    if (!(begin == Extent(0)) || !(step == Extent(1))) n.refuse("it must count 0, 1, 2, ...");
    Value& v = n.out(0, {end}, n.in(0).type);
    v.special = Special::counting;
    if (end.is_number() && end.factor >= 0 && end.factor <= 64) {
      v.whole.emplace();
      for (long i = 0; i < end.factor; ++i) v.whole->push_back(Extent(i));
    }
    return true;
  }

  static std::set<std::size_t> places_of(const NodeView& n, std::size_t rank) {
    std::set<std::size_t> places;
    for (const long axis : n.plain_numbers("axes", 1)) places.insert(n.axis(axis, rank));
    return places;
  }
  static bool moves(const NodeView& n, const std::string& op) {
    const auto to = moved_shape(n, op);
    if (!to || !(count_of(*to) == count_of(n.shape(0)))) return false;
    const Value from = n.in(0);
    Value& made = n.out(0, *to, from.type);
    made.whole = from.whole, made.reals = from.reals;
    const std::size_t needed = from.special == Special::counting ? 1 : 2;  // last axes that it is a pattern of
    const bool stays = std::min(to->size(), from.shape.size()) >= needed &&
                       std::equal(to->end() - long(needed), to->end(), from.shape.end() - long(needed));
    if (stays) made.special = from.special;
    return true;
  }

  static bool fold_whole(const NodeView& n, const std::string& op) {
    const Wholes& x = *n.in(0).whole;
    const Shape shape = n.shape(0);
    const int type = n.in(0).type;
    if (op == "Cast") return cast(n, x, shape);
    if (moves(n, op)) return true;
    if (op == "Gather" && shape.size() == 1) return gather(n, x, type);
    const bool is_cut = op == "Slice" && (shape.size() == 1 || n.in(0).special == Special::none);
    if (const auto parts = is_cut ? sliced(n, x) : op == "Transpose" ? reordered(n, x) : std::nullopt)
      return give(n, parts->elements, parts->shape, type), true;
    if (op == "Concat") return concat(n, type);
    if (op == "Where" && n.ids.size() == 3) return where(n);
    if (op == "Neg" || op == "Not" || op == "Abs") {
      Wholes result = x;
      for (Extent& each : result) {
        if (!each.is_number() && op != "Neg") return false;
        const long negated = long(0 - static_cast<unsigned long>(each.factor));
        each.factor = op == "Not" ? !each.factor : op == "Neg" || each.factor < 0 ? negated : each.factor;
        if (each.is_number()) each = *held(each, type);
      }
      return give(n, result, shape, type), true;
    }
    if (op == "ReduceProd" && n.ids.size() == 1 && shape.size() == 1) {
      Extent all(1);
      for (const Extent& each : x) all = all * each;
      return give(n, {all}, n.whole("keepdims", 1) ? Shape{Extent(1)} : Shape{}, type), true;
    }
    return n.ids.size() > 1 && chained(n, op);
  }
  /// Operators of two inputs; Max and Min have any number of them.
  static bool chained(const NodeView& n, const std::string& op) {
    if (!is_elementwise(op) || (n.ids.size() != 2 && op != "Max" && op != "Min")) return false;
    const Stretched to(n);
    if (!to.fits) return false;
    const bool is_fmod = n.whole("fmod", 0) != 0;
    const int type = n.in(0).type;
    Wholes result;
    for (std::size_t i = 0; i < to.count; ++i) {
      Extent all = (*n.in(0).whole)[to.places[0][i]];
      for (std::size_t k = 1; k < n.ids.size(); ++k) {
        const auto next = computed(op, all, (*n.in(k).whole)[to.places[k][i]], is_fmod);
        const auto kept = next ? held(*next, is_test(op) ? 9 : type) : std::nullopt;
        if (!kept) return false;
        all = *kept;
      }
      result.push_back(all);
    }
    give(n, result, to.shape, is_test(op) ? 9 : type);
    describe_triangle(n.g[n.g.id_of.at(n.node.outputs[0])], numbers_of(result));
    return true;
  }
  static bool cast(const NodeView& n, const Wholes& x, const Shape& shape) {
    const int to = int(n.whole("to", 0));
    if (!is_real_type(to)) {
      const Special special = n.in(0).special;
      Wholes result;
      for (const Extent& each : x) {
        const auto kept = held(each, to);
        if (!kept) return false;
        result.push_back(*kept);
      }
      const bool stays = result == x;
      give(n, std::move(result), shape, to);
      if (stays) n.g[n.g.id_of.at(n.node.outputs[0])].special = special;
      return true;
    }
    std::vector<double> reals;
    for (const Extent& each : x) {
      if (!each.is_number()) return false;
      reals.push_back(to == 1 ? double(float(each.factor)) : double(each.factor));
    }
    n.out(0, shape, to).reals = reals;
    return true;
  }
  static bool gather(const NodeView& n, const Wholes& x, int type) {
    Wholes result;
    for (const Extent& each : *n.in(1).whole) {
      if (!each.is_number()) return false;
      result.push_back(x[n.axis(each.factor, x.size())]);
    }
    give(n, result, n.shape(1), type);
    return true;
  }
  static bool concat(const NodeView& n, int type) {
    Wholes all;
    for (std::size_t k = 0; k < n.ids.size(); ++k) {
      if (n.rank(k) != 1) return false;
      all.insert(all.end(), n.in(k).whole->begin(), n.in(k).whole->end());
    }
    if (all.size() > most_elements) return false;
    const Shape shape{Extent(long(all.size()))};
    give(n, std::move(all), shape, type);
    return true;
  }
  static bool where(const NodeView& n) {
    const Stretched to(n);
    if (!to.fits) return false;
    Wholes result;
    for (std::size_t i = 0; i < to.count; ++i) {
      const Extent& condition = (*n.in(0).whole)[to.places[0][i]];
      if (!condition.is_number()) return false;
      const std::size_t from = condition.factor ? 1 : 2;
      result.push_back((*n.in(from).whole)[to.places[from][i]]);
    }
    give(n, result, to.shape, n.in(1).type);
    return true;
  }

  /// Arithmetic of small constants, in float32 or float64 as the runtime would do it.
  static bool fold_real(const NodeView& n, const std::string& op) {
    const int type = n.in(0).type;
    if (n.in(0).reals && moves(n, op)) return true;
    if (type != 1 && type != 11) return false;
    std::vector<std::vector<double>> of;
    for (std::size_t k = 0; k < n.ids.size(); ++k) {
      if (!n.has(k) || (op == "Cast" && n.in(k).filled)) return false;
      const auto elements = known_reals(n.in(k));
      if (!elements) return false;
      of.push_back(*elements);
    }
    if (op == "Cast") return cast_reals(n, of[0]);
    if (!is_elementwise(op) || (n.ids.size() > 2 && op != "Max" && op != "Min")) return false;
    const Stretched to(n);
    if (!to.fits) return false;
    std::vector<double> result;
    for (std::size_t i = 0; i < to.count; ++i) {
      std::vector<double> operands;
      for (std::size_t k = 0; k < of.size(); ++k) operands.push_back(of[k][to.places[k][i]]);
      const bool is_fmod = n.whole("fmod", 0) != 0;
      const auto one =
          type == 1 ? computed_real<float>(op, operands, is_fmod) : computed_real<double>(op, operands, is_fmod);
      if (!one) return false;
      result.push_back(*one);
    }
    if (!is_test(op)) return n.out(0, to.shape, type).reals = result, true;
    give(n, Wholes(result.begin(), result.end()), to.shape, 9);
    return true;
  }
  /// Of constants with equal elements each, of any shape: one number.
  static bool fold_equal(const NodeView& n, const std::string& op) {
    if (!is_elementwise(op) || n.ids.empty()) return false;
    const int type = n.in(0).type;
    std::vector<double> of;
    Shape shape = n.shape(0);
    for (std::size_t k = 0; k < n.ids.size(); ++k) {
      if (!n.has(k) || !n.in(k).is_scalar()) return false;
      of.push_back(n.in(k).scalar());
      shape = stretched(n, shape, n.shape(k));
    }
    const bool is_fmod = n.whole("fmod", 0) != 0;
    std::optional<double> result;
    if (type == 1) result = computed_real<float>(op, of, is_fmod);
    else if (type == 11) result = computed_real<double>(op, of, is_fmod);
    else if (const auto exact = of.size() == 2 && !is_test(op)
                                    ? computed(op, n.in(0).whole_scalar(), n.in(1).whole_scalar(), is_fmod)
                                    : std::nullopt)
      if (const auto kept = held(*exact, type)) result = double(*kept);
    if (!result) return false;
    n.out(0, shape, is_test(op) ? 9 : type).filled = *result;
    return true;
  }
  static bool cast_reals(const NodeView& n, const std::vector<double>& x) {
    const int to = int(n.whole("to", 0));
    const Shape shape = n.shape(0);
    if (is_real_type(to)) {
      std::vector<double> rounded;
      for (const double each : x) rounded.push_back(to == 1 ? double(float(each)) : each);
      n.out(0, shape, to).reals = rounded;
      return true;
    }
    Wholes result;
    for (const double each : x) {
      const auto kept = held(each, to);
      if (!kept) return false;
      result.push_back(Extent(*kept));
    }
    give(n, result, shape, to);
    return true;
  }
};

}  // namespace importer
