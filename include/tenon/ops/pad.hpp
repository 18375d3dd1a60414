// Adds a border of a constant around a tensor.
#pragma once
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI {

/// How many elements are added before and after those of an axis.
struct Margin {
  int before = 0, after = 0;
};

namespace ops {

/// Adds a border of a constant along axes.
///
/// x           any shape and dtype
/// result      extents grown by the margins; a leading extent that depends on n gets none
/// derivative  dy without the border
/// source      MindSpore's and PyTorch's pad with mode constant
struct Pad : Operator<Pad, "PadV3"> {
  struct Config {
    int last = 0, before[SliceWindow::axes]{}, after[SliceWindow::axes]{}, margins = 0;
    constexpr int axis(int k) const { return last - SliceWindow::axes + 1 + k; }
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    if (c.margins > y.rank) error << "Pad of " << in[0] << " got " << c.margins << " margins, more than it has axes";
    for (int k = 0; k < SliceWindow::axes && error.empty(); ++k) {
      const int axis = c.axis(k), before = c.before[k], after = c.after[k];
      if (before < 0 || after < 0)
        error << "Pad of " << in[0] << " got a margin of " << (before < 0 ? before : after)
              << ": use slice to take elements away";
      else if (before + after > 0 && y[axis] < 0)
        error << "Pad of " << in[0] << ": the leading extent, which depends on n, cannot get a margin";
      else if (before + after > 0) y.extent[axis] += before + after;
    }
    return y;
  }
  static constexpr SliceWindow window(const Config& c, const TensorType& x) {
    SliceWindow w = SliceWindow::all(x, c.last);
    for (int k = 0; k < SliceWindow::axes; ++k) w.first[k] = c.before[k];
    return w;
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<Slice>(window(d.config<Pad>(), d.type(0)), d.gradient()));
  }
};

namespace detail {
/// The last axis below `limit` that grows, or -1.
template <Margin... margins>
constexpr int last_margin(int limit) {
  constexpr Margin margin[]{margins..., Margin{}};
  for (int axis = limit < int(sizeof...(margins)) ? limit - 1 : int(sizeof...(margins)) - 1; axis >= 0; --axis)
    if (margin[axis].before || margin[axis].after) return axis;
  return -1;
}
template <Margin... margins>
constexpr Pad::Config pad_config(int last) {
  constexpr Margin margin[]{margins..., Margin{}};
  Pad::Config c;
  c.last = last < 0 ? 0 : last;
  c.margins = int(sizeof...(margins));
  for (int k = 0; k < SliceWindow::axes; ++k)
    if (c.axis(k) >= 0 && c.axis(k) < int(sizeof...(margins)))
      c.before[k] = margin[c.axis(k)].before, c.after[k] = margin[c.axis(k)].after;
  return c;
}
}  // namespace detail

/// Adds margins of `value` per axis, from the first axis on: `pad<Margin{}, Margin{1, 2}>(x)`,
/// `pad<Margin{2, 2}>(x, -1)`. Throws ValueError for a whole number outside of the range of an integer dtype.
template <Margin... margins, Operand X, Scalar N = int>
constexpr auto pad(const X& x, N value = 0, std::source_location at = std::source_location::current()) {
  const std::uint64_t immediate = tenon::detail::immediate_number(x, value);
  constexpr int last = detail::last_margin<margins...>(max_rank),
                before = detail::last_margin<margins...>(last - SliceWindow::axes + 1);
  const auto padded = apply_with<Pad, detail::pad_config<margins...>(last)>(at, immediate, x);
  if constexpr (before < 0 || is_broken<decltype(padded)>) return padded;
  else return apply_with<Pad, detail::pad_config<margins...>(before)>(at, immediate, padded);
}

}  // namespace ops
}  // namespace tenon
