// Depthwise convolution: its gradient for the weight, where each channel is a group of its own: lanes are channels,
// brought side by side.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/conv/sizes.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/core/nchw16n.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/conv/direct.hpp>
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

constexpr bool is_depthwise(const Conv2dSizes& s) { return s.groups == s.c && s.groups == s.o && s.groups > 1; }

namespace detail {
/// Channels side by side, and taps whose chains run together; both of the images lie as [row][column][channel].
inline constexpr int depthwise_lanes = block_samples, depthwise_taps = 9;

struct DepthwisePlan {
  long pitch, image_rows, band;  // columns of the padded image, rows of it, rows of dy per pass: of whole segments
  PixelSegments segment;         // of dy
  long taps;                     // rounded up to whole tiles
  constexpr long image() const { return image_rows * pitch * depthwise_lanes; }
};
constexpr DepthwisePlan depthwise_plan(const Conv2dSizes& s) {
  constexpr long most = (256 << 10) / long(sizeof(float)) / depthwise_lanes;
  DepthwisePlan p{};
  const long reach_h = long(s.kh - 1) * s.dilation_h, reach_w = long(s.kw - 1) * s.dilation_w;
  p.pitch = (s.ow - 1) * s.stride_w + reach_w + 1;
  const long fitting = (most / p.pitch - reach_h - 1) / s.stride_h + 1;
  p.segment = pixel_segments(s.oh, s.ow);
  p.band = fitting < s.oh ? (fitting < p.segment.rows ? 1 : fitting / p.segment.rows) * p.segment.rows : s.oh;
  p.image_rows = (p.band - 1) * s.stride_h + reach_h + 1;
  p.taps = round_up(s.taps(), depthwise_taps);
  return p;
}
}  // namespace detail

/// Bytes of scratch that one thread needs, aligned to 64 bytes.
constexpr std::size_t depthwise_backward_weight_workspace(const Conv2dSizes& s) {
  const detail::DepthwisePlan p = detail::depthwise_plan(s);
  return std::size_t((1 + block_samples) * p.taps * detail::depthwise_lanes + p.band * s.ow * detail::depthwise_lanes +
                     p.image()) *
         sizeof(float);
}

/// conv2d_backward_weight of float32 for the channels [begin, end) of a depthwise convolution: the same chains.
void depthwise_backward_weight(const Conv2dSizes& s, const float* x, const float* dy, float* dw, long begin, long end,
                               void* workspace);

#if TENON_DEFINES
namespace detail {
/// Adds to sums[k][channel] the chain over the pixels of dy times those of the image that tap k meets.
struct DepthwiseTile {
  const float *dy, *image;
  long height, width, row, column;  // of dy; distances in the image of neighbouring rows and columns
  long tap[depthwise_taps];
  float* sums;
};
[[gnu::noinline]] inline void run_depthwise_tile(const DepthwiseTile& t) {
  using V = Simd<float, block_width>;
  for (int lane = 0; lane < depthwise_lanes; lane += block_width) {
    RegisterTile<V, 1, depthwise_taps> sums;
    const float *at[depthwise_taps], *dy = t.dy + lane;
#pragma GCC unroll 9
    for (int k = 0; k < depthwise_taps; ++k) at[k] = t.image + t.tap[k] + lane;
    sums.begin();
    for (long y = 0; y < t.height; ++y) {
      long place = y * t.row;
      for (long x = 0; x < t.width; ++x, place += t.column, dy += depthwise_lanes) {
        const V gradient = V::load(dy);
        sums.each([&](V& sum, int, int k)
                      __attribute__((always_inline)) { sum = fmadd(gradient, V::load(at[k] + place), sum); });
      }
    }
    const auto total = [&](int, int k) __attribute__((always_inline)) { return t.sums + k * depthwise_lanes + lane; };
    sums.add_to(total), sums.store(total);
  }
}

class DepthwiseGradient {
 public:
  DepthwiseGradient(const Conv2dSizes& s, void* workspace)
      : s_(s),
        plan_(depthwise_plan(s)),
        count_(plan_.taps * depthwise_lanes),
        total_(static_cast<float*>(workspace)),
        samples_(total_ + count_),
        dy_(samples_ + block_samples * count_),
        image_(dy_ + plan_.band * s.ow * depthwise_lanes) {}

