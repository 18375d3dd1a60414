// Images and sequences in another size: which setting of interpolate a Resize is.
#pragma once
#include <tenon/ops/resample.hpp>

#include "operators.hpp"

namespace importer {

/// What a Resize does: the extents of its result, and where its elements are. A factor is a quotient of whole numbers;
/// 0 / 0: that of the extents.
struct Resizing {
  using Factor = std::array<long, 2>;
  Shape to;
  std::vector<Factor> factors;
  std::string mode{}, coordinates{};
  tenon::ops::ResampleConfig how{};

  bool is_by_extents() const {
    return std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f[1] == 0; });
  }
};

/// A quotient of small whole numbers that float32 rounds to this factor, or the factor as it is.
inline Resizing::Factor quotient_of(const NodeView& n, double factor) {
  for (long over = 1; over <= 1000; ++over) {
    const double times = std::round(factor * double(over));
    if (times >= 1 && times < 1e6 && float(times / double(over)) == float(factor)) return {long(times), over};
  }
  int exponent = 0;
  const double part = std::frexp(factor, &exponent);  // 24 bits
  const int shift = 24 - exponent;
  if (!(factor > 0) || shift < 0 || shift > 30) n.refuse("its factor is not in scope");
  return {long(std::ldexp(part, 24)), 1l << shift};
}
/// The extent of an axis whose factor is known.
inline void resize_axis(const NodeView& n, Resizing& r, std::size_t axis, double factor) {
  Extent& extent = r.to[axis];
  if (!(factor > 0) || factor > 1e6) n.refuse("its factors are damaged");
  if (factor == 1) return;
  if (factor == std::floor(factor)) {
    extent = extent * Extent(long(factor));
    if (!extent.is_number()) r.factors[axis] = {long(factor), 1};
    return;
  }
  if (!extent.is_number()) n.refuse("it changes a dynamic axis by a factor that is no whole number");
  const double from = double(extent.factor), whole = std::floor(from * factor);
  if (whole < 1) n.refuse("its result has no element");
  if (float(whole / from) != float(factor)) r.factors[axis] = quotient_of(n, factor);
  extent = Extent(long(whole));
}
inline void resize_axes(const NodeView& n, Resizing& r) {
  std::vector<long> axes = n.list("axes", 0, 0);
  if (!n.node.find("axes"))
    for (std::size_t k = 0; k < r.to.size(); ++k) axes.push_back(long(k));
  std::optional<std::vector<double>> factors;
  if (n.has(2)) {
    const Value& v = n.in(2);
    if (v.reals) factors = *v.reals;
    else if (v.filled && count_of(v.shape) == Extent(long(axes.size()))) factors.emplace(axes.size(), *v.filled);
    else if (!(count_of(v.shape) == Extent(0))) n.refuse("its factors must be known");
    if (factors && factors->empty()) factors.reset();
  }
  if (!factors && !(n.has(3) && n.in(3).whole)) n.refuse("its new size must be known");
  if ((factors ? factors->size() : n.in(3).whole->size()) != axes.size()) n.refuse("its new size is damaged");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = n.axis(axes[k], r.to.size());
    if (factors) {
      resize_axis(n, r, axis, (*factors)[k]);
      continue;
    }
    const Extent size = (*n.in(3).whole)[k];
    if (size == r.to[axis]) continue;
    const auto times = size.over(r.to[axis]);
    if (!size.is_number() && !(times && times->is_number())) n.refuse("it gives an axis a dynamic extent");
    if (!size.is_number()) r.factors[axis] = {times->factor, 1};
    if (!r.to[axis].is_number() && size.is_number()) n.refuse("it gives a dynamic axis a known extent");
    if (size.factor < 1) n.refuse("its new size is damaged");
    r.to[axis] = size;
  }
}
/// What the attributes say of the places and of the weights.
inline void read_settings(const NodeView& n, Resizing& r) {
  using tenon::Coordinates, tenon::Nearest;
  using tenon::ops::Resampling;
  static const std::map<std::string, Coordinates> coordinates{
      {"half_pixel", Coordinates::half_pixel},
      {"align_corners", Coordinates::align_corners},
      {"asymmetric", Coordinates::asymmetric},
      {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
      {"half_pixel_symmetric", Coordinates::half_pixel_symmetric}};
  static const std::map<std::string, Nearest> nearest{{"floor", Nearest::before},
                                                      {"ceil", Nearest::after},
                                                      {"round_prefer_floor", Nearest::round_down},
                                                      {"round_prefer_ceil", Nearest::round_up}};
  r.mode = n.word("mode", "nearest"), r.coordinates = n.word("coordinate_transformation_mode", "half_pixel");
  const auto where = coordinates.find(r.coordinates);
  const auto which = nearest.find(n.word("nearest_mode", "round_prefer_floor"));
  if (where == coordinates.end() || which == nearest.end() ||
      (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic"))
    n.refuse("this way to change the size of images is not in scope");
  if (n.word("keep_aspect_ratio_policy", "stretch") != "stretch")
    n.refuse("its keep_aspect_ratio_policy is not in scope: export it with the size of its result");
  const bool has_one = std::any_of(r.to.begin(), r.to.end(), [](const Extent& each) { return each == Extent(1); });
  if (r.coordinates == "pytorch_half_pixel" && !has_one) r.coordinates = "half_pixel";  // the same then
  if (r.coordinates == "half_pixel_symmetric" && r.is_by_extents()) r.coordinates = "half_pixel";
  r.how.mode = r.mode == "nearest" ? Resampling::nearest : r.mode == "linear" ? Resampling::linear : Resampling::cubic;
  r.how.a = int(coordinates.at(r.coordinates)), r.how.nearest = which->second;
  r.how.antialias = n.whole("antialias", 0) != 0 && r.mode != "nearest";
  r.how.exclude_outside = n.whole("exclude_outside", 0) != 0 && r.mode != "nearest";
  r.how.cubic = n.real("cubic_coeff_a", -0.75f);
}
inline Resizing resizing_of(const NodeView& n) {
  Resizing r{n.shape(0), std::vector<Resizing::Factor>(n.rank(0))};
  resize_axes(n, r);
  read_settings(n, r);
  return r;
}

/// The settings behind the size: those that differ from the usual ones.
inline std::string interpolation_text(const Resizing& r) {
  using tenon::Nearest;
  const tenon::ops::ResampleConfig& how = r.how;
  const bool is_usual_place = r.coordinates == (r.mode == "nearest" ? "asymmetric" : "half_pixel");
  const Nearest usual = r.coordinates == "asymmetric" ? Nearest::before : Nearest::round_up;
  static const char* const nearest[]{"usual", "before", "after", "round_down", "round_up"};
  Settings more;
  if (how.antialias) more.add("antialias", "true");
  if (how.antialias && !how.exclude_outside) more.add("outside", "Outside::border");
  if (!how.antialias && how.exclude_outside) more.add("outside", "Outside::left_out");
  if (r.mode == "cubic" && how.cubic != (how.antialias ? -0.5f : -0.75f))
    more.add("coefficient", real_text(double(how.cubic)));
  if (r.mode == "nearest" && how.nearest != usual)
    more.add("nearest", std::string("Nearest::") + nearest[int(how.nearest)]);
  if (more.empty()) return ", Interpolation::" + r.mode + (is_usual_place ? "" : ", Coordinates::" + r.coordinates);
  Settings all;
  all.add("mode", "Interpolation::" + r.mode);
  if (!is_usual_place) all.add("coordinates", "Coordinates::" + r.coordinates);
  return ", InterpolateConfig{" + all.text() + ", " + more.text() + "}";
}
/// Whether the axes from 2 on grow by one whole factor; then by which.
inline std::optional<long> common_factor(const Resizing& r, const Shape& from) {
  std::optional<long> factor;
  for (std::size_t k = 2; k < from.size(); ++k) {
    const auto own = r.to[k].over(from[k]);
    if (!own || !own->is_number() || (factor && *factor != own->factor)) return std::nullopt;
    factor = own->factor;
  }
  return factor;
}
inline std::string size_text(const NodeView& n, const Resizing& r, const Shape& from) {
  if (r.is_by_extents() || common_factor(r, from)) {
    if (const auto factor = common_factor(r, from)) return "Scale{" + number("Factor", *factor) + "}";
    for (std::size_t k = 2; k < from.size(); ++k)
      if (!r.to[k].is_number()) n.refuse("it changes a part of its axes, and others are dynamic");
    if (from.size() == 3) return number("Size", r.to[2].factor);
    return "Pair(" + number("Height", r.to[2].factor) + ", " + number("Width", r.to[3].factor) + ")";
  }
  for (std::size_t k = 3; k < from.size(); ++k)
    if (r.factors[k] != r.factors[2])
      n.refuse("its factors are no whole numbers, and differ: export it with the size of its result");
  return "Scale{" + number("Times", r.factors[2][0]) + ", " + number("Over", r.factors[2][1]) + "}";
}
inline void resize(const NodeView& n) {
  const Shape from = n.shape(0);
  const Resizing r = resizing_of(n);
  if (r.to == from && r.is_by_extents()) return n.alias(0, n.id(0));
  if (from.size() != 3 && from.size() != 4) n.refuse("only sequences [n, C, T] and images [n, C, H, W] are in scope");
  if (!(r.to[0] == from[0]) || !(r.to[1] == from[1])) n.refuse("it changes the number of samples or of channels");
  const std::string code = "interpolate<" + size_text(n, r, from) + interpolation_text(r) + ">($0)";
  n.g.needs_more = true;
  n.out(0, r.to, n.in(0).type);
  n.call(code, {n.id(0)});
}

}  // namespace importer
