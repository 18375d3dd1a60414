// Direct convolution of small float32 images with weights that are kept between calls (lowering/kept.hpp). Small images
// fill vectors badly while their channels often do so well; with channels as lanes, packing the weights is what takes
// long, and that is done once.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/call.hpp>
#include <tenon/backend/cpu/conv/conv2d.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Bytes of what is kept; 0: nothing, for sizes at which conv2d is as fast.
long conv2d_kept_bytes(const Conv2dSizes& s);
void keep_conv2d(const Conv2dSizes& s, const float* weight, void* to);
/// conv2d with what keep_conv2d has written; items and workspace are its own, the workspace is no larger.
KernelWork conv2d_kept_work(const Conv2dSizes& s);
void conv2d_kept(const Conv2dSizes& s, const float* x, const void* kept, float* y, long begin, long end,
                 void* workspace, FunctionRef<long, long, long> finish);

namespace detail {
struct KeptConvPlan : ConvGeometry {
  bool copied = false;  // with zeros around it; without padding the image is x itself
  Padded image{};
  long pixels = 0, steps = 0, row_blocks = 0;
  // What is kept, in bytes: after the plan the pixels, then these; all of it.
  std::size_t taps_at = 0, weights_at = 0, kept = 0;
  std::size_t padded_at = 0, workspace = 0;  // the workspace: first the sums
  constexpr long lanes() const { return rows < 3L * simd_width<float> ? rows : 3L * simd_width<float>; }
};
constexpr KeptConvPlan kept_conv_plan(const Conv2dSizes& s) {
  KeptConvPlan p{forward_geometry(s)};
  const long rows = (p.height - 1) * p.pixel_h + p.reach_h + 1, columns = (p.width - 1) * p.pixel_w + p.reach_w + 1;
  p.copied = p.top > 0 || p.left > 0 || rows > p.h || columns > p.w;
  p.image = {p.planes, p.h, p.w, p.top, p.left, 1, 1, 1, 1, p.copied ? rows : p.h, p.copied ? columns : p.w};
  p.pixels = p.height * p.width, p.steps = p.planes * p.taps(), p.row_blocks = p.rows / simd_width<float>;
  p.taps_at = scratch_bytes(1, sizeof(KeptConvPlan)) + scratch_bytes(p.pixels, sizeof(std::int32_t));
  p.weights_at = p.taps_at + scratch_bytes(p.steps, sizeof(Tap));
  p.kept = p.weights_at + scratch_bytes(s.groups * p.steps * p.rows, sizeof(float));
  p.padded_at = scratch_bytes(p.pixels * p.lanes(), sizeof(float));
  p.workspace = p.padded_at + (p.copied ? scratch_bytes(p.image.elements(), sizeof(float)) : 0);
  return p;
}
/// Whether keeping weights saves time, whatever the number of samples: with pixels as lanes, those at the ends of rows
/// would be computed in vain, or the image copied for each column of taps.
constexpr bool kept_conv_pays(const Conv2dSizes& s) {
  constexpr long width = simd_width<float>, least_pixels = 16, most_pixels = 256, most_weights = 128 << 10;
  if (s.group_outputs() % width != 0 || s.oh * s.ow < least_pixels || s.oh * s.ow > most_pixels || s.pointwise() ||
      s.o * s.group_inputs() * s.taps() * long(sizeof(float)) > most_weights)
    return false;
  const ConvPlan by_pixels = conv_plan<float>(s.of(1), false);
  const long covered = round_up((by_pixels.grid_h - 1) * by_pixels.image.pitch + by_pixels.grid_w, width);
  return (by_pixels.image.copy_step > 0 || s.oh * s.ow * 10 < covered * 9) &&
         aligned(long(kept_conv_plan(s).workspace)) <= long(conv_scratch<float>(by_pixels).total);
}

#if TENON_DEFINES
class KeptConv {
 public:
  KeptConv(const KeptConvPlan& plan, char* kept)
      : c_(plan),
        pixel_(reinterpret_cast<std::int32_t*>(kept + scratch_bytes(1, sizeof(KeptConvPlan)))),
        taps_(reinterpret_cast<Tap*>(kept + plan.taps_at)),
        weights_(reinterpret_cast<float*>(kept + plan.weights_at)) {}

