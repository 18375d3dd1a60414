// Elements of the result that are made of few elements along one axis, at places that the compiler knows: moved around,
// mirrored borders, windows, other sizes of images.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI {

/// Where elements of a resized axis are between those of x: pixels are squares, or the corners of both are at one
/// place, or element j is at j times the ratio of the extents. The last two are ONNX's: half_pixel with a single
/// element at the place of the first one, and half_pixel around the middle where a scale does not give a whole extent.
enum class Coordinates : int { half_pixel, align_corners, asymmetric, pytorch_half_pixel, half_pixel_symmetric };

/// The element that is nearest to a place: the one before or after it, or the closer one, of two that are equally close
/// the one before or after. usual: before with Coordinates::asymmetric, else round_up.
enum class Nearest : int { usual, before, after, round_down, round_up };

namespace ops {

/// How an axis is resampled. From `linear` on, the result is a weighted sum.
enum class Resampling : int { roll, flip, circular, reflect, symmetric, replicate, nearest, linear, cubic, area };

/// Of one element of the result: the element first + k of x, or the end of the axis where that is outside. Filters have
/// weights that add up to `sum` before they are divided by it.
struct Taps {
  long first = 0, count = 1;
  double sum = 1;
};

TENON_EXACT_BEGIN
struct ResampleConfig {
  int axis = 0, extent = 0;  // of the result
  Resampling mode = Resampling::roll;
  // roll: shift; borders: how many elements before; resizing: Coordinates, and the scale b / c, 0 / 0 for that of the
  // extents
  int a = 0, b = 0, c = 0;
  Nearest nearest = Nearest::usual;
  int antialias = 0, exclude_outside = 0;
  float cubic = -0.75f;  // the coefficient of the cubic convolution

  constexpr bool weighted() const { return mode >= Resampling::linear; }
  /// The most elements of which one is made.
  constexpr long most_taps(long in, long out) const {
    if (filters()) {
      const Ratio w = width(in, out);
      return 2 * radius() * ((w.part + w.whole - 1) / w.whole) + 1;
    }
    if (mode == Resampling::linear) return 2;
    if (mode == Resampling::cubic) return 4;
    return mode == Resampling::area ? (in + out - 1) / out + 1 : 1;
  }
  /// Element j of `out` of the result.
  constexpr Taps taps(long in, long out, long j) const {
    switch (mode) {
      case Resampling::roll:
      case Resampling::circular: return {wrapped(j - a, in), 1};
      case Resampling::flip: return {in - 1 - j, 1};
      case Resampling::reflect: return {mirrored(j - a, in, 0), 1};
      case Resampling::symmetric: return {mirrored(j - a, in, 1), 1};
      case Resampling::replicate: return {inside(j - a, in), 1};
      case Resampling::nearest: return {inside(nearest_to(ratio(in, out, j)), in), 1};
      case Resampling::linear: {
        if (filters()) return filtered(in, out, j);
        const Ratio r = ratio(in, out, j);
        return {inside(r.part < 0 ? 0 : r.part / r.whole, in), 2};
      }
      case Resampling::cubic: return filters() ? filtered(in, out, j) : Taps{ratio(in, out, j).floor() - 1, 4};
      case Resampling::area: {
        const long first = j * in / out;
        return {first, ((j + 1) * in + out - 1) / out - first};
      }
    }
    return {};
  }
  /// What element k of the taps of j is multiplied by.
  template <class A>
  constexpr A weight(long in, long out, long j, const Taps& own, long k) const {
    if (mode == Resampling::area) return A(1) / A(own.count);
    if (mode != Resampling::linear && mode != Resampling::cubic) return A(1);
    if (filters()) return A(filter(in, out, j, own.first + k) / own.sum);
    const Ratio r = ratio(in, out, j);
    if (mode == Resampling::linear && r.part < 0) return A(1 - k);
    const A after = A(r.part - r.floor() * r.whole) / A(r.whole);
    if (mode == Resampling::linear) return k ? after : A(1) - after;
    return convolution(k == 0 ? after + A(1) : k == 1 ? after : k == 2 ? A(1) - after : A(2) - after, k == 0 || k == 3);
  }
  static constexpr long inside(long at, long in) { return at < 0 ? 0 : at < in ? at : in - 1; }

