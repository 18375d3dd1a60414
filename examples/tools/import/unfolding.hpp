// Windows that a file looks up by their places, as PyTorch's exporters write unfold, and sums of windows, fold.
#pragma once
#include "movement.hpp"
#include "windows.hpp"

namespace importer {

/// Windows of `size` elements, `dilation` apart, at `positions` places, `stride` apart, from `first` on.
struct AxisWindows {
  long size = 0, positions = 0, first = 0, dilation = 1, stride = 1;

  long last() const { return first + (size - 1) * dilation + (positions - 1) * stride; }
  /// Whether they are all elements of an axis in their order.
  bool are_all(long extent) const {
    const bool is_line = (size == 1 && (positions == 1 || stride == 1)) || (positions == 1 && dilation == 1);
    return first == 0 && is_line && size * positions == extent;
  }
};
/// The windows that a table of places has, if it has such.
inline std::optional<AxisWindows> windows_in(const Array& places) {
  if (places.is_real() || places.has_samples() || places.extents.size() != 2 || places.count() == 0)
    return std::nullopt;
  AxisWindows w{places.extents[0], places.extents[1], places.wholes[0]};
  if (w.size > 1) w.dilation = places.wholes[std::size_t(w.positions)] - w.first;
  if (w.positions > 1) w.stride = places.wholes[1] - w.first;
  if (w.first < 0 || w.dilation < 1 || w.stride < 1) return std::nullopt;
  for (long i = 0; i < w.size * w.positions; ++i)
    if (places.wholes[std::size_t(i)] != w.first + i / w.positions * w.dilation + i % w.positions * w.stride)
      return std::nullopt;
  return w;
}
inline std::string unfold_text(const AxisWindows& w) {
  Settings settings;
  if (w.stride != 1 && w.positions > 1) settings.add("stride", "Pair(" + number("Stride", w.stride) + ", 1)");
  if (w.dilation != 1) settings.add("dilation", "Pair(" + number("Dilation", w.dilation) + ", 1)");
  return "unfold<Pair(" + number("Window", w.size) + ", 1)" + settings.after_comma("UnfoldConfig") + ">($0)";
}
/// Whether a Gather takes windows along an axis of a batch.
inline bool gather_windows(const NodeView& n) {
  if (!n.has(0) || !n.has(1) || n.in(0).is_constant() || n.in(0).special != Special::none || n.rank(1) != 2)
    return false;
  const auto places = array_of(n.in(1));
  const auto w = places ? windows_in(*places) : std::nullopt;
  const Shape from = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", 0), from.size());
  if (!w || axis == 0 || !from[0].has_batch()) return false;
  for (std::size_t k = 1; k < from.size(); ++k)
    if (!from[k].is_number()) return false;
  if (w->last() >= from[axis].factor) n.refuse("its places are outside of its axis");
  Shape to = from;
  to[axis] = Extent(w->size), to.insert(to.begin() + long(axis) + 1, Extent(w->positions));
  int made = n.id(0);
  const auto reshaped = [&](const Shape& shape) {
    if (!(n.g[made].shape == shape)) made = add_call(n, "reshape<" + n.g.shape(shape) + ">($0)", {made}, shape);
  };
  if (!w->are_all(from[axis].factor)) {
    Shape part = from;
    const long reach = w->last() - w->first + 1;
    if (reach != from[axis].factor) {
      part[axis] = Extent(reach);
      const std::string range = number("First", w->first) + ", " + number("End", w->last() + 1);
      made = add_call(n, "slice<" + std::to_string(axis) + ", Part{" + range + "}>($0)", {made}, part);
    }
    const Extent before = count_of(Shape(part.begin() + 1, part.begin() + long(axis))),
                 after = count_of(Shape(part.begin() + long(axis) + 1, part.end()));
    reshaped({part[0], before, part[axis], after});
    const Shape columns{part[0], before * Extent(w->size), after * Extent(w->positions)};
    made = add_call(n, unfold_text(*w), {made}, columns);
    n.g.needs_more = true;
  }
  reshaped(to);
  n.alias(0, made);
  return true;
}

/// Sums of windows at their places in an image.
inline void fold_windows(const NodeView& n) {
  const auto image = n.plain_numbers("image_shape", 1), window = n.plain_numbers("block_shape", 2);
  const Shape from = n.shape(0);
  if (image.size() != 2 || window.size() != 2 || from.size() != 3 || !from[1].is_number() || image[0] < 1 ||
      image[1] < 1)
    n.refuse("only the windows of images of a known size are in scope");
  Windows w(n, window);
  const Shape windows = w.result(n, {from[0], from[1], Extent(image[0]), Extent(image[1])}, 1);
  const auto channels = from[1].over(Extent(window[0]) * Extent(window[1]));
  if (!channels || !(count_of({windows[2], windows[3]}) == from[2])) n.refuse("its windows do not fit its image");
  Settings settings;
  if (!all_are(w.stride, 1)) settings.add("stride", extents_text("Stride", w.stride));
  if (!all_are(w.dilation, 1)) settings.add("dilation", extents_text("Dilation", w.dilation));
  if (w.has_padding()) settings.add("padding", w.padding());
  n.g.needs_more = true;
  n.out(0, {from[0], *channels, Extent(image[0]), Extent(image[1])}, n.in(0).type);
  n.call("fold<Pair(" + number("Height", image[0]) + ", " + number("Width", image[1]) + "), " +
             extents_text("Window", window) + settings.after_comma("UnfoldConfig") + ">($0)",
         {n.id(0)});
}

}  // namespace importer
