// Constant folding: what the file computes of shapes and of small constants is computed here.
#pragma once
#include "graph.hpp"

namespace importer {

class Folding {
 public:
  /// Whether the node is folded: then its outputs are known.
  static bool fold(const NodeView& n) {
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
      whole = whole && n.g[id].whole;
      real = real && (n.g[id].reals || n.g[id].whole || n.g[id].filled);
    }
    if (!any) return false;
    if (whole && fold_whole(n, op)) return true;
    return real && fold_real(n, op);
  }

 private:
  using Wholes = std::vector<Extent>;
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
      v.whole = Wholes(std::size_t(count.factor), Extent(long(value)));
    return true;
  }
  static bool range(const NodeView& n) {
    for (int k = 0; k < 3; ++k)
      if (!n.in(std::size_t(k)).whole || n.in(std::size_t(k)).whole->size() != 1) n.refuse("its limits must be known");
    const Extent begin = (*n.in(0).whole)[0], end = (*n.in(1).whole)[0], step = (*n.in(2).whole)[0];
    if (!(begin == Extent(0)) || !(step == Extent(1))) n.refuse("it must count 0, 1, 2, ...");
    Value& v = n.out(0, {end}, 7);
    v.special = Special::counting;
    if (end.is_number() && end.factor >= 0 && end.factor <= 64) {
      v.whole.emplace();
      for (long i = 0; i < end.factor; ++i) v.whole->push_back(Extent(i));
    }
    return true;
  }

  static std::optional<Extent> computed(const std::string& op, const Extent& a, const Extent& b) {
    const bool plain = a.is_number() && b.is_number();
    if (op == "Mul") return a * b;
    if (op == "Div")
      return a.over(b) ? a.over(b) : plain && b.factor ? std::optional<Extent>(a.factor / b.factor) : std::nullopt;
    if (op == "Equal") return Extent(a == b);
    if (op == "Add" && (plain || a.power == b.power || a.factor == 0 || b.factor == 0)) {
      Extent sum = a.factor == 0 ? b : a;
      if (__builtin_add_overflow(a.factor, b.factor, &sum.factor)) return std::nullopt;
      return sum;
    }
    if (op == "Sub" && (plain || a.power == b.power || b.factor == 0)) {
      Extent rest = a;
      if (__builtin_sub_overflow(a.factor, b.factor, &rest.factor)) return std::nullopt;
      return rest.factor == 0 ? Extent(0) : rest;
    }
    if (!plain) return std::nullopt;
    if (op == "Mod" && b.factor) return Extent(((a.factor % b.factor) + b.factor) % b.factor);
    if (op == "Less") return Extent(a.factor < b.factor);
    if (op == "Greater") return Extent(a.factor > b.factor);
    if (op == "LessOrEqual") return Extent(a.factor <= b.factor);
    if (op == "GreaterOrEqual") return Extent(a.factor >= b.factor);
    if (op == "And") return Extent(a.factor && b.factor);
    if (op == "Or") return Extent(a.factor || b.factor);
    if (op == "Max") return Extent(std::max(a.factor, b.factor));
    if (op == "Min") return Extent(std::min(a.factor, b.factor));
    return std::nullopt;
  }
  static bool fold_whole(const NodeView& n, const std::string& op) {
    const Wholes& x = *n.in(0).whole;
    const Shape shape = n.shape(0);
    const int type = n.in(0).type;
    if (op == "Cast") return cast(n, x, shape);
    if (op == "Unsqueeze" || op == "Squeeze" || op == "Reshape" || op == "Flatten") {
      if (x.size() == 1 && op == "Squeeze") return give(n, x, {}, type), true;
      if (op == "Unsqueeze" && shape.empty()) return give(n, x, {Extent(1)}, type), true;
      if (op == "Reshape" && n.in(1).whole->size() == 1) return give(n, x, {Extent(long(x.size()))}, type), true;
      if (op == "Reshape" && n.in(1).whole->empty() && x.size() == 1) return give(n, x, {}, type), true;
      return false;
    }
    if (op == "Gather" && shape.size() == 1) return gather(n, x, type);
    if (op == "Slice" && shape.size() == 1) return slice(n, x, type);
    if (op == "Concat") return concat(n, type);
    if (op == "Where" && n.ids.size() == 3) return where(n);
    if (op == "Neg" || op == "Not" || op == "Abs") {
      Wholes result = x;
      for (Extent& each : result)
        each.factor = op == "Neg" ? -each.factor : op == "Not" ? !each.factor : std::abs(each.factor);
      return give(n, result, shape, type), true;
    }
    if (op == "ReduceProd" && n.ids.size() == 1) {
      Extent all(1);
      for (const Extent& each : x) all = all * each;
      return give(n, {all}, n.whole("keepdims", 1) ? Shape{Extent(1)} : Shape{}, type), true;
    }
    if (n.ids.size() == 2) return binary(n, op);
    return false;
  }
  static bool binary(const NodeView& n, const std::string& op) {
    const Wholes &a = *n.in(0).whole, &b = *n.in(1).whole;
    if (a.empty() || b.empty() || (a.size() != b.size() && a.size() != 1 && b.size() != 1)) return false;
    Wholes result;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const auto one = computed(op, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
      if (!one) return false;
      result.push_back(*one);
    }
    const bool is_test = op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" ||
                         op == "GreaterOrEqual" || op == "And" || op == "Or";
    give(n, result, a.size() >= b.size() && n.rank(0) >= n.rank(1) ? n.shape(0) : n.shape(1),
         is_test ? 9 : n.in(0).type);
    return true;
  }
  static bool cast(const NodeView& n, const Wholes& x, const Shape& shape) {
    const int to = int(n.whole("to", 0));
    if (!is_real_type(to)) {
      const Special special = n.in(0).special;
      give(n, x, shape, to);
      n.g[n.g.id_of.at(n.node.outputs[0])].special = special;
      return true;
    }
    std::vector<double> reals;
    for (const Extent& each : x) {
      if (!each.is_number()) return false;
      reals.push_back(double(each.factor));
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
  static bool slice(const NodeView& n, const Wholes& x, int type) {
    const auto begin = n.plain_numbers("starts", 1), end = n.plain_numbers("ends", 2),
               step = n.plain_numbers("steps", 4);
    if (begin.size() != 1 || end.size() != 1 || (!step.empty() && step != std::vector<long>{1})) return false;
    const long count = long(x.size());
    const auto place = [&](long at) { return std::clamp(at < 0 ? at + count : at, 0l, count); };
    const long first = place(begin[0]), last = std::max(first, place(end[0]));
    give(n, Wholes(x.begin() + first, x.begin() + last), {Extent(last - first)}, type);
    return true;
  }
  static bool concat(const NodeView& n, int type) {
    Wholes all;
    for (std::size_t k = 0; k < n.ids.size(); ++k) all.insert(all.end(), n.in(k).whole->begin(), n.in(k).whole->end());
    if (all.size() > 64) return false;
    const Shape shape{Extent(long(all.size()))};
    give(n, std::move(all), shape, type);
    return true;
  }
  static bool where(const NodeView& n) {
    const Wholes &c = *n.in(0).whole, &a = *n.in(1).whole, &b = *n.in(2).whole;
    const std::size_t count = std::max({c.size(), a.size(), b.size()});
    for (const Wholes* const each : {&c, &a, &b})
      if (each->size() != 1 && each->size() != count) return false;
    Wholes result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = [&](const Wholes& w) { return w.size() == 1 ? w[0] : w[i]; };
      result.push_back(at(c).factor ? at(a) : at(b));
    }
    give(n, result, {Extent(long(count))}, n.in(1).type);
    return true;
  }

  /// Arithmetic of small constants, in float32 as the runtime would do it.
  static bool fold_real(const NodeView& n, const std::string& op) {
    if (n.ids.size() > 2) return false;
    const auto numbers = [&](std::size_t k) {
      const Value& v = n.in(k);
      if (v.reals) return *v.reals;
      std::vector<double> all;
      if (v.filled) all.push_back(*v.filled);
      else
        for (const Extent& each : *v.whole) {
          if (!each.is_number()) return std::vector<double>();
          all.push_back(double(each.factor));
        }
      return all;
    };
    const int type = n.in(0).type;
    const std::vector<double> a = numbers(0), b = n.ids.size() == 2 ? numbers(1) : std::vector<double>{0};
    if (a.empty() || b.empty() || n.ids.size() > 2 || !is_real_type(type) || n.in(0).filled) return false;
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return false;
    std::vector<double> result;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const auto x = float(a[a.size() == 1 ? 0 : i]), y = float(b[b.size() == 1 ? 0 : i]);
      if (op == "Add") result.push_back(double(x + y));
      else if (op == "Sub") result.push_back(double(x - y));
      else if (op == "Mul") result.push_back(double(x * y));
      else if (op == "Div") result.push_back(double(x / y));
      else if (op == "Pow") result.push_back(double(std::pow(x, y)));
      else if (op == "Sqrt") result.push_back(double(std::sqrt(x)));
      else if (op == "Reciprocal") result.push_back(double(1 / x));
      else if (op == "Neg") result.push_back(double(-x));
      else if (op == "Cast" && is_real_type(int(n.whole("to", 0)))) result.push_back(double(x));
      else return false;
    }
    if (n.ids.size() == 2) {
      n.out(0, a.size() >= b.size() ? n.shape(0) : n.shape(1), type).reals = result;
    } else n.out(0, n.shape(0), op == "Cast" ? int(n.whole("to", 0)) : type).reals = result;
    return true;
  }
};

}  // namespace importer
