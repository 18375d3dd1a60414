// How the gradient of a convolution for its weight is cut into blocks: which tile, and how many samples a block has.
#pragma once
#include <algorithm>
#include <climits>
#include <type_traits>
#include <utility>

#include <tenon/backend/cuda/conv/weight_3x3.hpp>
#include <tenon/backend/cuda/conv/weight_sums.hpp>
#include <tenon/backend/cuda/conv/weight_tiles.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// A plan without its chunks.
constexpr WeightPlan weight_work(const Conv2dSizes& s, int together, bool apart) {
  const PixelSegments segment = pixel_segments(s.oh, s.ow);
  return {int(s.n),
          s.groups,
          int(s.group_inputs()),
          int(s.group_outputs()),
          int(s.h),
          int(s.w),
          int(s.oh),
          int(s.ow),
          PixelAxis::of_result(int(s.oh), s.kh, s.stride_h, s.pad_top, s.dilation_h),
          PixelAxis::of_result(int(s.ow), s.kw, s.stride_w, s.pad_left, s.dilation_w),
          int(segment.rows),
          int(segment.columns),
          int(segment.side_by_side()),
          int(segment.count()),
          together,
          apart,
          1,
          1,
          1,
          1,
          1,
          false,
          false};
}

/// Plans of the tiles for any taps.
template <class Tile>
struct WeightPlanOf {
  using Blocks = WeightTiles<Tile>;
  static constexpr bool takes(const Conv2dSizes&, int) { return true; }
  static constexpr long stage_bytes(const WeightPlan& p) {
    return (p.image() + long(p.chunk_rows) * p.chunk_columns * Tile::pitch) * long(sizeof(float));
  }
  static constexpr long shared_bytes(const WeightPlan& p) {
    return long(p.waiting()) * Tile::sums * Tile::threads * long(sizeof(float)) + 2 * stage_bytes(p) +
           p.part().size * long(sizeof(int));
  }
  /// A chunk has as many of `most_pixels` as a stage has room for: whole rows, or a part of one.
  static constexpr WeightPlan plan(const Conv2dSizes& s, int together, bool apart, long most_pixels) {
    constexpr long most_stage_bytes = 20 << 10;
    WeightPlan p = weight_work(s, together, apart);
    p.channels = std::min((Tile::columns + p.taps() - 2) / p.taps() + 1, p.inputs);
    for (long pixels = most_pixels; pixels >= 4; pixels /= 2) {
      p.chunk_columns = int(s.ow <= pixels ? s.ow : even_piece(p.segment_columns, pixels));
      p.chunk_rows = int(s.ow <= pixels ? even_piece(p.segment_rows, pixels / s.ow) : 1);
      p.size = p.part().size | 1;  // channels are in other banks
      if (stage_bytes(p) <= most_stage_bytes) break;
    }
    return p;
  }
};
template <int Stride, int Resident, bool Pairs>
struct WeightPlanOf<Weight3x3Tile<Stride, Resident, Pairs>> {
  using Tile = Weight3x3Tile<Stride, Resident, Pairs>;
  using Blocks = Weight3x3Tiles<Tile>;
  static constexpr long shared_bytes(const WeightPlan& p) { return Blocks::shared_bytes(p); }
  static constexpr bool takes(const Conv2dSizes& s, int together) {
    return s.kh == 3 && s.kw == 3 && s.stride_h == Stride && s.stride_w == Stride && s.dilation_h == 1 &&
           s.dilation_w == 1 && (!Pairs || (together > 1 && !pixel_segments(s.oh, s.ow).several()));
  }
  /// A chunk of whole rows, of a part of one, or of some samples of few pixels.
  static constexpr WeightPlan plan(const Conv2dSizes& s, int together, bool apart, long pixels) {
    constexpr int run = detail::ChunkLines::run;
    WeightPlan p = weight_work(s, together, apart);
    if (s.ow <= pixels) p.chunk_columns = int(s.ow), p.chunk_rows = int(even_piece(p.segment_rows, pixels / s.ow));
    else p.chunk_columns = int((even_piece(p.segment_columns, pixels) + run - 1) / run * run);
    while (!apart && p.chunk_samples < together && 2 * p.chunk_samples * s.oh * s.ow <= pixels) p.chunk_samples *= 2;
    const bool begins_at_fours = p.across == 1 || p.segment_columns % run == 0;
    p.image_quads = s.w % run == 0 && s.pad_left % run == 1 && begins_at_fours;
    p.gradient_quads = s.ow % run == 0 && begins_at_fours;
    return p;
  }
};
/// The pixels of a chunk that are tried.
inline constexpr long most_chunk_pixels = 64, least_chunk_pixels = 16;
template <class Tile>
constexpr WeightPlan weight_plan(const Conv2dSizes& s, int together, bool apart, long pixels = most_chunk_pixels) {
  return WeightPlanOf<Tile>::plan(s, together, apart, pixels);
}
template <class Tile>
constexpr long weight_shared_bytes(const WeightPlan& p) {
  return WeightPlanOf<Tile>::shared_bytes(p);
}
template <class Tile>
constexpr long weight_blocks(const WeightPlan& p) {
  return blocks_for(p.outputs, Tile::outputs) * blocks_for(p.columns(), Tile::columns) * p.groups * p.slots();
}