  /// Writes what is kept but for the plan.
  void keep(const float* weight, int groups) {
    for (long i = 0, q = 0; i < c_.height; ++i)
      for (long j = 0; j < c_.width; ++j, ++q)
        pixel_[q] = std::int32_t(i * c_.pixel_h * c_.image.pitch + j * c_.pixel_w);
    add_taps(*this, c_);
    for (long group = 0, all = c_.steps * c_.rows; group < groups; ++group)
      copy_matrix(weight + group * all, 1, c_.steps, weights_ + group * all, c_.rows, c_.steps, c_.rows, 0);
  }
  void add(long weight, long y, long x) {
    taps_[weight] = {std::int32_t(c_.image.offset(0, y, x)), std::int32_t(weight * c_.rows)};
  }
  void end_phase() {
    for (long t = c_.taps(); t < c_.steps; ++t)
      taps_[t] = {std::int32_t(taps_[t - c_.taps()].a + c_.image.plane()), std::int32_t(t * c_.rows)};
  }

  /// Channels row0 .. row0 + rows - 1 of one sample and group.
  [[gnu::noinline]] void run(const float* x, float* y, long group, long row0, long rows, float* sums,
                             float* padded) const {
    if (c_.copied) fill_padded(c_.image, {c_.h * c_.w}, x, 0, padded), x = padded;
    const float* const weights = weights_ + group * c_.steps * c_.rows + row0;
    for (long j = 0, width; j < rows; j += width) {
      width = filled_columns<float>(rows - j);
      for (long i = 0, count; i < c_.pixels; i += count) {
        const long left = c_.pixels - i;  // few chains at a time would wait for each other
        count = left <= tile_rows ? left : left < tile_rows + 3 ? tile_rows - 2 : tile_rows;
        run_segments(Tile<float>{taps_, c_.steps, x, pixel_ + i, weights + j, sums + i * width, width, false},
                     int(count), width, c_.segment * c_.taps());
      }
      write(sums, width, y + j * c_.pixels);
    }
  }

 private:
  // Planes of `width` channels from sums of pixels; + 0 as everywhere.
  [[gnu::always_inline]] void write(const float* sums, long width, float* y) const {
    constexpr int side = simd_width<float> < 8 ? simd_width<float> : 8;
    using V = Simd<float, side>;
    for (long l = 0; l < width; l += side)
      for (long i = 0; i < c_.pixels; i += side) {
        if (i + side > c_.pixels) i = c_.pixels - side;  // overlaps the ones before
        V square[side];
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) square[s] = V::load(sums + (i + s) * width + l) + V(0.0f);
        transpose_lanes(square);
#pragma GCC unroll 8
        for (int s = 0; s < side; ++s) square[s].store(y + (l + s) * c_.pixels + i);
      }
  }
  const KeptConvPlan& c_;
  std::int32_t* pixel_;
  Tap* taps_;
  float* weights_;
};
#endif  // TENON_DEFINES
}  // namespace detail

#if TENON_DEFINES
TENON_INLINE long conv2d_kept_bytes(const Conv2dSizes& s) {
  return detail::kept_conv_pays(s) ? long(detail::kept_conv_plan(s).kept) : 0;
}
TENON_INLINE KernelWork conv2d_kept_work(const Conv2dSizes& s) {
  return conv_work(s, s.n * s.o / simd_width<float>, detail::kept_conv_plan(s).workspace);
}
[[gnu::noinline]] TENON_INLINE void keep_conv2d(const Conv2dSizes& s, const float* weight, void* to) {
  const auto& plan = *new (to) detail::KeptConvPlan(detail::kept_conv_plan(s));
  detail::KeptConv(plan, static_cast<char*>(to)).keep(weight, s.groups);
}
[[gnu::noinline]] TENON_INLINE void conv2d_kept(const Conv2dSizes& s, const float* x, const void* kept, float* y,
                                                long begin, long end, void* workspace,
                                                FunctionRef<long, long, long> finish) {
  const auto& plan = *static_cast<const detail::KeptConvPlan*>(kept);
  const detail::KeptConv conv(plan, static_cast<char*>(const_cast<void*>(kept)));
  float *const sums = static_cast<float*>(workspace), *const padded = reinterpret_cast<float*>(
                                                          static_cast<char*>(workspace) + plan.padded_at);
  if (plan.copied) clear(padded, plan.image.elements());
  detail::each_run(plan, s.groups, begin, end, [&](long sample, long group, long row0, long rows) {
    const long o = group * plan.rows + row0;
    conv.run(x + (sample * s.c + group * s.group_inputs()) * s.h * s.w, y + (sample * s.o + o) * plan.pixels, group,
             row0, rows, sums, padded);
    if (finish) finish(sample, o, rows);
  });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
