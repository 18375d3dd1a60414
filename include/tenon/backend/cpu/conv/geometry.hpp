// What a direct convolution computes, forward and as the gradient for the input, before anything is said of layouts,
// lanes, or tiles: the plans of conv/plan.hpp and nchw16n/plan.hpp begin with it.
#pragma once
#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

/// A convolution and its gradient for the input are the same computation, in each group:
///   result(row, i * step_h + phase_h, j * step_w + phase_w) = chain over planes and the taps of that phase of
///   weight * image(plane, i * pixel_h + tap's row - top, j * pixel_w + tap's column - left)
/// A convolution has one phase, and pixels as far apart as its stride. Its gradient reads dy, whose pixels are
/// neighbours, and has stride_h * stride_w phases, so that the zeros which a stride puts between the elements of dy are
/// never multiplied.
struct ConvGeometry {
  long planes, h, w, top, left;     // of the image; top, left: zeros before it
  long pixel_h, pixel_w;            // distance of the pixels of neighbouring results
  int step_h, step_w;               // phases of the result
  long height, width;               // of the result
  long grid_h, grid_w;              // of one phase, the larger ones
  int kernel_h, kernel_w;           // taps of a plane, rows by columns; of all phases
  long first_h, first_w;            // where in the padded image, in steps of the result, the first tap is,
  long tap_h, tap_w;                // and the distance of the taps of neighbouring rows and columns
  long reach_h, reach_w;            // the farthest tap, in pixels of the padded image
  long rows, row_step, plane_step;  // result channels; distances of their weights, and of those of two planes
  long segment;                     // planes of a segment of a sum of float32 (backend/order.hpp)
  bool segments;                    // there are several

  constexpr long taps() const { return long(kernel_h) * kernel_w; }
  constexpr long group_weights() const { return rows * planes * taps(); }
  constexpr int phases() const { return step_h * step_w; }
  /// Whether neighbouring results of the only phase read neighbouring pixels.
  constexpr bool dense() const { return pixel_h * pixel_w * phases() == 1; }
};

[[gnu::noinline]] constexpr ConvGeometry forward_geometry(const Conv2dSizes& s) {
  ConvGeometry g{};
  g.planes = s.group_inputs(), g.h = s.h, g.w = s.w, g.top = s.pad_top, g.left = s.pad_left;
  g.pixel_h = s.stride_h, g.pixel_w = s.stride_w, g.step_h = g.step_w = 1;
  g.height = g.grid_h = s.oh, g.width = g.grid_w = s.ow;
  g.kernel_h = s.kh, g.kernel_w = s.kw;
  g.tap_h = s.dilation_h, g.tap_w = s.dilation_w;
  g.reach_h = (s.kh - 1) * g.tap_h, g.reach_w = (s.kw - 1) * g.tap_w;
  g.rows = s.group_outputs(), g.row_step = g.planes * s.taps(), g.plane_step = s.taps();
  g.segment = s.segment(), g.segments = g.segment < g.planes;
  return g;
}

// Zeros that the taps of the gradient need around dy: tap r of row i * stride + phase of dx meets row i + (phase + pad
// - r * dilation) / stride of dy.
struct Reach {
  long before, after;
};
constexpr Reach reach(int kernel, int stride, int pad, int dilation) {
  const long back = long(kernel - 1) * dilation - pad, ahead = stride - 1 + pad;
  return {back > 0 ? back / stride : 0, ahead > 0 ? ahead / stride : 0};
}
[[gnu::noinline]] constexpr ConvGeometry backward_input_geometry(const Conv2dSizes& s) {
  const Reach h = reach(s.kh, s.stride_h, s.pad_top, s.dilation_h),
              w = reach(s.kw, s.stride_w, s.pad_left, s.dilation_w);
  ConvGeometry g{};
  g.planes = s.group_outputs(), g.h = s.oh, g.w = s.ow, g.top = h.before, g.left = w.before;
  g.pixel_h = g.pixel_w = 1, g.step_h = s.stride_h, g.step_w = s.stride_w;
  g.height = s.h, g.width = s.w;
  g.grid_h = ceil_div(s.h, s.stride_h), g.grid_w = ceil_div(s.w, s.stride_w);
  g.kernel_h = s.kh, g.kernel_w = s.kw;
  g.first_h = s.pad_top + h.before * s.stride_h, g.first_w = s.pad_left + w.before * s.stride_w;
  g.tap_h = -s.dilation_h, g.tap_w = -s.dilation_w;
  g.reach_h = h.before + h.after, g.reach_w = w.before + w.after;
  g.rows = s.group_inputs(), g.row_step = s.taps(), g.plane_step = g.rows * s.taps();
  g.segment = s.input_segment(), g.segments = g.segment < g.planes;
  return g;
}

constexpr ConvGeometry geometry_of(const Conv2dSizes& s) {
  return s.input_gradient ? backward_input_geometry(s) : forward_geometry(s);
}

/// Describes the taps to the caller: add(weight within its plane, row, column of the padded image) for each, and
/// end_phase() after those of a phase.
template <class Worker>
[[gnu::noinline]] void add_taps(Worker& worker, const ConvGeometry& g) {
  for (int phase_h = 0; phase_h < g.step_h; ++phase_h)
    for (int phase_w = 0; phase_w < g.step_w; ++phase_w, worker.end_phase())
      for (long r = 0; r < g.kernel_h; ++r)
        for (long k = 0; k < g.kernel_w; ++k) {
          const long y = g.first_h + phase_h + r * g.tap_h, x = g.first_w + phase_w + k * g.tap_w;
          if (y % g.step_h == 0 && x % g.step_w == 0) worker.add(r * g.kernel_w + k, y / g.step_h, x / g.step_w);
        }
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
