// The inner loops of the gradient for the weight of NCHW16n images: a tile of output channels and taps, or planes.
#pragma once
#include <utility>

#include <tenon/backend/cpu/conv/weight_gradient_plan.hpp>
#include <tenon/backend/cpu/nchw16n/layout.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {
namespace detail {
// A pixel of dy and the place in the image that is multiplied with it, from the first ones on.
struct WeightPixel {
  std::int32_t dy, image;
};
// One tile: to[i * taps + k] = for each sample of a block the chain over pixels of dy(channel i) * image(tap k).
struct Nchw16nWeightTile {
  const float* dy;
  long dy_plane;
  const float* image;
  long tap[nchw16n_weight_taps];
  const WeightPixel *pixels, *end;
  bool begun;         // the chains continue from the values at `from`
  bool added;         // they are added to the values at `to`
  const float* from;  // as lanes
  float* to;
  long computed;  // of the lanes of a block
};

// The chains of some lanes continue over the pixels [at, end): from +0, or from what stands at `from` if they have
// begun. They are stored to `to`, or added to what stands there.
template <int Rows, int Taps>
[[gnu::always_inline]] inline void run_weight_chains(const Nchw16nWeightTile& t, int lane, const WeightPixel* at,
                                                     const WeightPixel* end, bool begun, bool added, const float* from,
                                                     float* to) {
  using V = Simd<float, block_width>;
  RegisterTile<V, Rows, Taps> sums;
  const auto lanes_of = [=](auto* first) {
    return [=](int i, int k) __attribute__((always_inline)) { return first + (i * Taps + k) * block_samples + lane; };
  };
  if (begun) sums.load(lanes_of(from));
  else sums.begin();
  const float *const first_dy = t.dy + lane, *const first_image = t.image + lane;
  const long dy_plane = t.dy_plane;
  for (; at != end; ++at) {
    const float *const dy = first_dy + at->dy, *const image = first_image + at->image;
    sums.multiply([=](int i) __attribute__((always_inline)) { return V::load(dy + i * dy_plane); },
                  [&](int k) __attribute__((always_inline)) { return V::load(image + t.tap[k]); });
  }
  if (added) sums.add_to(lanes_of(to));
  sums.store(lanes_of(to));
}
// Lists of many pixels are cut, where a block has several vectors: the lines that the first one brought into the cache
// are still there for the others.
template <int Rows, int Taps>
[[gnu::noinline]] void run_nchw16n_weight_tile(const Nchw16nWeightTile& t) {
  if constexpr (block_vectors == 1) {
    run_weight_chains<Rows, Taps>(t, 0, t.pixels, t.end, t.begun, t.added, t.from, t.to);
    return;
  }
  alignas(64) float chains[Rows * Taps * block_samples];  // until the end of the list
  bool begun = t.begun;
  const float* from = t.from;
  const long pass = weight_pass(t.end - t.pixels);
  for (const WeightPixel *at = t.pixels, *stop;; at = stop) {
    const bool last = t.end - at <= pass;
    stop = last ? t.end : at + pass;
    float* const to = last ? t.to : chains;
    for (int lane = 0; lane < t.computed; lane += block_width)
      run_weight_chains<Rows, Taps>(t, lane, at, stop, begun, last && t.added, from, to);
    if (last) return;
    begun = true, from = chains;
  }
}

using Nchw16nWeightKernel = void (*)(const Nchw16nWeightTile&);
// One tap, or all of a tile; 1 .. nchw16n_weight_rows rows.
template <int Taps, long channels, int... Row>
constexpr void fill_nchw16n_weight_tiles(Nchw16nWeightKernel (&kernel)[nchw16n_weight_rows],
                                         std::integer_sequence<int, Row...>) {
  const auto fill = [&]<int row>(std::integral_constant<int, row>) {
    if constexpr (is_cut_into(channels, nchw16n_weight_rows, row + 1))
      kernel[row] = &run_nchw16n_weight_tile<row + 1, Taps>;
  };
  (fill(std::integral_constant<int, Row>()), ...);
}
}  // namespace detail

struct Nchw16nWeightTiles {
  detail::Nchw16nWeightKernel one[detail::nchw16n_weight_rows]{}, several[detail::nchw16n_weight_rows]{};

  detail::Nchw16nWeightKernel kernel(long taps, long rows) const { return (taps == 1 ? one : several)[rows - 1]; }
};

namespace detail {
template <long channels, bool any_alone>
inline constexpr Nchw16nWeightTiles weight_tiles_of_channels = [] {
  Nchw16nWeightTiles tiles;
  constexpr std::make_integer_sequence<int, nchw16n_weight_rows> rows;
  if constexpr (any_alone) fill_nchw16n_weight_tiles<1, channels>(tiles.one, rows);
  fill_nchw16n_weight_tiles<nchw16n_weight_taps, channels>(tiles.several, rows);
  return tiles;
}();
}  // namespace detail
template <long channels, bool any_alone>
const Nchw16nWeightTiles& nchw16n_weight_tiles() {
  return detail::weight_tiles_of_channels<channels, any_alone>;
}

}  // namespace tenon::kernel
TENON_EXACT_END