/// What the time of a plan is computed from, fitted to measured times of an H200 by benchmarks/cuda/refit.cpp.
struct WeightCosts {
  int limit, half;  // percent of 128 products per cycle with very many blocks; hundredths of a block that halve it
  int join, chunk, begin;  // steps that a sample's or a segment's end, a chunk, and a block's begin cost
};
template <class Tile>
inline constexpr WeightCosts weight_costs{92, 72, 3, 8, 36};
template <>
inline constexpr WeightCosts weight_costs<WideWeightTile>{142, 171, 5, 33, 44};
template <>
inline constexpr WeightCosts weight_costs<NarrowWeightTile>{117, 229, 1, 74, 65};

/// The time of a plan in cycles of a multiprocessor.
template <class Tile>
constexpr long weight_cost(const WeightPlan& p, const WeightCosts& costs = weight_costs<Tile>) {
  constexpr long memory_of_multiprocessor = 228 << 10, reserved = 1 << 10, bytes_per_cycle = 15, launch_cycles = 6000;
  const long segments = p.segments(), pixels = long(p.height) * p.width,
             of_chunk = long(p.chunk_rows) * p.chunk_columns * p.chunk_samples,
             steps = p.apart ? pixels / segments + 1 : p.together * (pixels + costs.join * segments),
             work = (steps + steps * costs.chunk / of_chunk + costs.begin) * Tile::sums * Tile::threads / 128,
             rounds = ceil_div(weight_blocks<Tile>(p), multiprocessors),
             fit = std::max(1l, memory_of_multiprocessor / (weight_shared_bytes<Tile>(p) + reserved)),
             at_once = std::max(1l, std::min({rounds, long(Tile::resident), fit}));  // an empty batch has no blocks
  return rounds * work * (100 * at_once + costs.half) / at_once / costs.limit + launch_cycles +
         (p.slots() + 1) * p.count() * long(sizeof(float)) / (multiprocessors * bytes_per_cycle);
}

template <class Tile>
void launch_weight_tiles(const Arguments& a, WeightPlan plan) {
  plan.image_quads = plan.image_quads && has_fours(a.operand<float>(0));
  plan.gradient_quads = plan.gradient_quads && has_fours(a.operand<float>(1));
  launch_blocks(typename WeightPlanOf<Tile>::Blocks{plan}, a, weight_blocks<Tile>(plan),
                int(weight_shared_bytes<Tile>(plan)));
}
inline void launch_weight_sums(const Arguments& a, int samples, int together, int segments, long count) {
  const WeightSums sums{samples, together, segments, count};
  launch_blocks(sums, a, sums.blocks());
}

