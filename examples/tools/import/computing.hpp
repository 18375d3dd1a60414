// What nodes compute of constants: arithmetic of elements, sums along axes, products, norms, other sizes.
#pragma once
#include "resizing.hpp"
#include "taking.hpp"

namespace importer::evaluation {

inline Computed as_gelu(const Computation& c) {
  Array y = c.in(0);
  const bool is_tanh = c.n.word("approximate", "none") == "tanh";
  for (double& x : y.reals)
    x = rounded(y.type, is_tanh ? x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
                                : x / 2 * (1 + std::erf(x / std::sqrt(2.))));
  return y;
}
inline Computed of_each(const Computation& c) {
  Array y = c.in(0);
  const std::string& op = c.n.node.operation;
  if (!y.is_plain() && op != "Neg") return std::nullopt;
  for (double& each : y.reals) {
    const auto next = y.type == 1 ? computed_real(op, float(each)) : computed_real(op, each);
    if (!next) return std::nullopt;
    each = *next;
  }
  for (long& each : y.wholes) {
    const auto next = computed(op, each);
    if (!next) return std::nullopt;
    each = rounded(y.type, *next);
  }
  for (long& each : y.slope) each = -each;
  for (Extent& each : y.dynamic) each.factor = *computed(op, each.factor);
  return y;
}
inline Computed is_nan(const Computation& c) {
  Array y(9, c.in(0).shape);
  for (const double each : c.in(0).reals) y.wholes.push_back(std::isnan(each));
  return y;
}
/// What the samples of y have more after an operator of y and b. False: it is no multiple of their numbers.
inline bool join_slopes(Array& y, const Array& b, const std::string& op) {
  if (y.slope.empty() && b.slope.empty()) return true;
  if (!y.dynamic.empty() || !b.dynamic.empty() || y.is_real() || (op != "Add" && op != "Sub" && op != "Mul"))
    return false;
  if (op == "Mul" && !y.slope.empty() && !b.slope.empty()) return false;
  y.slope.resize(y.wholes.size());
  for (std::size_t i = 0; i < y.slope.size(); ++i) {
    const long of_y = y.slope[i], of_b = b.slope.empty() ? 0 : b.slope[i];
    y.slope[i] = op != "Mul" ? *computed(op, of_y, of_b, false)
                             : *computed("Add", *computed("Mul", of_y, b.wholes[i], false),
                                         *computed("Mul", of_b, y.wholes[i], false), false);
  }
  return true;
}
/// The same of whole numbers that depend on dynamic axes. False: the operator makes no such number.
inline bool join_dynamic(Array& y, const Array& b, const std::string& op, bool is_fmod) {
  for (std::size_t i = 0; i < y.count(); ++i) {
    const auto one = computed(op, y.extent(i), b.extent(i), is_fmod);
    const auto kept = one ? held(*one, is_test(op) ? 9 : y.type) : std::nullopt;
    if (!kept) return false;
    while (y.dynamic.size() < y.count()) y.dynamic.push_back(Extent(y.wholes[y.dynamic.size()]));
    y.dynamic[i] = *kept;
  }
  return true;
}
/// Exponents of another type than their bases: of real bases they become real, whole bases become their powers. False:
/// ONNX does not say what a power is.
inline bool join_exponents(Array& y, Array& b) {
  if (!y.is_plain() || !b.is_plain()) return false;
  if (y.is_real()) b.reals.assign(b.wholes.begin(), b.wholes.end()), b.type = y.type;
  for (std::size_t i = 0; i < y.wholes.size(); ++i) {
    const auto kept = held(std::pow(double(y.wholes[i]), b.reals[i]), y.type);
    if (!kept) return false;
    y.wholes[i] = *kept;
  }
  return true;
}
/// Operators of two inputs, or more, which are stretched to each other.
inline Computed of_several(const Computation& c) {
  const std::string& name = c.n.node.operation;
  const std::string op = name == "Sum" || name == "Mean" ? "Add" : name;
  const bool is_fmod = c.n.whole("fmod", 0) != 0;
  Shape shape = c.in(0).shape;
  for (std::size_t k = 1; k < c.inputs.size(); ++k) shape = stretched(c.n, shape, c.in(k).shape);
  const auto to = extents_of_sample(shape);
  if (!to) return std::nullopt;
  Array y = taken(c.in(0), shape, stretched_places(c.in(0).extents, *to));
  for (std::size_t k = 1; k < c.inputs.size(); ++k) {
    Array b = taken(c.in(k), shape, stretched_places(c.in(k).extents, *to));
    if (op == "Pow" && y.is_real() != b.is_real()) {
      if (!join_exponents(y, b)) return std::nullopt;
      if (!y.is_real()) continue;
    }
    if (y.is_real() != b.is_real() || !join_slopes(y, b, op)) return std::nullopt;
    if (!y.dynamic.empty() || !b.dynamic.empty()) {
      if (!join_dynamic(y, b, op, is_fmod)) return std::nullopt;
      continue;
    }
    for (std::size_t i = 0; i < y.count(); ++i)
      if (y.is_real()) {
        const auto one = y.type == 1 ? computed_real(op, float(y.reals[i]), float(b.reals[i]), is_fmod)
                                     : computed_real(op, y.reals[i], b.reals[i], is_fmod);
        if (!one) return std::nullopt;
        y.reals[i] = *one;
      } else {
        const auto test = tested(op, y.wholes[i], b.wholes[i]);
        const auto one = test ? std::optional(long(*test)) : computed(op, y.wholes[i], b.wholes[i], is_fmod);
        if (!one) return std::nullopt;
        y.wholes[i] = test ? *one : rounded(y.type, *one);
      }
  }
  if (name == "Mean")
    for (double& each : y.reals) each = rounded(y.type, each / double(c.inputs.size()));
  if (!is_test(op)) return y;
  for (const double each : y.reals) y.wholes.push_back(each != 0);
  y.reals.clear(), y.type = 9;
  return y;
}
inline Computed converted(const Computation& c) {
  const Array& x = c.in(0);
  Array y(int(c.n.whole("to", 0)), x.shape);
  y.slope = x.slope, y.dynamic = x.dynamic;
  if (!x.is_plain() && y.type != 6 && y.type != 7) return std::nullopt;
  for (std::size_t i = 0; i < x.count(); ++i)
    if (y.is_real()) y.reals.push_back(rounded(y.type, x.number(i)));
    else {
      auto kept = x.is_real() ? held(x.reals[i], y.type) : held(x.wholes[i], y.type);
      // processors make the least number of others, such as the logarithm of 0, which nothing reads in the end
      if (!kept && (y.type == 6 || y.type == 7)) kept = y.type == 6 ? -0x1p31 : std::numeric_limits<long>::min();
      if (!kept) return std::nullopt;
      y.wholes.push_back(*kept);
    }
  return y.type == 1 || y.type == 11 || !y.is_real() ? std::optional(y) : std::nullopt;
}
inline Computed limited(const Computation& c) {
  Array y = c.in(0);
  if (!c.is_plain()) return std::nullopt;
  for (const std::size_t k : {1u, 2u})
    if (c.has(k) && c.in(k).count() != 1) return std::nullopt;
  for (double& each : y.reals) {
    if (c.has(1) && each < c.in(1).reals.at(0)) each = c.in(1).reals[0];
    if (c.has(2) && each > c.in(2).reals.at(0)) each = c.in(2).reals[0];
  }
  for (long& each : y.wholes) {
    if (c.has(1)) each = std::max(each, c.in(1).wholes.at(0));
    if (c.has(2)) each = std::min(each, c.in(2).wholes.at(0));
  }
  return y;
}

/// The elements along some axes for each place on the others: where each line begins, and where its elements are.
struct Lines {
  Extents kept;  // the extents of the result, with 1 for each of these axes
  Offsets firsts, steps;

