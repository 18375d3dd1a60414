// Direct convolution, channels last, with the maximum over windows of 2 x 2 after it: for small images, which fill
// vectors badly, while their channels often do so well.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/plan.hpp>
#include <tenon/backend/cpu/pool/conv_max.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

/// The rows of a plane that belong to a window, and their columns.
constexpr long whole_windows(long extent) { return extent / 2 * 2; }

// Only those pixels of a convolution that belong to a window.
constexpr ConvGeometry pooled_geometry(const Conv2dSizes& s) {
  ConvGeometry g = forward_geometry(s);
  g.height = g.grid_h = whole_windows(s.oh), g.width = g.grid_w = whole_windows(s.ow);
  return g;
}

// Pixels as lanes, as everywhere else: bands of an even number of rows.
constexpr ConvPlan pooled_forward(const Conv2dSizes& s) {
  ConvPlan c = conv_plan<float>(s, false);
  c.height = c.grid_h = whole_windows(s.oh);
  c.band = c.band >= c.grid_h ? c.grid_h : c.band < 2 ? 2 : whole_windows(c.band);
  c.in_place = false;  // tiles read beyond the last pixel
  c.image.rows = c.band + c.reach_h / c.pixel_h;
  return c;
}

// Parts of the workspace, in bytes from its start.
struct PooledScratch {
  std::size_t taps, weights, sums, pooled, image, total;
};
struct PooledPlan : ConvGeometry {
  bool pays = false;
  bool copied = false;  // with zeros around it
  Padded image{};       // without padding it is x itself
  long pixels = 0, steps = 0, row_blocks = 0;
  PooledScratch scratch{};
};
inline constexpr long most_lane_pixels = 256, lane_columns = 3L * simd_width<float>;

constexpr PooledScratch pooled_scratch(const PooledPlan& p) {
  PooledScratch s{};
  s.taps = scratch_bytes(p.pixels, sizeof(std::int32_t));
  s.weights = s.taps + scratch_bytes(p.steps, sizeof(Tap));
  s.sums = s.weights + scratch_bytes(p.steps * p.rows, sizeof(float));
  s.pooled = s.sums + scratch_bytes(p.pixels * lane_columns, sizeof(float));
  s.image = s.pooled + scratch_bytes(2 * (p.pixels / 4) * lane_columns, sizeof(float));
  s.total = s.image + (p.copied ? scratch_bytes(p.image.elements(), sizeof(float)) : 0);
  return s;
}
constexpr PooledPlan pooled_channels_last(const Conv2dSizes& s) {
  constexpr long width = simd_width<float>;
  const ConvPlan by_pixels = pooled_forward(s);
  PooledPlan p{pooled_geometry(s)};
  const long rows = (p.height - 1) * p.pixel_h + p.reach_h + 1, columns = (p.width - 1) * p.pixel_w + p.reach_w + 1;
  p.copied = p.top > 0 || p.left > 0 || rows > p.h || columns > p.w;
  p.image = {p.planes, p.h, p.w, p.top, p.left, 1, 1, 1, 1, p.copied ? rows : p.h, p.copied ? columns : p.w};
  p.pixels = p.height * p.width, p.steps = p.planes * p.taps();
  p.row_blocks = p.rows / width;
  // With pixels as lanes the image would lie there once for each column of taps: that costs more than it spares.
  const bool copies = by_pixels.image.copy_step > 0;
  const long covered = round_up((by_pixels.grid_h - 1) * by_pixels.image.pitch + by_pixels.grid_w, width);
  p.pays =
      p.rows % width == 0 && p.pixels >= 16 && p.pixels <= most_lane_pixels && (copies || p.pixels * 10 < covered * 9);
  p.scratch = pooled_scratch(p);
  return p;
}