  /// dw of the channels c .. c + channels - 1, at most depthwise_lanes, over all samples in the order of
  /// backend/cpu/nchw16n/layout.hpp.
  [[gnu::noinline]] void run(const float* x, const float* dy, float* dw, long c, long channels) {
    clear(total_, count_);
    for (long first = 0; first < s_.n; first += block_samples) {
      const long live = s_.n - first < block_samples ? s_.n - first : block_samples;
      clear(samples_, live * count_);
      for (long i = 0; i < live; ++i)
        add_sample(x + ((first + i) * s_.c + c) * s_.h * s_.w, dy + ((first + i) * s_.c + c) * s_.oh * s_.ow,
                   samples_ + i * count_, channels);
      for (long step = 1; step < live; step *= 2)
        for (long i = 0; i + step < live; i += 2 * step) add(samples_ + i * count_, samples_ + (i + step) * count_);
      add(total_, samples_);
    }
    for (long i = 0; i < channels; ++i)
      for (long k = 0; k < s_.taps(); ++k) dw[(c + i) * s_.taps() + k] = total_[k * depthwise_lanes + i];
  }

 private:
  void add(float* to, const float* from) const {
    for (long i = 0; i < count_; i += block_width)
      (SampleVector::load(to + i) + SampleVector::load(from + i)).store(to + i);
  }
  void add_sample(const float* x, const float* dy, float* sums, long channels) {
    for (long i0 = 0; i0 < s_.oh; i0 += plan_.band) {
      const long band = plan_.band < s_.oh - i0 ? plan_.band : s_.oh - i0;
      fill_image(x, i0 * s_.stride_h - s_.pad_top, channels);
      copy_matrix(dy + i0 * s_.ow, 1, s_.oh * s_.ow, dy_, depthwise_lanes, band * s_.ow, channels, depthwise_lanes);
      DepthwiseTile tile{
          dy_, image_, band, s_.ow, s_.stride_h * plan_.pitch * depthwise_lanes, long(s_.stride_w) * depthwise_lanes,
          {},  sums};
      for (long first = 0; first < s_.taps(); first += depthwise_taps, tile.sums += depthwise_taps * depthwise_lanes) {
        for (long k = 0; k < depthwise_taps; ++k) {  // beyond the last tap it is repeated, for nothing
          const long tap = first + k < s_.taps() ? first + k : s_.taps() - 1;
          tile.tap[k] = (tap / s_.kw * s_.dilation_h * plan_.pitch + tap % s_.kw * s_.dilation_w) * depthwise_lanes;
        }
        run_segments(tile, band);
      }
    }
  }
  // A tile of a band of dy, segment after segment.
  void run_segments(DepthwiseTile tile, long band) const {
    const long rows = plan_.segment.rows, columns = plan_.segment.columns;
    for (long y = 0; y < band; y += rows)
      for (long x = 0; x < s_.ow; x += columns) {
        tile.height = rows < band - y ? rows : band - y, tile.width = columns < s_.ow - x ? columns : s_.ow - x;
        tile.dy = dy_ + (y * s_.ow + x) * depthwise_lanes;
        tile.image = image_ + y * tile.row + x * tile.column;
        run_depthwise_tile(tile);
      }
  }
  // Rows of x from `first` on, with zeros around.
  void fill_image(const float* x, long first, long channels) {
    const long room = plan_.pitch - s_.pad_left, width = room < s_.w ? room : s_.w;
    clear(image_, plan_.image());
    for (long i = 0; i < plan_.image_rows && width > 0; ++i)
      if (const long y = first + i; y >= 0 && y < s_.h)
        copy_matrix(x + y * s_.w, 1, s_.h * s_.w, image_ + (i * plan_.pitch + s_.pad_left) * depthwise_lanes,
                    depthwise_lanes, width, channels, depthwise_lanes);
  }
  using SampleVector = Simd<float, block_width>;

  const Conv2dSizes& s_;
  const DepthwisePlan plan_;
  const long count_;
  float *total_, *samples_, *dy_, *image_;
};
}  // namespace detail

[[gnu::noinline]] TENON_INLINE void depthwise_backward_weight(const Conv2dSizes& s, const float* x, const float* dy,
                                                              float* dw, long begin, long end, void* workspace) {
  detail::DepthwiseGradient gradient(s, workspace);
  for (long c = begin; c < end; c += detail::depthwise_lanes)
    gradient.run(x, dy, dw, c, end - c < detail::depthwise_lanes ? end - c : detail::depthwise_lanes);
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