/// The tiles of a convolution of one sample's sizes `s`: those for 3 x 3, or those for any taps.
template <class... Tiles>
struct WeightWays {
  static constexpr int ways = int(sizeof...(Tiles));
  /// The cheapest plan, and its tile.
  static constexpr std::pair<WeightPlan, int> choice(const Conv2dSizes& s) {
    WeightPlan best{};
    long cost = LONG_MAX;
    int way = -1, index = 0;
    const auto compare = [&]<class Tile>(std::type_identity<Tile>) {
      const int now = index++;
      const auto with = [&](int together, bool apart) {
        if (!WeightPlanOf<Tile>::takes(s, together)) return;
        for (long pixels = most_chunk_pixels; pixels >= least_chunk_pixels; pixels /= 2) {
          const WeightPlan plan = weight_plan<Tile>(s, together, apart, pixels);
          if (weight_shared_bytes<Tile>(plan) > most_shared_bytes) continue;
          const long own = weight_cost<Tile>(plan);
          if (own < cost) cost = own, best = plan, way = now;
        }
      };
      if (pixel_segments(s.oh, s.ow).several()) with(1, true);
      for (int together = 1; together <= block_samples; together *= 2) with(together, false);
    };
    (compare(std::type_identity<Tiles>()), ...);
    return {best, way};
  }
  static void run(const Arguments& a, const Conv2dSizes& s) {
    const auto [plan, way] = choice(s);
    int index = 0;
    ((index++ == way ? launch_weight_tiles<Tiles>(a, plan) : void()), ...);
    launch_weight_sums(a, plan.samples, plan.together, plan.apart ? plan.segments() : 1, plan.count());
  }
};
/// Which tiles a program has for a convolution, of any number of samples. What it never takes is not compiled into it.
enum class WeightTileSet {
  any_taps,
  narrow,  // of `any_taps` the narrow one alone, which is the cheaper one wherever its outputs are enough
  of_3x3,
  of_3x3_stride_2,
};
constexpr WeightTileSet weight_tile_set(const Conv2dSizes& s) {
  const bool is_3x3 = s.kh == 3 && s.kw == 3 && s.dilation_h == 1 && s.dilation_w == 1;
  if (is_3x3 && s.stride_h == s.stride_w && s.stride_h <= 2)
    return s.stride_h == 1 ? WeightTileSet::of_3x3 : WeightTileSet::of_3x3_stride_2;
  return s.group_outputs() <= NarrowWeightTile::outputs ? WeightTileSet::narrow : WeightTileSet::any_taps;
}
template <WeightTileSet tiles>
struct WeightWaysOf : WeightWays<WideWeightTile, NarrowWeightTile> {};
template <>
struct WeightWaysOf<WeightTileSet::narrow> : WeightWays<NarrowWeightTile> {};
template <>
struct WeightWaysOf<WeightTileSet::of_3x3>
    : WeightWays<Weight3x3Tile<1, 4, false>, Weight3x3Tile<1, 2, true>, NarrowWeightTile> {};
template <>
struct WeightWaysOf<WeightTileSet::of_3x3_stride_2>
    : WeightWays<Weight3x3Tile<2, 4, false>, Weight3x3Tile<2, 2, true>, NarrowWeightTile> {};

/// Whether the gradient is computed in tiles: where a group has channels enough, and places are ints, of which row and
/// column in the image of a chunk are halves.
constexpr bool weight_in_tiles(const Conv2dSizes& s) {
  constexpr long least_channels = 16, most_places = 1l << 31, most_width = 1l << 15;
  const auto of_chunk = [](long pixels, int stride, int kernel, int dilation) {
    return std::min(pixels, most_chunk_pixels) * stride + long(kernel - 1) * dilation;
  };
  return (s.groups == 1 || s.group_outputs() >= least_channels) && s.oh > 0 && s.ow > 0 &&
         s.c * s.h * s.w < most_places && s.o * s.oh * s.ow < most_places &&
         s.o * s.group_inputs() * s.taps() < most_places && s.w < most_width &&
         of_chunk(s.oh, s.stride_h, s.kh, s.dilation_h) < most_width &&
         of_chunk(s.ow, s.stride_w, s.kw, s.dilation_w) < most_width &&
         weight_shared_bytes<NarrowWeightTile>(weight_plan<NarrowWeightTile>(s, 1, false)) <= most_shared_bytes;
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
