// Nodes that compute with constants alone, element by element: the result is a constant, too.
#pragma once
#include "known_moves.hpp"

namespace importer {

/// Functions of one real number, beside those of elements.hpp.
template <class T>
std::optional<double> known_function(const std::string& op, T x) {
  if (op == "Exp") return double(std::exp(x));
  if (op == "Log") return double(std::log(x));
  if (op == "Sin") return double(std::sin(x));
  if (op == "Cos") return double(std::cos(x));
  if (op == "Tanh") return double(std::tanh(x));
  if (op == "Sigmoid") return double(1 / (1 + std::exp(-x)));
  if (op == "Relu") return double(x > 0 ? x : 0);
  if (op == "Round") return double(std::nearbyint(x));
  if (op == "Sign") return double((x > 0) - (x < 0));
  return computed_real(op, x);
}
/// Functions of one whole number.
inline std::optional<long> known_function(const std::string& op, long x) {
  const long negated = long(0 - static_cast<unsigned long>(x));
  if (op == "Neg") return negated;
  if (op == "Abs") return x < 0 ? negated : x;
  if (op == "Not") return long(x == 0);
  if (op == "Sign") return long(x > 0) - long(x < 0);
  if (op == "Relu") return std::max(x, 0l);
  return std::nullopt;
}

class KnownFolding {
 public:
  explicit KnownFolding(const NodeView& node) : n(node), op(node.node.operation) {}

  /// Whether the node is folded.
  bool run() {
    if (n.node.outputs.size() != 1 || n.ids.empty()) return false;
    if (const auto moved = KnownMoves(n).run()) return give_known(n, 0, *moved), true;
    for (std::size_t k = 0; k < n.ids.size(); ++k) {
      const auto next = n.has(k) ? known_of(n.g, n.id(k)) : std::nullopt;
      if (!next) return false;
      of_.push_back(*next);
    }
    const bool is_known = op == "Cast" || op == "Where" || op == "Clip" || op == "CumSum" || op == "MatMul" ||
                          of_.size() == 1 || is_elementwise(op) || op == "Sum";
    if (!is_known) return false;
    const auto result = computed_elements();
    if (result) give_known(n, 0, *result);
    return result.has_value() || only_shape();
  }