  Lines(const Extents& extents, const std::set<std::size_t>& axes) : kept(extents) {
    const Extents strides = strides_of(extents);
    Extents own;
    Extents apart;
    for (const std::size_t k : axes) kept[k] = 1, own.push_back(extents[k]), apart.push_back(strides[k]);
    firsts = strided(kept, strides), steps = strided(own, apart);
  }
};
/// The mean of a line, and the mean of the squares of what differs from it.
inline std::array<double, 2> moments(const Array& x, const Lines& lines, std::size_t first) {
  double mean = 0, variance = 0;
  for (const std::size_t step : lines.steps) mean += x.reals[first + step];
  mean /= double(lines.steps.size());
  for (const std::size_t step : lines.steps) {
    const double apart = x.reals[first + step] - mean;
    variance += apart * apart;
  }
  return {mean, variance / double(lines.steps.size())};
}
/// One number of each line.
inline std::optional<double> reduced_line(const std::string& op, const Array& x, const Lines& lines,
                                          std::size_t first) {
  const bool is_product = op == "ReduceProd", is_max = op == "ReduceMax", is_min = op == "ReduceMin";
  double all = is_product ? 1 : is_max ? -INFINITY : is_min ? INFINITY : 0;
  for (const std::size_t step : lines.steps) {
    const double each = x.number(first + step);
    if (is_product) all *= each;
    else if (is_max) all = each > all || std::isnan(each) ? each : all;
    else if (is_min) all = each < all || std::isnan(each) ? each : all;
    else if (op == "ReduceL2" || op == "ReduceSumSquare") all += each * each;
    else if (op == "ReduceL1") all += std::abs(each);
    else if (op == "ReduceSum" || op == "ReduceMean") all += each;
    else return std::nullopt;
  }
  if (op == "ReduceL2") return std::sqrt(all);
  return op == "ReduceMean" ? all / double(lines.steps.size()) : all;
}
inline Computed reduced(const Computation& c) {
  const Array& x = c.in(0);
  std::set<std::size_t> axes;
  for (const long each : c.n.plain_numbers("axes", 1)) axes.insert(c.n.axis(each, x.extents.size()));
  if (axes.empty() && c.n.whole("noop_with_empty_axes", 0)) return x;
  if (axes.empty())
    for (std::size_t k = 0; k < x.extents.size(); ++k) axes.insert(k);
  const Lines lines(x.extents, axes);
  Extents to;
  for (std::size_t k = 0; k < x.extents.size(); ++k)
    if (!axes.count(k)) to.push_back(x.extents[k]);
    else if (c.n.whole("keepdims", 1)) to.push_back(1);
  Array y(x.type, to);
  for (const std::size_t first : lines.firsts) {
    if (!x.dynamic.empty()) {
      if (c.n.node.operation != "ReduceProd") return std::nullopt;
      Extent all(1);
      for (const std::size_t step : lines.steps) all = all * x.dynamic[first + step];
      y.wholes.push_back(all.factor), y.dynamic.push_back(all);
      continue;
    }
    const auto one = reduced_line(c.n.node.operation, x, lines, first);
    if (!one || (!x.is_real() && (std::abs(*one) > 0x1p53 || *one != std::trunc(*one)))) return std::nullopt;
    if (x.is_real()) y.reals.push_back(rounded(x.type, *one));
    else y.wholes.push_back(long(*one));
  }
  return y;
}
inline Computed as_softmax(const Computation& c) {
  Array y = c.in(0);
  const Lines lines(y.extents, {c.axis(-1)});
  const bool is_log = c.n.node.operation == "LogSoftmax";
  for (const std::size_t first : lines.firsts) {
    double most = -INFINITY, all = 0;
    for (const std::size_t step : lines.steps) most = std::max(most, y.reals[first + step]);
    for (const std::size_t step : lines.steps) all += std::exp(y.reals[first + step] - most);
    for (const std::size_t step : lines.steps) {
      double& each = y.reals[first + step];
      each = rounded(y.type, is_log ? each - most - std::log(all) : std::exp(each - most) / all);
    }
  }
  return y;
}
inline Computed summed_up(const Computation& c) {
  Array y = c.in(0);
  const auto axes = c.n.plain_numbers("axis", 1);
  if (axes.size() != 1 || c.n.whole("exclusive", 0) || !y.is_plain()) return std::nullopt;
  const std::size_t axis = c.n.axis(axes[0], y.extents.size());
  if (y.shape[axis].has_batch()) return std::nullopt;
  Lines lines(y.extents, {axis});
  if (c.n.whole("reverse", 0)) std::reverse(lines.steps.begin(), lines.steps.end());
  for (const std::size_t first : lines.firsts) {
    double all = 0;
    long whole = 0;
    for (const std::size_t step : lines.steps)
      if (y.is_real()) y.reals[first + step] = rounded(y.type, all += y.reals[first + step]);
      else y.wholes[first + step] = whole = rounded(y.type, *computed("Add", whole, y.wholes[first + step], false));
  }
  return y;
}

/// Matrices of the last two axes; others are stretched.
inline Computed multiplied(const Computation& c) {
  const Array &a = c.in(0), &b = c.in(1);
  const std::size_t m = a.shape.size(), n = b.shape.size();
  if (m < 2 || n < 2 || !a.is_real() || !(a.shape[m - 1] == b.shape[n - 2])) return std::nullopt;
  if (a.shape[m - 1].has_batch() || a.shape[m - 2].has_batch() || b.shape[n - 1].has_batch()) return std::nullopt;
  const long rows = a.extents[m - 2], inner = a.extents[m - 1], columns = b.extents[n - 1];
  Shape to = stretched(c.n, Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  const auto leading = extents_of_sample(to);
  to.push_back(Extent(rows)), to.push_back(Extent(columns));
  const auto extents = leading ? c.sample_of(to) : std::nullopt;
  if (!extents || double(elements_in(*extents)) * double(inner) > 0x1p32) return std::nullopt;  // minutes
  const Offsets from_a = stretched_places({a.extents.begin(), a.extents.end() - 2}, *leading),
                from_b = stretched_places({b.extents.begin(), b.extents.end() - 2}, *leading);
  Array result(a.type, to);
  result.reals.assign(elements_in(*extents), 0);
  for (std::size_t i = 0; i < from_a.size(); ++i)
    for (long row = 0; row < rows; ++row) {
      double* const out = result.reals.data() + (long(i) * rows + row) * columns;
      const double* const left = a.reals.data() + (long(from_a[i]) * rows + row) * inner;
      for (long k = 0; k < inner; ++k) {
        const double* const right = b.reals.data() + (long(from_b[i]) * inner + k) * columns;
        for (long column = 0; column < columns; ++column) out[column] += left[k] * right[column];
      }
    }
  for (double& each : result.reals) each = rounded(result.type, each);
  return result;
}

/// Of a weight, as some networks standardize theirs: with its own statistics in training mode.
inline Computed normalized_channels(const Computation& c) {
  Array y = c.in(0);
  if (y.extents.size() < 2) return std::nullopt;
  const auto channels = std::size_t(y.extents[1]);
  for (std::size_t k = 1; k < 5; ++k)
    if (c.in(k).reals.size() != channels) return std::nullopt;
  std::set<std::size_t> others{0};
  for (std::size_t k = 2; k < y.extents.size(); ++k) others.insert(k);
  const Lines lines(y.extents, others);
  const double epsilon = double(c.n.real("epsilon", 1e-5f));
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const std::size_t first = lines.firsts[channel];
    std::array<double, 2> own{c.in(3).reals[channel], c.in(4).reals[channel]};
    if (c.n.whole("training_mode", 0)) own = moments(y, lines, first);
    const double factor = c.in(1).reals[channel] / std::sqrt(own[1] + epsilon);
    for (const std::size_t step : lines.steps) {
      double& each = y.reals[first + step];
      each = rounded(y.type, (each - own[0]) * factor + c.in(2).reals[channel]);
    }
  }
  return y;
}
inline Computed normalized_layer(const Computation& c) {
  Array y = c.in(0);
  std::set<std::size_t> axes;
  for (std::size_t k = c.axis(-1); k < y.extents.size(); ++k) axes.insert(k);
  const Lines lines(y.extents, axes);
  const double epsilon = double(c.n.real("epsilon", 1e-5f));
  if (c.in(1).count() != lines.steps.size() || (c.has(2) && c.in(2).count() != lines.steps.size())) return std::nullopt;
  for (const std::size_t first : lines.firsts) {
    const auto [mean, variance] = moments(y, lines, first);
    for (std::size_t i = 0; i < lines.steps.size(); ++i) {
      double& each = y.reals[first + lines.steps[i]];
      each = (each - mean) / std::sqrt(variance + epsilon) * c.in(1).reals[i];
      each = rounded(y.type, each + (c.has(2) ? c.in(2).reals[i] : 0));
    }
  }
  return y;
}
/// Axis by axis, by the places and weights of interpolate.
inline Computed resized(const Computation& c) {
  Array y = c.in(0);
  if (!y.is_real()) return std::nullopt;
  const Resizing r = resizing_of(c.n);
  const auto to = c.sample_of(r.to);
  if (!to) return std::nullopt;
  for (std::size_t k = 0; k < to->size(); ++k) {
    if (y.extents[k] == (*to)[k] && r.factors[k][1] == 0) continue;
    tenon::ops::ResampleConfig how = r.how;
    how.b = int(r.factors[k][0]), how.c = int(r.factors[k][1]);
    Extents extents = y.extents;
    extents[k] = (*to)[k];
    Array next(y.type, c.checked(extents));
    next.reals.assign(elements_in(extents), 0);
    const long in = y.extents[k], out = next.extents[k];
    const Lines from(y.extents, {k}), into(next.extents, {k});
    for (long j = 0; j < out; ++j) {
      const tenon::ops::Taps taps = how.taps(in, out, j);
      for (long t = 0; t < taps.count; ++t) {
        const double weight = how.weight<double>(in, out, j, taps, t);
        const std::size_t at = from.steps[std::size_t(how.inside(taps.first + t, in))];
        for (std::size_t line = 0; line < into.firsts.size(); ++line)
          next.reals[into.firsts[line] + into.steps[std::size_t(j)]] += weight * y.reals[from.firsts[line] + at];
      }
    }
    for (double& each : next.reals) each = rounded(next.type, each);
    y = std::move(next);
  }
  return y;
}

}  // namespace importer::evaluation
