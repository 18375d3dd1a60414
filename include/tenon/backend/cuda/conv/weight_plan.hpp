// How the gradient of a convolution for its weight is cut into blocks: which tile, and how many samples a block has.
#pragma once
#include <algorithm>

#include <tenon/backend/cuda/conv/weight_tiles.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

template <class Tile>
constexpr long weight_stage_bytes(const WeightPlan& p) {
  return (p.image() + long(p.chunk_rows) * p.chunk_columns * Tile::pitch) * long(sizeof(float));
}
template <class Tile>
constexpr long weight_shared_bytes(const WeightPlan& p) {
  return long(p.waiting()) * Tile::sums * Tile::threads * long(sizeof(float)) + 2 * weight_stage_bytes<Tile>(p) +
         p.part().size * long(sizeof(int));
}
template <class Tile>
constexpr long weight_blocks(const WeightPlan& p) {
  return blocks_for(p.outputs, Tile::outputs) * blocks_for(p.columns(), Tile::columns) * p.groups * p.slots();
}

/// The plan by a tile. A chunk has as many pixels as a stage has room for: whole rows, or a part of one.
template <class Tile>
constexpr WeightPlan weight_plan(const Conv2dSizes& s, int together, bool apart) {
  constexpr long stage_bytes = 20 << 10, most_pixels = 64;
  WeightPlan p{int(s.n),
               s.groups,
               int(s.group_inputs()),
               int(s.group_outputs()),
               int(s.h),
               int(s.w),
               int(s.oh),
               int(s.ow),
               PixelAxis::of_result(int(s.oh), s.kh, s.stride_h, s.pad_top, s.dilation_h),
               PixelAxis::of_result(int(s.ow), s.kw, s.stride_w, s.pad_left, s.dilation_w),
               pixel_segments(s.oh, s.ow),
               together,
               apart,
               1,
               1,
               1,
               1};
  const int spanned = Tile::side > 0 ? Tile::columns / p.taps() : (Tile::columns + p.taps() - 2) / p.taps() + 1;
  p.channels = Tile::side > 0 || spanned < p.inputs ? spanned : p.inputs;
  for (long pixels = most_pixels; pixels >= 4; pixels /= 2) {
    p.chunk_columns = int(s.ow <= pixels ? s.ow : even_piece(p.segment.columns, pixels));
    p.chunk_rows = int(s.ow <= pixels ? even_piece(p.segment.rows, pixels / s.ow) : 1);
    // Channels are in other banks: four neighbours of each are read at once, or one.
    const int size = p.part().size;
    p.size = Tile::side > 0 ? (size / 4 | 1) * 4 : size | 1;
    if (weight_stage_bytes<Tile>(p) <= stage_bytes) break;
  }
  return p;
}

/// The time of a plan in cycles of a multiprocessor, as conv_cost().
template <class Tile>
constexpr long weight_cost(const WeightPlan& p) {
  constexpr bool is_narrow = Tile::sums <= 16, is_3x3 = Tile::side > 0;
  constexpr long limit = is_narrow ? 50 : is_3x3 ? 80 : 72, half = is_narrow ? 120 : is_3x3 ? 45 : 65;
  constexpr long memory_of_multiprocessor = 220 << 10, bytes_per_cycle = 15, join_cycles = 4000, steps_of_join = 3;
  const long segments = p.segments(), pixels = long(p.height) * p.width,
             steps = p.apart ? pixels / segments + 1 : p.together * (pixels + steps_of_join * segments),
             work = steps * Tile::sums * Tile::threads / 128,
             rounds = ceil_div(weight_blocks<Tile>(p), multiprocessors),
             fit = std::max(1l, memory_of_multiprocessor / weight_shared_bytes<Tile>(p)),
             at_once = std::min({rounds, long(Tile::resident), fit});
  return rounds * work * (100 * at_once + half) / at_once / limit + join_cycles +
         (2 * p.slots() + 1) * p.count() * long(sizeof(float)) / (multiprocessors * bytes_per_cycle);
}

/// The cheapest plan.
struct WeightChoice {
  enum Way { taps_3x3, wide, narrow };
  WeightPlan plan;
  Way way;

  static constexpr bool has_3x3(const Conv2dSizes& s) {
    return s.kh == 3 && s.kw == 3 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1;
  }
  static constexpr WeightChoice of(const Conv2dSizes& s) {
    WeightChoice best{weight_plan<NarrowWeightTile>(s, 1, false), narrow};
    long cost = weight_cost<NarrowWeightTile>(best.plan);
    const auto compare = [&]<class Tile>(Tile, Way way) {
      const auto with = [&](int together, bool apart) {
        const WeightPlan plan = weight_plan<Tile>(s, together, apart);
        if (weight_shared_bytes<Tile>(plan) > most_shared_bytes) return;
        const long own = weight_cost<Tile>(plan);
        if (own < cost) cost = own, best = {plan, way};
      };
      with(1, true);
      for (int together = 1; together <= block_samples; together *= 2) with(together, false);
    };
    compare(NarrowWeightTile(), narrow);
    if (has_3x3(s)) compare(Weight3x3Tile(), taps_3x3);
    else compare(WideWeightTile(), wide);
    return best;
  }
};

/// Whether the gradient is computed in tiles: where a group has channels enough, and places are ints.
constexpr bool weight_in_tiles(const Conv2dSizes& s) {
  constexpr long least_channels = 16, most_places = 1l << 31, most_width = 1l << 15;
  return (s.groups == 1 || s.group_outputs() >= least_channels) && s.oh > 0 && s.ow > 0 &&
         s.c * s.h * s.w < most_places && s.o * s.oh * s.ow < most_places &&
         s.o * s.group_inputs() * s.taps() < most_places && s.w < most_width &&
         weight_shared_bytes<NarrowWeightTile>(weight_plan<NarrowWeightTile>(s, 1, false)) <= most_shared_bytes;
}

template <class Tile>
void launch_weight_tiles(const Arguments& a, const WeightPlan& plan) {
  launch_blocks(WeightTiles<Tile>{plan}, a, weight_blocks<Tile>(plan), int(weight_shared_bytes<Tile>(plan)));
}
inline void launch_weight_sums(const Arguments& a, int samples, int together, int segments, long count) {
  launch_blocks(WeightSums{samples, together, segments, count}, a, blocks_for(count, WeightSums::threads));
}
/// The gradient for s.n samples in tiles.
inline void run_weight_tiles(const Arguments& a, const Conv2dSizes& s) {
  const auto [plan, way] = WeightChoice::of(s);
  if (way == WeightChoice::taps_3x3) launch_weight_tiles<Weight3x3Tile>(a, plan);
  else if (way == WeightChoice::wide) launch_weight_tiles<WideWeightTile>(a, plan);
  else launch_weight_tiles<NarrowWeightTile>(a, plan);
  launch_weight_sums(a, plan.samples, plan.together, plan.apart ? plan.segments() : 1, plan.count());
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
