// Windows over sequences, images, and volumes, as convolutions and pools have them.
#pragma once
#include "code.hpp"

namespace importer {

/// A pair of extents: one number if both are equal.
inline std::string pair_text(const std::string& role, long h, long w) {
  if (h == w) return number(role, h);
  return "Pair(" + number(role + "H", h) + ", " + number(role + "W", w) + ")";
}
/// An extent for each axis of a window: one number if all are equal.
inline std::string extents_text(const std::string& role, const std::vector<long>& all) {
  if (all.size() == 2) return pair_text(role, all[0], all[1]);
  if (std::all_of(all.begin(), all.end(), [&](long each) { return each == all[0]; })) return number(role, all[0]);
  return "Triple(" + number(role + "D", all[0]) + ", " + number(role + "H", all[1]) + ", " +
         number(role + "W", all[2]) + ")";
}
inline bool all_are(const std::vector<long>& numbers, long wanted) {
  return std::all_of(numbers.begin(), numbers.end(), [&](long each) { return each == wanted; });
}

struct Windows {
  std::vector<long> kernel, stride, dilation, pads;  // pads: before each axis, then after each
  std::vector<long> beyond;                          // what ceil_mode adds after each axis, a part of pads
  std::string automatic;                             // auto_pad, if it says the pads

  Windows(const NodeView& n, std::vector<long> window) : kernel(std::move(window)) {
    const std::size_t axes = kernel.size();
    if (axes < 1 || axes > 3) n.refuse("only windows of sequences, images, and volumes are in scope");
    stride = n.list("strides", axes, 1);
    dilation = n.list("dilations", axes, 1);
    pads = n.list("pads", 2 * axes, 0);
    automatic = n.word("auto_pad", "");
    if (automatic == "NOTSET") automatic = "";
    if (!automatic.empty() && automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
      n.refuse("its auto_pad is damaged");
    if (!automatic.empty()) pads.assign(2 * axes, 0);
    beyond.assign(axes, 0);
    for (std::size_t k = 0; k < axes; ++k)
      if (kernel[k] < 1 || stride[k] < 1 || dilation[k] < 1 || pads[k] < 0 || pads[axes + k] < 0 ||
          std::max({kernel[k], stride[k], dilation[k], pads[k], pads[axes + k]}) > 1'000'000)
        n.refuse("its windows are damaged");
  }
  long reach(std::size_t k) const { return dilation[k] * (kernel[k] - 1) + 1; }
  bool is_automatic() const { return automatic.starts_with("SAME"); }
  bool has_padding() const { return !all_are(pads, 0); }
  std::string padding() const {
    if (all_are(pads, pads[0])) return number("Padding", pads[0]);
    std::string list;  // before and after the first axis, then the next
    const std::size_t axes = kernel.size();
    for (std::size_t k = 0; k < axes; ++k)
      list += (k ? ", " : "") + std::to_string(pads[k]) + ", " + std::to_string(pads[axes + k]);
    return (axes == 1 ? "Padding1d(" : axes == 2 ? "Padding(" : "Padding3d(") + list + ")";
  }
  /// Whether the padding is that of PadMode::same: for every extent of an image, or as auto_pad says.
  bool is_same() const {
    if (automatic == "SAME_UPPER") return true;
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      const long more = reach(k) - 1;
      if (stride[k] != 1 || more % 2 != 0 || pads[k] != more / 2 || pads[kernel.size() + k] != more / 2) return false;
    }
    return true;
  }
  /// Divides what is added to an axis: the odd element goes to its end, or to its begin.
  void pad_axis(std::size_t k, long all, bool is_odd_before) {
    all = std::max(0l, all);
    pads[k] = is_odd_before ? all - all / 2 : all / 2, pads[kernel.size() + k] = all - pads[k];
  }
  /// The extents of the result. With `ceil` also windows count that begin in x or before it and end beyond it.
  Shape result(const NodeView& n, const Shape& x, long channels, bool ceil = false) {
    Shape shape{x[0], Extent(channels)};
    for (std::size_t k = 0; k < kernel.size(); ++k) {
      if (!x[2 + k].is_number()) n.refuse("the size of its image depends on a dynamic axis: give it one size");
      const long size = x[2 + k].factor, whole = (size + stride[k] - 1) / stride[k];
      if (is_automatic()) pad_axis(k, (whole - 1) * stride[k] + reach(k) - size, automatic == "SAME_LOWER");
      long& after = pads[kernel.size() + k];
      const long room = size + pads[k] + after - reach(k);
      if (room < 0) n.refuse("its windows are larger than its image");
      long places = room / stride[k] + 1;
      if (ceil && room % stride[k] != 0 && places * stride[k] < size + pads[k]) {
        beyond[k] = places * stride[k] + reach(k) - (size + pads[k] + after);
        after += beyond[k], ++places;
      }
      shape.push_back(Extent(places));
    }
    return shape;
  }
};

}  // namespace importer
