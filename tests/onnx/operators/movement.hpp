// Views, and operators that move or repeat elements.
#pragma once
#include <cstdint>

#include "axes.hpp"

namespace onnx {

template <class Node, class X>
constexpr auto Reshape(const X& x, const auto&) {
  constexpr List shape = [] {
    List wanted = constant<Node>(1);
    long all = 1, known = 1;
    for (int axis = 0; axis < rank<X>; ++axis) all *= type<X>.extent[axis];
    for (int i = 0; i < wanted.count; ++i) {
      if (wanted.value[i] == 0 && whole<Node>("allowzero", 0) == 0) wanted.value[i] = type<X>.extent[i];
      if (wanted.value[i] > 0) known *= wanted.value[i];
    }
    for (int i = 0; i < wanted.count; ++i)
      if (wanted.value[i] < 0) wanted.value[i] = all / known;
    return wanted;
  }();
  return reshaped<shape>(x);
}
template <class Node, class X>
constexpr auto Flatten(const X& x) {
  constexpr List shape = [] {
    List result;
    result.count = 2;
    result.value[0] = result.value[1] = 1;
    const int axis = axis_of(whole<Node>("axis", 1), rank<X>);
    for (int i = 0; i < rank<X>; ++i) result.value[i < axis ? 0 : 1] *= type<X>.extent[i];
    return result;
  }();
  return reshaped<shape>(x);
}
template <class Node, class X>
constexpr auto Transpose(const X& x) {
  constexpr List order = [] {
    List result = list<Node>("perm", rank<X>, 0);
    if (!has<Node>("perm"))
      for (int i = 0; i < rank<X>; ++i) result.value[i] = rank<X> - 1 - i;
    return result;
  }();
  return spread<order>([&]<int... axis>() { return ops::transpose<axis...>(x); });
}
template <class Node, class X>
constexpr auto Unsqueeze(const X& x, const auto&) {
  constexpr List shape = [] {
    const List axes = constant<Node>(1);
    List result;
    result.count = rank<X> + axes.count;
    bool is_new[16]{};
    for (int i = 0; i < axes.count; ++i) is_new[axis_of(axes.value[i], result.count)] = true;
    for (int i = 0, from = 0; i < result.count; ++i) result.value[i] = is_new[i] ? 1 : type<X>.extent[from++];
    return result;
  }();
  return reshaped<shape>(x);
}
template <class Node, class X>
constexpr auto Squeeze(const X& x, const auto&...) {
  constexpr List shape = [] {
    const List axes = constant<Node>(1);
    List result;
    bool gone[16]{};
    for (int i = 0; i < axes.count; ++i) gone[axis_of(axes.value[i], rank<X>)] = true;
    for (int i = 0; i < rank<X>; ++i)
      if (!gone[i] && !(axes.count == 0 && type<X>.extent[i] == 1)) result.value[result.count++] = type<X>.extent[i];
    return result;
  }();
  return reshaped<shape>(x);
}
template <class Node, class X>
constexpr auto Concat(const X& x, const auto&... more) {
  return ops::concat<axis_of(whole<Node>("axis", 0), rank<X>)>(x, more...);
}
template <class Node, class X>
constexpr auto Expand(const X& x, const auto&) {
  return broadcast<broadcast_shape(shape_of(type<X>), constant<Node>(1))>(x);
}
namespace detail {
/// `count` elements from `first` on; before element 0 there is no number for an end.
consteval tenon::Part part(long first, long count, long step) {
  const long last = first + (count - 1) * step, end = step > 0 ? last + 1 : last - 1;
  return {int(first), end < 0 ? tenon::Part::open : int(end), int(step)};
}
template <List first, List count, List step, std::size_t... axis>
constexpr auto sliced(const auto& x, std::index_sequence<axis...>) {
  return ops::slice<part(first.value[axis], count.value[axis], step.value[axis])...>(x);
}
template <class Node, int rank>
consteval tenon::Margin margin(int axis) {
  return {int(constant<Node>(1)[axis]), int(constant<Node>(1)[axis + rank])};
}
}  // namespace detail

/// The ranges of all axes; steps may be negative, ends far outside.
template <class Node, class X>
constexpr auto Slice(const X& x, const auto&, const auto&, const auto&...) {
  constexpr auto bounds = [] {
    struct {
      List first, count, step;
    } b{shape_of(type<X>), shape_of(type<X>), {}};
    for (int i = 0; i < rank<X>; ++i) b.first.value[i] = 0, b.step.value[i] = 1;
    const List starts = constant<Node>(1), ends = constant<Node>(2), axes = constant<Node>(3),
               steps = constant<Node>(4);
    for (int i = 0; i < starts.count; ++i) {
      const int axis = axes.count ? axis_of(axes.value[i], rank<X>) : i;
      const long extent = type<X>.extent[axis], step = steps.count ? steps.value[i] : 1;
      const auto inside = [&](long at) {
        if (at < 0) at += extent;
        const long least = step < 0 ? -1 : 0, most = step < 0 ? extent - 1 : extent;
        return at < least ? least : at > most ? most : at;
      };
      const long first = inside(starts.value[i]),
                 last = ends.value[i] < -extent && step < 0 ? -1 : inside(ends.value[i]);
      b.first.value[axis] = first, b.step.value[axis] = step;
      b.count.value[axis] = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
    }
    return b;
  }();
  return detail::sliced<bounds.first, bounds.count, bounds.step>(x, std::make_index_sequence<rank<X>>());
}
template <class Node, class X>
constexpr auto Pad(const X& x, const auto&, const auto&...) {
  constexpr std::string_view mode = text<Node>("mode", "constant");
  return [&]<std::size_t... axis>(std::index_sequence<axis...>) {
    using detail::margin;
    if constexpr (mode == "reflect") return ops::pad_reflect<margin<Node, rank<X>>(axis)...>(x);
    else if constexpr (mode == "edge") return ops::pad_replicate<margin<Node, rank<X>>(axis)...>(x);
    else if constexpr (mode == "wrap") return ops::pad_circular<margin<Node, rank<X>>(axis)...>(x);
    else return ops::pad<margin<Node, rank<X>>(axis)...>(x, float(constant_number<Node>(2)));
  }(std::make_index_sequence<std::size_t(rank<X>)>());
}
template <class Node, class X>
constexpr auto DepthToSpace(const X& x) {
  constexpr int b = int(whole<Node>("blocksize", 1)), n = type<X>.extent[0], c = type<X>.extent[1] / b / b,
                h = type<X>.extent[2], w = type<X>.extent[3];
  const auto moved = [&] {
    if constexpr (text<Node>("mode", "DCR") == "DCR")
      return ops::transpose<0, 3, 4, 1, 5, 2>(ops::reshape<tenon::Shape<n, b, b, c, h, w>>(x));
    else return ops::transpose<0, 1, 4, 2, 5, 3>(ops::reshape<tenon::Shape<n, c, b, b, h, w>>(x));
  }();
  return ops::reshape<tenon::Shape<n, c, h * b, w * b>>(moved);
}
/// An array that a function can return.
template <class T, long count>
struct Numbers {
  T number[count > 0 ? count : 1]{};
};
/// The extents from start to end, as a constant.
template <class X, int start, int end>
struct Extents {
  using shape = tenon::Shape<(end > start ? end - start : 0)>;
  static constexpr auto all = [] {
    Numbers<std::int64_t, end - start> v;
    for (int axis = start; axis < end; ++axis) v.number[axis - start] = type<X>.extent[axis];
    return v;
  }();
  static constexpr const auto& values = all.number;
};
template <class X>
struct Count {
  using shape = tenon::Shape<>;
  static constexpr std::int64_t values[]{type<X>.count(1)};
};
template <class Node, class X>
constexpr auto Shape(const X& x) {
  constexpr auto inside = [](long at) { return int(at < 0 ? at + rank<X> : at > rank<X> ? rank<X> : at); };
  constexpr int start = inside(whole<Node>("start", 0)), end = inside(whole<Node>("end", rank<X>));
  return ops::constant < Extents < X, start<0 ? 0 : start, end<0 ? 0 : end>>(x);
}
template <class, class X>
constexpr auto Size(const X& x) {
  return ops::constant<Count<X>>(x);
}

template <class Node, class X>
constexpr auto Trilu(const X& x, const auto&...) {
  constexpr List offset = constant<Node>(1);
  constexpr int k = offset.count ? int(offset.value[0]) : 0;
  if constexpr (whole<Node>("upper", 1) != 0) return ops::triu<k>(x);
  else return ops::tril<k>(x);
}

template <class Node>
struct Filled {
  static constexpr List extents = constant<Node>(0);
  static constexpr auto shape_type() {
    return spread<extents>([]<int... extent>() { return std::type_identity<tenon::Shape<extent...>>{}; });
  }
  using shape = typename decltype(shape_type())::type;
  static constexpr long count = [] {
    long all = 1;
    for (int i = 0; i < extents.count; ++i) all *= extents.value[i];
    return all;
  }();
  static constexpr bool is_whole = setting<Node>("value").numbers == 0 && has<Node>("value");
  static constexpr auto all = [] {
    Numbers<std::conditional_t<is_whole, std::int32_t, float>, count> v;
    for (auto& value : v.number)
      if constexpr (is_whole) value = std::int32_t(setting<Node>("value").whole[0]);
      else value = float(number<Node>("value", 0));
    return v;
  }();
  static constexpr const auto& values = all.number;
};
template <class Node>
constexpr auto ConstantOfShape(const auto& x) {
  return ops::constant<Filled<Node>>(x);
}
template <class Node>
struct Steps {
  static constexpr double start = constant_number<Node>(0), limit = constant_number<Node>(1),
                          step = constant_number<Node>(2);
  static constexpr bool is_whole = start == 0 && limit == 0 && step == 0;
  static constexpr long first = constant<Node>(0)[0], last = constant<Node>(1)[0], by = constant<Node>(2)[0];
  static constexpr int count = [] {
    if (is_whole) return int((last - first + by + (by < 0 ? 1 : -1)) / by);
    int n = 0;
    for (double at = start; step > 0 ? at < limit : at > limit; at += step) ++n;
    return n;
  }();
  using shape = tenon::Shape<count>;
  static constexpr auto all = [] {
    Numbers<std::conditional_t<is_whole, std::int32_t, float>, count> v;
    for (int i = 0; i < count; ++i)
      if constexpr (is_whole) v.number[i] = std::int32_t(first + i * by);
      else v.number[i] = float(start + double(i) * step);
    return v;
  }();
  static constexpr const auto& values = all.number;
};
template <class Node, class X>
constexpr auto Range(const X& x, const auto&, const auto&) {
  const auto numbers = ops::constant<Steps<Node>>(x);
  if constexpr (Steps<Node>::is_whole) return numbers;
  else return ops::cast<Element<X>>(numbers);
}

template <class Node, class X>
constexpr auto Tile(const X& x, const auto&) {
  return spread<constant<Node>(1)>([&]<int... multiple>() { return ops::tile<multiple...>(x); });
}

namespace detail {
/// A new extent, and the scale that gives it.
struct Resized {
  int extent = 0;
  ops::Scale scale{0, 0};
};
/// The quotient of two small whole numbers that is nearest to a scale.
consteval ops::Scale quotient(double scale) {
  for (int over = 1;; ++over) {
    const double times = scale * over;
    const int whole = int(times + 0.5);
    if (times - whole < 1e-5 * over && whole - times < 1e-5 * over) return {whole, over};
  }
}
/// Axis number `axis` of a resized image: by sizes or scales, for all axes or those that the node names.
template <class Node, class X>
consteval Resized resized(int axis, int scales, int sizes) {
  const List named = list<Node>("axes", 0, 0), size = constant<Node>(sizes);
  const List axes = named.count ? named : range(0, rank<X>);
  Resized result{type<X>[axis], { 0, 0 }};
  for (int i = 0; i < axes.count; ++i) {
    if (axis_of(axes[i], rank<X>) != axis) continue;
    if (size.count == 0) {
      const ops::Scale scale = quotient(constant_at<Node>(scales, i));
      return {scale.of(type<X>[axis]), scale};
    }
    result.extent = int(size[i]);
  }
  if (text<Node>("keep_aspect_ratio_policy", "stretch") != "not_larger") return result;
  for (int i = 0; i < axes.count; ++i) {
    const int other = axis_of(axes[i], rank<X>), extent = type<X>[axis] * int(size[i]) / type<X>[other];
    if (extent < result.extent) result = {extent, {int(size[i]), type<X>[other]}};
  }
  return result;
}
template <class Node>
consteval ops::InterpolateConfig resizing() {
  using enum tenon::Coordinates;
  using tenon::Nearest;
  const std::string_view mode = text<Node>("mode", "nearest"),
                         nearest = text<Node>("nearest_mode", "round_prefer_floor"),
                         at = text<Node>("coordinate_transformation_mode", "half_pixel");
  return {.mode = mode == "nearest"  ? ops::Interpolation::nearest
                  : mode == "linear" ? ops::Interpolation::linear
                                     : ops::Interpolation::cubic,
          .coordinates = at == "align_corners"          ? align_corners
                         : at == "asymmetric"           ? asymmetric
                         : at == "pytorch_half_pixel"   ? pytorch_half_pixel
                         : at == "half_pixel_symmetric" ? half_pixel_symmetric
                                                        : half_pixel,
          .antialias = whole<Node>("antialias", 0) != 0,
          .outside = whole<Node>("exclude_outside", 0) ? ops::Outside::left_out : ops::Outside::border,
          .coefficient = float(number<Node>("cubic_coeff_a", -0.75)),
          .nearest = nearest == "floor"               ? Nearest::before
                     : nearest == "ceil"              ? Nearest::after
                     : nearest == "round_prefer_ceil" ? Nearest::round_up
                                                      : Nearest::round_down};
}
template <class Node, ops::InterpolateConfig config, int scales, int sizes, class X>
constexpr auto resize_image(const X& x) {
  constexpr Resized height = resized<Node, X>(2, scales, sizes), width = resized<Node, X>(3, scales, sizes);
  const auto rows = ops::detail::resized<2, height.extent, config, height.scale>({}, x);
  return ops::detail::resized<3, width.extent, config, width.scale>({}, rows);
}
}  // namespace detail
template <class Node>
constexpr auto Resize(const auto& x, const auto&...) {
  return detail::resize_image<Node, detail::resizing<Node>(), 2, 3>(x);
}
template <class Node>
constexpr auto Upsample(const auto& x, const auto&) {
  return detail::resize_image<Node, ops::InterpolateConfig{}, 1, 3>(x);
}

}  // namespace onnx