#if TENON_DEFINES
class PooledChannelsLast {
 public:
  explicit PooledChannelsLast(const PooledPlan& plan) : c_(plan) {}
  PooledChannelsLast(const PooledPlan& plan, void* workspace) : c_(plan) {
    char* const base = static_cast<char*>(workspace);
    sums_ = reinterpret_cast<float*>(base + plan.scratch.sums);
    pooled_ = reinterpret_cast<float*>(base + plan.scratch.pooled);
    image_ = reinterpret_cast<float*>(base + plan.scratch.image);
    if (plan.copied) clear(image_, plan.image.elements());
  }
  /// Where pixels, taps, and packed weights are: as the workspace has them.
  void take(char* base) {
    pixel_ = reinterpret_cast<std::int32_t*>(base);
    taps_ = reinterpret_cast<Tap*>(base + c_.scratch.taps);
    weights_ = reinterpret_cast<float*>(base + c_.scratch.weights);
  }
  /// Writes pixels and taps.
  void describe() {
    const long pitch = c_.image.pitch;
    for (long i = 0, q = 0; q < c_.pixels; ++i)
      for (long j = 0; j < c_.width; ++j, ++q) pixel_[q] = std::int32_t(i * c_.pixel_h * pitch + j * c_.pixel_w);
    add_taps(*this, c_);
  }
  void add(long weight, long y, long x) {
    taps_[weight] = {std::int32_t(c_.image.offset(0, y, x)), std::int32_t(weight * c_.rows)};
  }
  void end_phase() {
    const long each = c_.taps();
    for (long t = each; t < c_.steps; ++t)
      taps_[t] = {std::int32_t(taps_[t - each].a + c_.image.plane()), std::int32_t(t * c_.rows)};
  }
  /// Weights of `rows` result channels, lane by lane.
  void pack(const float* weight, long rows) { copy_matrix(weight, 1, c_.steps, weights_, c_.rows, c_.steps, rows, 0); }
  /// All weights of a group are packed: those of the channels from row0 on.
  void take_weights(float* group, long row0) { weights_ = group + row0; }
  float* weights() const { return weights_; }
  /// Those channels of one sample and group, from number `channel` on.
  [[gnu::noinline]] void run(const float* x, float* y, float* argmaxes, long rows, long channel,
                             const PoolSums& pool) const {
    const long across = c_.width / 2, windows = c_.pixels / 4;
    float* const chosen = pooled_ + windows * lane_columns;
    const float* image = x;
    if (c_.copied) fill_padded(c_.image, {c_.h * c_.w}, x, 0, image_), image = image_;
    for (long j = 0, width; j < rows; j += width) {
      width = filled_columns<float>(rows - j);
      for (long i = 0, count; i < c_.pixels; i += count) {
        const long left = c_.pixels - i;  // few chains at a time would wait for each other
        count = left <= tile_rows ? left : left < tile_rows + 3 ? tile_rows - 2 : tile_rows;
        const Tile<float> tile{taps_, c_.steps, image, pixel_ + i, weights_ + j, sums_ + i * width, width, false};
        if (c_.segments) run_segments(tile, int(count), width);
        else kernel::run_tile(tile, int(count), width);
      }
      for (long i = 0; i < windows / across; ++i)
        pool({PoolLanes::channels, sums_ + 2 * i * c_.width * width, c_.width * width, width, across, width,
              pooled_ + i * across * width, chosen + i * across * width, width, channel + j});
      copy_matrix(pooled_, 1, width, y + j * windows, windows, width, windows, 0);
      if (argmaxes) copy_matrix(chosen, 1, width, argmaxes + j * windows, windows, width, windows, 0);
    }
  }

 private:
  const PooledPlan& c_;
  std::int32_t* pixel_ = nullptr;
  Tap* taps_ = nullptr;
  float *weights_ = nullptr, *sums_ = nullptr, *pooled_ = nullptr, *image_ = nullptr;
};
#endif  // TENON_DEFINES

}  // namespace tenon::kernel::detail
TENON_EXACT_END