 private:
  struct Ratio {
    long part = 0, whole = 1;
    constexpr long floor() const { return part >= 0 ? part / whole : -((whole - 1 - part) / whole); }
    constexpr long ceil() const { return -Ratio{-part, whole}.floor(); }
  };
  /// The place of element j of the result among those of x.
  constexpr Ratio ratio(long in, long out, long j) const {
    const long p = c ? b : out, q = c ? c : in;
    switch (Coordinates(a)) {
      case Coordinates::half_pixel: break;
      case Coordinates::align_corners:
        if (c) return in * p > q ? Ratio{j * (in - 1) * q, in * p - q} : Ratio{};
        return out > 1 ? Ratio{j * (in - 1), out - 1} : Ratio{};
      case Coordinates::asymmetric: return {j * q, p};
      case Coordinates::pytorch_half_pixel:
        if (out == 1) return {};
        break;
      case Coordinates::half_pixel_symmetric: return {in * p - out * q + (2 * j + 1) * q - p, 2 * p};
    }
    return {(2 * j + 1) * q - p, 2 * p};
  }
  constexpr long nearest_to(const Ratio& r) const {
    const Ratio twice{2 * r.part, 2 * r.whole};
    switch (nearest != Nearest::usual                   ? nearest
            : Coordinates(a) == Coordinates::asymmetric ? Nearest::before
                                                        : Nearest::round_up) {
      case Nearest::usual:
      case Nearest::before: break;
      case Nearest::after: return r.ceil();
      case Nearest::round_down: return Ratio{twice.part - r.whole, twice.whole}.ceil();
      case Nearest::round_up: return Ratio{twice.part + r.whole, twice.whole}.floor();
    }
    return r.floor();
  }
  /// The cubic convolution at a distance x below 1 (near) or from 1 to 2 (far).
  template <class A>
  constexpr A convolution(A x, bool far) const {
    const A s = A(cubic);
    if (far) return A(A(A(s * x) - A(5) * s) * x + A(8) * s) * x - A(4) * s;
    return A(A((s + A(2)) * x) - (s + A(3))) * x * x + A(1);
  }

  // Filters of any width, whose weights are divided by their sum: a tap at the distance x of a place has the weight of
  // the distance x / width.
  constexpr bool filters() const { return antialias || exclude_outside; }
  constexpr long radius() const { return mode == Resampling::cubic ? 2 : 1; }
  /// From one place to the next, where places are further apart than elements, for a filter that covers all of x.
  constexpr Ratio width(long in, long out) const {
    const Ratio apart = Coordinates(a) == Coordinates::align_corners && !c ? Ratio{in - 1, out > 1 ? out - 1 : 1}
                                                                           : Ratio{c ? c : in, c ? b : out};
    return antialias && apart.part > apart.whole ? apart : Ratio{1, 1};
  }
  constexpr Taps filtered(long in, long out, long j) const {
    const Ratio r = ratio(in, out, j), w = width(in, out);
    const long at = r.part * w.whole, reach = radius() * w.part * r.whole, whole = r.whole * w.whole;
    const long first = Ratio{at - reach, whole}.floor() + 1, last = Ratio{at + reach, whole}.ceil() - 1;
    Taps own{first, last - first + 1, 0};
    if (exclude_outside) own = {inside(first, in), inside(last, in) - inside(first, in) + 1, 0};
    for (long k = 0; k < own.count; ++k) own.sum += filter(in, out, j, own.first + k);
    return own;
  }
  /// The weight of the element `from` of x, not yet divided by the sum.
  constexpr double filter(long in, long out, long j, long from) const {
    const Ratio r = ratio(in, out, j), w = width(in, out);
    const long apart = from * r.whole - r.part;
    const double x = double((apart < 0 ? -apart : apart) * w.whole) / double(r.whole * w.part);
    if (mode == Resampling::linear) return x < 1 ? 1 - x : 0;
    return x < 2 ? convolution(x, x >= 1) : 0;
  }
  static constexpr long wrapped(long at, long in) { return in ? (at % in + in) % in : 0; }
  static constexpr long mirrored(long at, long in, long twice) {
    return at < 0 ? -at - twice : at >= in ? 2 * in - 2 + twice - at : at;
  }
};
TENON_EXACT_END

namespace detail {
constexpr const char* resampling_name(Resampling mode) {
  constexpr const char* names[]{"roll",          "flip",          "pad_circular",     "pad_reflect",
                                "pad_symmetric", "pad_replicate", "adaptive pooling", "interpolate",
                                "interpolate",   "interpolate",   "interpolate"};
  return names[int(mode)];
}
/// What is wrong with resampling an axis of x.
constexpr void check_resampling(const TensorType& x, const ResampleConfig& c, Sentence& error) {
  const int axis = normalized_axis(c.axis, x.rank);
  const char* const who = resampling_name(c.mode);
  if (axis < 0) {
    error << who << " got the axis " << c.axis << " for " << x << " of rank " << x.rank;
    return;
  }
  const int in = x[axis], after = c.extent - in - c.a;
  const bool borders = c.mode >= Resampling::circular && c.mode <= Resampling::replicate;
  const int most = c.mode == Resampling::reflect ? in - 1 : c.mode == Resampling::replicate ? 0x7fffffff : in;
  const bool moves = c.mode == Resampling::roll || c.mode == Resampling::flip;
  if (in < 0 && !moves) error << who << " of " << x << " along axis 0, which depends on n: it needs a fixed extent";
  else if (borders && (c.a < 0 || after < 0))
    error << who << " of " << x << " got a margin of " << (c.a < 0 ? c.a : after)
          << ": use slice to take elements away";
  else if (borders && (c.a > most || after > most))
    error << who << " of " << x << " got a margin of " << (c.a > most ? c.a : after) << " along axis " << axis
          << ": at most " << most << " elements can be mirrored or repeated";
  else if (!moves && (c.extent < 1 || in < 1))
    error << who << " of " << x << " to " << c.extent << " elements along axis " << axis << ": it needs 1 or more";
  else if (c.weighted() && !is_floating(x.dtype))
    error << who << " of " << tenon::name(x.dtype) << " " << x << " needs floating-point elements: cast them";
}
}  // namespace detail

struct Resample;

/// The transposed map: adds each element of dy, times the weights, to the elements of which it is made. Operand: dy.
/// Not for users.
///
/// order       in ascending order of the position in dy, in one chain (backend/order.hpp)
struct ResampleGrad : Operator<ResampleGrad, "ResampleGrad"> {
  using Config = ResampleConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType y = in[0];
    y.extent[normalized_axis(c.axis, y.rank)] = c.extent;
    return y;
  }
  static constexpr void derivative(Derivative& d);
};

