// A part of a tensor: a range with a step on each axis.
#pragma once
#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI {

/// Elements begin, begin + step, ... before `end` of an axis, as Python's begin:end:step. Negative numbers count from
/// the end of the axis; omitted numbers mean the whole axis.
struct Part {
  static constexpr int open = 1 << 30;
  int begin = open, end = open, step = 1;
};

namespace ops {

/// A part along the axes last - 2 .. last of a tensor. A negative number on a leading extent of k n counts in units of
/// n.
struct SliceWindow {
  static constexpr int axes = 3;
  int last = 0, first[axes]{}, part[axes]{1, 1, 1}, step[axes]{1, 1, 1};
  int fault = 0;  // why the ranges do not fit: a SliceFault

  constexpr int axis(int k) const { return last - axes + 1 + k; }
  /// The window that ends at axis `last` and leaves all of x.
  static constexpr SliceWindow all(const TensorType& x, int last) {
    SliceWindow w;
    w.last = last;
    for (int k = 0; k < axes; ++k)
      if (w.axis(k) >= 0 && w.axis(k) < x.rank) w.part[k] = x.extent[w.axis(k)];
    return w;
  }
  /// t with the extents of `part` on the window's axes.
  constexpr TensorType applied_to(TensorType t) const {
    for (int k = 0; k < axes; ++k)
      if (axis(k) >= 0 && axis(k) < t.rank) t.extent[axis(k)] = part[k];
    return t;
  }
};
enum SliceFault : int { fits, too_many_ranges, step_of_zero, part_of_batch, no_element };

struct Slice;

/// dy at its place in a tensor of zeros. Operand: dy. Not for users.
struct SliceGrad : Operator<SliceGrad, "StridedSliceGrad"> {
  using Config = SliceWindow;  // part: extents of the result
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) { return c.applied_to(in[0]); }
  static constexpr void derivative(Derivative& d);
};

/// A regular part of a tensor.
///
/// x           any shape and dtype
/// result      the elements of the ranges; a leading extent that depends on n stays whole
/// derivative  dy in a tensor of zeros
/// source      MindSpore's StridedSlice, PyTorch's narrow, Python's ranges
struct Slice : Operator<Slice, "StridedSlice"> {
  using Config = SliceWindow;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    constexpr std::string_view why[]{"", "more ranges than axes", "a step of 0",
                                     "a part of the leading extent, which depends on n", "no element is left"};
    if (c.fault) error << "Slice of " << in[0] << ": " << why[c.fault];
    return c.applied_to(in[0]);
  }
  static constexpr SliceWindow whole(SliceWindow c, const TensorType& x) {
    const SliceWindow all = SliceWindow::all(x, c.last);
    for (int k = 0; k < SliceWindow::axes; ++k) c.part[k] = all.part[k];
    return c;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<SliceGrad>(whole(d.config<Slice>(), d.type(0)), d.gradient()));
  }
};
constexpr void SliceGrad::derivative(Derivative& d) {
  d.flows_to(0, d.call_with<Slice>(Slice::whole(d.config<SliceGrad>(), d.type(0)), d.gradient()));
}

namespace detail {
/// Puts a range on axis k of the window, which has `extent` elements.
constexpr void narrow(SliceWindow& w, int k, int extent, const Part& r) {
  const bool down = r.step < 0;
  const int low = down ? -1 : 0, high = down ? extent - 1 : extent;
  const auto place = [&](int at, int open) {
    if (at == Part::open) return open;
    if (at < 0) at += extent;
    return at < low ? low : at > high ? high : at;
  };
  const int begin = place(r.begin, down ? high : low), end = place(r.end, down ? low : high);
  const int distance = down ? begin - end : end - begin, stride = down ? -r.step : r.step;
  if (stride == 0) w.fault = step_of_zero;
  else if (extent < 0) w.fault = part_of_batch;
  else if (distance <= 0) w.fault = no_element;
  else w.first[k] = begin, w.step[k] = r.step, w.part[k] = (distance + stride - 1) / stride;
}
/// The last axis below `limit` that has a range, or -1.
template <Part... ranges>
constexpr int last_range(int limit) {
  constexpr Part range[]{ranges..., Part{}};
  for (int axis = limit < int(sizeof...(ranges)) ? limit - 1 : int(sizeof...(ranges)) - 1; axis >= 0; --axis)
    if (range[axis].begin != Part::open || range[axis].end != Part::open || range[axis].step != 1) return axis;
  return -1;
}
/// The window that ends at axis `last` with all ranges that it covers.
template <Part... ranges>
constexpr SliceWindow range_window(const TensorType& x, int last) {
  constexpr Part range[]{ranges..., Part{}};
  SliceWindow w = SliceWindow::all(x, last < 0 ? x.rank - 1 : last);
  if (int(sizeof...(ranges)) > x.rank) w.fault = too_many_ranges;
  for (int k = 0; k < SliceWindow::axes && !w.fault; ++k)
    if (w.axis(k) >= 0 && last_range<ranges...>(w.axis(k) + 1) == w.axis(k))
      narrow(w, k, x.extent[w.axis(k)], range[w.axis(k)]);
  return w;
}
}  // namespace detail

/// A part of x by a range per axis, from the first axis on: `slice<Part{}, Part{1, -1}, Part{.step = 2}>(x)`.
/// A window of three neighbouring axes is one copy; ranges on axes further apart are two.
template <Part... ranges, Operand X>
constexpr auto slice(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr int last = detail::last_range<ranges...>(max_rank);
    constexpr int before = last < 0 || int(sizeof...(ranges)) > X::dims.rank
                               ? -1
                               : detail::last_range<ranges...>(last - SliceWindow::axes + 1);
    const auto part = apply<Slice, detail::range_window<ranges...>(X::dims, last)>(at, x);
    if constexpr (before < 0 || is_broken<decltype(part)>) return part;
    else return apply<Slice, detail::range_window<ranges...>(X::dims, before)>(at, part);
  }
}
/// The part of one axis; the other axes stay whole: `slice<-1, Part{0, 3}>(x)`.
template <int axis, Part range, Operand X>
constexpr auto slice(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else {
    constexpr auto window = [] {
      constexpr int positive = normalized_axis(axis, X::dims.rank);
      SliceWindow w = SliceWindow::all(X::dims, positive < 0 ? X::dims.rank - 1 : positive);
      if (positive < 0) w.fault = too_many_ranges;
      else detail::narrow(w, SliceWindow::axes - 1, X::dims.extent[positive], range);
      return w;
    };
    return apply<Slice, window()>(at, x);
  }
}

}  // namespace ops
}  // namespace tenon