 private:
  std::optional<Known> computed_elements() {
    if (op == "Cast") return cast();
    if (op == "Clip") return clip();
    if (op == "CumSum") return sums();
    if (op == "MatMul") return product();
    if (!stretch()) return std::nullopt;
    if (op == "Where") return chosen();
    if (of_.size() == 1) return function();
    return op == "Sum" || is_elementwise(op) ? chained() : std::nullopt;
  }
  /// Elements that depend on the number of a sample in another way: a node may read the shape alone.
  bool only_shape() const {
    const bool is_affine = std::any_of(of_.begin(), of_.end(), [](const Known& each) { return !each.is_plain(); });
    if (!is_affine || !is_elementwise(op) || of_.size() < 2) return false;
    Shape shape = of_[0].shape;
    for (const Known& each : of_) shape = stretched(n, shape, each.shape);
    n.out(0, shape, is_test(op) ? 9 : of_[0].type).origin = -1;
    return true;
  }
  /// All inputs with the shape that they are stretched to.
  bool stretch() {
    Shape shape = of_[0].shape;
    for (const Known& each : of_) shape = stretched(n, shape, each.shape);
    const auto extents = extents_of_sample(shape);
    if (!extents) return false;
    for (Known& each : of_)
      if (!(each.shape == shape)) each = placed(each, shape, stretched_places(*extents, each.extents));
    return true;
  }
  std::optional<Known> cast() const {
    const Known& x = of_[0];
    const int to = int(n.whole("to", 0));
    Known result(to, x.shape);
    if (to != 1 && to != 6 && to != 7 && to != 9 && to != 11) return std::nullopt;
    if (!x.is_plain() && to != 6 && to != 7) return std::nullopt;
    result.slope = x.slope;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (result.is_real()) result.reals.push_back(to == 1 ? double(float(x.real(i))) : x.real(i));
      else if (x.is_real() && x.reals[i] < -0x1p63 && to != 9)  // the logarithm of 0, which no one reads
        result.wholes.push_back(to == 6 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<long>::min());
      else if (const auto kept = x.is_real() ? held(x.reals[i], to) : held(x.wholes[i], to))
        result.wholes.push_back(*kept);
      else return std::nullopt;
    return result;
  }
  std::optional<Known> clip() const {
    Known x = of_[0];
    if (!x.is_plain()) return std::nullopt;
    for (std::size_t k = 1; k < of_.size(); ++k)
      if (of_[k].size() != 1 || of_[k].is_real() != x.is_real() || !of_[k].is_plain()) return std::nullopt;
    for (double& each : x.reals) {
      if (of_.size() > 1) each = each < of_[1].reals[0] ? of_[1].reals[0] : each;
      if (of_.size() > 2) each = each > of_[2].reals[0] ? of_[2].reals[0] : each;
    }
    for (long& each : x.wholes) {
      if (of_.size() > 1) each = std::max(each, of_[1].wholes[0]);
      if (of_.size() > 2) each = std::min(each, of_[2].wholes[0]);
    }
    return x;
  }
  std::optional<Known> chosen() const {
    if (of_.size() != 3 || of_[0].is_real() || of_[1].type != of_[2].type) return std::nullopt;
    Known result(of_[1].type, of_[1].shape);
    for (const Known& each : of_)
      if (!each.is_plain()) return std::nullopt;
    for (std::size_t i = 0; i < of_[0].size(); ++i) {
      const Known& from = of_[0].wholes[i] ? of_[1] : of_[2];
      if (from.is_real()) result.reals.push_back(from.reals[i]);
      else result.wholes.push_back(from.wholes[i]);
    }
    return result;
  }
  std::optional<Known> function() const {
    Known x = of_[0];
    if (!x.is_plain() && op != "Neg") return std::nullopt;
    for (double& each : x.reals) {
      const auto next = x.type == 1 ? known_function(op, float(each)) : known_function(op, each);
      if (!next) return std::nullopt;
      each = *next;
    }
    for (long& each : x.wholes) {
      const auto next = known_function(op, each);
      const auto kept = next ? held(*next, x.type) : std::nullopt;
      if (!kept) return std::nullopt;
      each = *kept;
    }
    for (long& each : x.slope) each = -each;
    return x.size() ? std::optional(x) : std::nullopt;
  }
  /// Operators of two inputs, and those of any number of them.
  std::optional<Known> chained() const {
    if (of_.size() != 2 && op != "Max" && op != "Min" && op != "Sum") return std::nullopt;
    Known all = of_[0];
    for (std::size_t k = 1; k < of_.size(); ++k) {
      const auto next = of_two(all, of_[k], op == "Sum" ? "Add" : op);
      if (!next) return std::nullopt;
      all = *next;
    }
    return all;
  }
  std::optional<Known> of_two(const Known& a, const Known& b, const std::string& name) const {
    const bool is_fmod = n.whole("fmod", 0) != 0;
    Known result(is_test(name) ? 9 : a.type, a.shape);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::optional<double> real;
      std::optional<long> whole;
      if (a.is_real() && b.is_real())
        real = a.type == 1 ? computed_real(name, float(a.reals[i]), float(b.reals[i]), is_fmod)
                           : computed_real(name, a.reals[i], b.reals[i], is_fmod);
      else if (a.is_real() != b.is_real()) return std::nullopt;
      else if (const auto test = tested(name, a.wholes[i], b.wholes[i])) whole = long(*test);
      else if (const auto next = computed(name, a.wholes[i], b.wholes[i], is_fmod)) whole = held(*next, a.type);
      if (!real && !whole) return std::nullopt;
      if (result.is_real()) result.reals.push_back(*real);
      else result.wholes.push_back(real ? long(*real) : *whole);
    }
    return add_slope(result, a, b, name) ? std::optional(result) : std::nullopt;
  }
  /// What the samples of the result have more. False: it is no multiple of their numbers.
  static bool add_slope(Known& result, const Known& a, const Known& b, const std::string& name) {
    if (a.is_plain() && b.is_plain()) return true;
    if (result.is_real() || (name != "Add" && name != "Sub" && name != "Mul")) return false;
    if (name == "Mul" && !a.is_plain() && !b.is_plain()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const long of_a = a.is_plain() ? 0 : a.slope[i], of_b = b.is_plain() ? 0 : b.slope[i];
      const auto slope = name == "Mul" ? computed("Add", *computed("Mul", of_a, b.wholes[i], false),
                                                  *computed("Mul", of_b, a.wholes[i], false), false)
                                       : computed(name, of_a, of_b, false);
      result.slope.push_back(*slope);
    }
    return true;
  }
  std::optional<Known> sums() const {
    Known x = of_[0];
    if (of_.size() != 2 || of_[1].wholes.size() != 1 || !x.is_plain()) return std::nullopt;
    const std::size_t axis = n.axis(of_[1].wholes[0], x.shape.size());
    if (x.shape[axis].has_batch() || n.whole("exclusive", 0) || n.whole("reverse", 0)) return std::nullopt;
    std::size_t inner = 1;
    for (std::size_t k = axis + 1; k < x.extents.size(); ++k) inner *= std::size_t(x.extents[k]);
    for (std::size_t i = inner; i < x.size(); ++i) {
      if (i / inner % std::size_t(x.extents[axis]) == 0) continue;
      if (x.type == 1) x.reals[i] = double(float(x.reals[i]) + float(x.reals[i - inner]));
      else if (x.is_real()) x.reals[i] += x.reals[i - inner];
      else x.wholes[i] = held(*computed("Add", x.wholes[i], x.wholes[i - inner], false), x.type).value_or(0);
    }
    return x;
  }
  /// A product of matrices, such as positions times the frequencies of their angles.
  std::optional<Known> product() const {
    const Known &a = of_[0], &b = of_[1];
    const std::size_t r = a.shape.size(), s = b.shape.size();
    if (r < 2 || s < 2 || a.type != 1 || b.type != 1 || !(a.shape[r - 1] == b.shape[s - 2])) return std::nullopt;
    if (a.shape[r - 1].has_batch() || a.shape[r - 2].has_batch() || b.shape[s - 1].has_batch()) return std::nullopt;
    Shape to = stretched(n, Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
    const auto leading = extents_of_sample(to);
    if (!leading) return std::nullopt;
    to.push_back(a.shape[r - 2]), to.push_back(b.shape[s - 1]);
    if (!extents_of_sample(to)) return std::nullopt;
    Known result(1, to);
    const auto of_a = stretched_places(*leading, {a.extents.begin(), a.extents.end() - 2});
    const auto of_b = stretched_places(*leading, {b.extents.begin(), b.extents.end() - 2});
    const auto rows = std::size_t(a.extents[r - 2]), inner = std::size_t(a.extents[r - 1]),
               columns = std::size_t(b.extents[s - 1]);
    for (std::size_t i = 0; i < of_a.size() * rows; ++i)
      for (std::size_t k = 0; k < columns; ++k) {
        float sum = 0;
        for (std::size_t m = 0; m < inner; ++m)
          sum += float(a.reals[(of_a[i / rows] * rows + i % rows) * inner + m]) *
                 float(b.reals[(of_b[i / rows] * inner + m) * columns + k]);
        result.reals.push_back(double(sum));
      }
    return result;
  }

  const NodeView& n;
  const std::string& op;
  std::vector<Known> of_;
};

/// 0, 1, 2, ... and other numbers at equal distances, if the file knows their limits.
inline bool fold_range(const NodeView& n) {
  if (n.node.operation != "Range" || n.ids.size() != 3) return false;
  std::vector<Known> of;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto next = n.has(k) ? known_of(n.g, n.id(k)) : std::nullopt;
    if (!next || next->size() != 1 || next->type != n.in(0).type) return false;
    of.push_back(*next);
  }
  const double step = of[2].real(0), count = std::ceil((of[1].real(0) - of[0].real(0)) / step);
  if (!(step != 0) || !(count < double(most_known))) return false;
  Known result(of[0].type, {Extent(std::max(0l, long(count)))});
  for (long i = 0; i < result.extents[0]; ++i)
    if (result.type == 1) result.reals.push_back(double(float(of[0].reals[0]) + float(i) * float(step)));
    else if (result.is_real()) result.reals.push_back(of[0].reals[0] + double(i) * step);
    else result.wholes.push_back(of[0].wholes[0] + i * of[2].wholes[0]);
  return give_known(n, 0, result), true;
}
/// Whether the node computes with constants alone.
inline bool fold_known(const NodeView& n) { return KnownFolding(n).run(); }

}  // namespace importer