/// Each element of the result along an axis from one element of x, or a weighted sum of few.
///
/// x           any shape of rank 1 or more; any dtype where elements are only moved, else a floating-point one
/// result      x with another extent along the axis
/// derivative  the transposed map of dy
/// source      MindSpore's roll, flip, Pad, MirrorPad, ResizeNearestNeighbor, ResizeBilinear, ResizeBicubic, ResizeArea
struct Resample : Operator<Resample, "Resample"> {
  using Config = ResampleConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    detail::check_resampling(in[0], c, error);
    if (error.empty()) y.extent[normalized_axis(c.axis, y.rank)] = c.extent;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    Config c = d.config<Resample>();
    c.extent = d.type(0)[normalized_axis(c.axis, d.type(0).rank)];
    if (c.mode == Resampling::roll || c.mode == Resampling::flip) {
      c.a = -c.a;
      d.flows_to(0, d.call_with<Resample>(c, d.gradient()));
    } else d.flows_to(0, d.call_with<ResampleGrad>(c, d.gradient()));
  }
};

constexpr void ResampleGrad::derivative(Derivative& d) {
  Config c = d.config<ResampleGrad>();
  c.extent = d.type(0)[normalized_axis(c.axis, d.type(0).rank)];
  d.flows_to(0, d.call_with<Resample>(c, d.gradient()));
}

namespace detail {
/// An axis that is moved around, or that gets a border.
constexpr ResampleConfig along(const TensorType& x, Resampling mode, int axis, int before, int more) {
  const int own = normalized_axis(axis, x.rank);
  return {axis, own < 0 ? 0 : x.extent[own] + more, mode, before};
}
}  // namespace detail

/// Moves elements along an axis in a circle: `roll<1, -1>(x)`, where the last element of each row becomes the first.
/// NumPy's, PyTorch's, and MindSpore's roll of one axis.
template <int shift, int axis, Operand X>
constexpr auto roll(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return apply<Resample, detail::along(X::dims, Resampling::roll, axis, shift, 0)>(at, x);
}

namespace detail {
template <int axis, int... more, class X>
constexpr auto flipped(const std::source_location& at, const X& x) {
  if constexpr (is_broken<X>) return x;
  else {
    const auto once = apply<Resample, along(X::dims, Resampling::flip, axis, 0, 0)>(at, x);
    if constexpr (sizeof...(more) == 0) return once;
    else return flipped<more...>(at, once);
  }
}
}  // namespace detail

/// Elements in reverse along axes: `flip<-1>(x)`, `flip<0, 2>(x)`. MindSpore's and PyTorch's flip.
template <int axis, int... axes>
constexpr auto flip(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::flipped<axis, axes...>(at, x);
}

}  // namespace ops
}  // namespace tenon
