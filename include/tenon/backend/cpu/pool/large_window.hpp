// Averages of large windows, in both layouts, in the order of the sums of rows (backend/order.hpp).
#pragma once
#include <tenon/backend/cpu/nchw16n/layout.hpp>
#include <tenon/backend/cpu/pool/window.hpp>
#include <tenon/backend/cpu/reduce/runs.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {

/// The runs of a window: its rows, or a single one where it is as wide as its plane.
struct WindowRuns {
  long runs, length;
};
constexpr WindowRuns runs_of(const Pool2dSizes& s, const PoolWindow& at) {
  const long rows = at.bottom - at.top, columns = at.right - at.left;
  return columns == s.w ? WindowRuns{1, rows * columns} : WindowRuns{rows, columns};
}

template <class T>
[[gnu::noinline]] void average_large_windows(const Pool2dSizes& s, const T* x, T* y, bool count_include_pad, long begin,
                                             long end) {
  using A = PoolValue<T>;
  const T* const limit = x + end * s.h * s.w;
  for (long plane = begin; plane < end; ++plane)
    for (long i = 0; i < s.oh; ++i)
      for (long j = 0; j < s.ow; ++j) {
        const PoolWindow at = window(s, i, j);
        const WindowRuns runs = runs_of(s, at);
        const A sum = reduce_runs<A>(
            x + (plane * s.h + at.top) * s.w + at.left, runs.runs, runs.length, [w = s.w](long r) { return r * w; },
            A(0), LongPlus{}, limit);
        y[(plane * s.oh + i) * s.ow + j] = static_cast<T>(sum / static_cast<A>(divisor(s, at, count_include_pad)));
      }
}

// Vectors of samples that are added up in registers, of neighbouring lanes of a sum.
inline constexpr int window_lanes = simd_bytes == 64 ? reduce_lanes : reduce_lanes / 2;

// The sums of the lanes first .. first + window_lanes - 1 of the order of reduce_runs, a vector of samples each: of
// runs of pixels, `row` elements apart. is_long: there may be several chains.
[[gnu::noinline]] inline void add_window_lanes(const float* x, const WindowRuns& of, long row, int first, bool is_long,
                                               float* to) {
  using V = Simd<float, block_width>;
  constexpr int count = window_lanes * block_width;
  alignas(64) float chain[count];
  SumTree<float, count> tree;
  V sum[window_lanes];
  const auto begin = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int l = 0; l < window_lanes; ++l) sum[l] = V(0.0f);
  };
  const auto store = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int l = 0; l < window_lanes; ++l) sum[l].store(chain + l * block_width);
  };
  begin();
  long rows = 0;
  for (long r = 0; r < of.runs; ++r, x += row) {
    const float* at = x + first * block_samples;
    for (long left = of.length - first; left > -first; left -= reduce_lanes, at += reduce_lanes * block_samples) {
      if (left >= window_lanes) {
#pragma GCC unroll 16
        for (int l = 0; l < window_lanes; ++l) sum[l] = sum[l] + V::load(at + l * block_samples);
      } else {
#pragma GCC unroll 16
        for (int l = 0; l < window_lanes; ++l) sum[l] = sum[l] + (l < left ? V::load(at + l * block_samples) : V(0.0f));
      }
      if (!is_long || ++rows % lane_chain > 0) continue;
      store(), tree.add(chain), begin();
    }
  }
  store();
  if (is_long) tree.finish(chain);
  for (int l = 0; l < window_lanes; ++l) V::load(chain + l * block_width).store(to + l * block_samples);
}

// The sums of a window for the 16 samples of a block, in the order of reduce_runs.
[[gnu::noinline]] inline void add_window(const float* x, const WindowRuns& of, long row, float* sum) {
  using V = Simd<float, block_width>;
  constexpr int all = reduce_lanes * block_samples;
  alignas(64) float lane[all];
  const bool one = of.length == 1, is_long = one || of.runs * ceil_div(of.length, reduce_lanes) > lane_chain;
  for (int v = 0; v < block_samples; v += block_width)
    for (int first = 0; first < (one ? 1 : reduce_lanes); first += window_lanes)
      add_window_lanes(x + v, of, row, first, is_long, lane + first * block_samples + v);
  for (int half = one ? 0 : all / 2; half >= block_samples; half /= 2)
    for (int k = 0; k < half; k += block_width) (V::load(lane + k) + V::load(lane + half + k)).store(lane + k);
  for (int k = 0; k < block_samples; k += block_width) V::load(lane + k).store(sum + k);
}

}  // namespace detail
}  // namespace tenon::kernel
TENON_EXACT_END
