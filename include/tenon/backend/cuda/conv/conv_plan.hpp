// How a convolution is cut into blocks of tiles: which tile, and how many blocks share the segments of one.
#pragma once
#include <algorithm>
#include <climits>

#include <tenon/backend/cuda/conv/conv_tiles.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

namespace detail {
struct PlannedTile {
  int runs, channels, pitch;
  long stage_bytes, large_stage_bytes;
};
[[gnu::noinline]] constexpr ConvPlan plan_by(const PlannedTile& tile, const ConvSides& s, long n, int parts,
                                             bool turns) {
  constexpr int most_planes = 32;
  const ImageTile pixels = ImageTile::of(s, n, tile.runs);
  ConvPlan plan{s, pixels, s.rows(0), s.columns(0), 0, 0, 0, 0, int(n), 1, parts, 0, 0, false, turns};
  plan.columns = int(ceil_div(plan.x.count, ImageTile::run * pixels.across));
  plan.rows = int(ceil_div(plan.y.count, pixels.rows));
  plan.stacks = int(ceil_div(n, pixels.samples));
  plan.channels = int(ceil_div(s.results, tile.channels));
  for (int h = 0; h < s.phases_h(); ++h)
    for (int w = 0; w < s.phases_w(); ++w) {
      const PixelAxis y = s.rows(h), x = s.columns(w);
      const ImagePart part = ImagePart::of(s, plan.tile, y, x);
      if (part.size > plan.size) plan.size = part.size;
      const int taps = s.side() > 1 ? s.kernel_taps() : y.taps * x.taps;
      if (taps > plan.taps) plan.taps = taps;
    }
  const int place = plan.x.lowest() - s.unused();
  plan.quads = s.side() > 0 && plan.x.step == 1 && s.image_w % ImageTile::run == 0 && place % ImageTile::run == 0;
  const long most = std::min(most_planes, s.planes),
             stage_bytes = plan.blocks() > 2 * multiprocessors ? tile.stage_bytes : tile.large_stage_bytes,
             room = stage_bytes / ((plan.size + plan.taps * tile.pitch) * long(sizeof(float)));
  plan.planes = int(room < 1 ? 1 : room < most ? room : most);
  return plan;
}
}  // namespace detail
/// The plan of a convolution of n samples by a tile. As many planes at a time as a stage has room for, at least one.
template <class Tile>
constexpr ConvPlan conv_plan(const ConvSides& s, long n, int parts, bool turns) {
  return detail::plan_by({Tile::runs, Tile::channels, Tile::pitch, Tile::stage_bytes, Tile::large_stage_bytes}, s, n,
                         parts, turns);
}
template <class Tile>
constexpr long conv_shared_bytes(const ConvPlan& p) {
  const long stage = p.planes * (p.size + long(p.taps) * Tile::pitch);
  return (Tile::sums * Tile::threads + 2 * stage + p.size + (p.planes + 1) * p.taps + 1) * long(sizeof(float)) +
         detail::conv_place_bytes;
}

/// The time of a plan in cycles of a multiprocessor, roughly. It adds 128 products per cycle, of which more are reached
/// if it has several blocks at a time; the sums of several parts cross memory twice.
template <class Tile>
constexpr long conv_cost(const ConvPlan& p) {
  // percent of 128 with very many blocks; hundredths of a block that halve it
  constexpr long limit = Tile::wide ? 84 : 62, half = Tile::wide ? 65 : 120;
  constexpr long bytes_per_cycle = 15, join_cycles = 4000, turned_percent = 107;  // of the speed with other weights
  constexpr long memory_of_multiprocessor = 228 << 10, reserved = 1 << 10;
  const ConvSides& s = p.sides;
  const long phases = s.input_gradient ? s.stride_h * s.stride_w : 1, rounds = ceil_div(p.blocks(), multiprocessors),
             fit = memory_of_multiprocessor / (conv_shared_bytes<Tile>(p) + reserved),
             at_once = std::max(1l, std::min({rounds, long(Tile::resident), fit}));
  const long work = long(s.planes) * s.kernel_h * s.kernel_w / phases * Tile::sums,  // of a thread for a tile
      longest = work * (p.first_segment(1) - p.first_segment(0)) / s.segments(),
             shared = rounds * work / p.parts * (100 * at_once + half) / at_once / limit * 100 /
                      (p.turns ? turned_percent : 100),
             turning =
                 p.turns ? join_cycles + 2 * p.turned() * long(sizeof(float)) / (multiprocessors * bytes_per_cycle) : 0;
  const long joining = p.parts > 1 ? join_cycles + (2 * p.slots() + 1) * p.samples * s.result() * long(sizeof(float)) /
                                                       (multiprocessors * bytes_per_cycle)
                                   : 0;
  return std::max(longest, shared) + joining + turning;
}

/// Whether a wide tile may be the cheapest: with fewer results half of it would be empty, and a narrow one is cheaper.
constexpr bool may_be_wide(const ConvSides& s) { return s.results > NarrowConvTile::channels; }

/// The cheapest plan.
struct ConvChoice {
  ConvPlan plan;
  bool wide;

  static constexpr ConvChoice of(const ConvSides& s, long n) {
    constexpr int most_parts = 16;
    ConvChoice best{};
    long cost = LONG_MAX;
    const auto compare = [&]<class Tile>(Tile) {
      for (int parts = 1; parts <= most_parts && parts <= s.segments(); ++parts)
        for (const bool turns : {false, true}) {
          const ConvPlan plan = conv_plan<Tile>(s, n, parts, turns);
          if (conv_shared_bytes<Tile>(plan) > most_shared_bytes) return;
          const long own = conv_cost<Tile>(plan);
          if (own < cost) cost = own, best = {plan, Tile::wide};
        }
    };
    const bool wide = may_be_wide(s);
    if (s.is_fourfold()) {
      compare(NarrowFourfoldTile());
      if (wide) compare(WideFourfoldTile());
    } else {
      compare(NarrowConvTile());
      if (wide) compare(WideConvTile());
    }
    return best;
  }
};

/// Whether a convolution is computed in tiles: where they have channels enough, and chains are long.
constexpr bool pays_in_tiles(const ConvSides& s) {
  constexpr long least_channels = 16, least_steps = 24, few_channels = 4, many_steps = 256;
  const long steps = long(s.planes) * s.kernel_h * s.kernel_w / (s.input_gradient ? s.stride_h * s.stride_w : 1);
  return (s.results >= least_channels && steps >= least_steps) || (s.results >= few_channels && steps > many_steps);
}
/// Whether tiles fit into shared memory, and places are ints.
constexpr bool fits_in_tiles(const ConvSides& s) {
  constexpr long most_places = 1l << 31, many = 1024;
  const auto fits = [&](long n) {
    const auto with = [&]<class Tile>(Tile) {
      return conv_shared_bytes<Tile>(conv_plan<Tile>(s, n, 1, false)) <= most_shared_bytes;
    };
    return s.is_fourfold() ? with(NarrowFourfoldTile()) : with(NarrowConvTile());
  };
  return fits(1) && fits(many) && s.image() * WideConvTile::runs < most_places &&
         s.planes * s.plane_step() < most_places && s.result_step() * WideConvTile::channels < most_places;
}

/// Convolutions of the sizes of a Call in tiles.
template <class Steps>
struct ConvInTiles {
  /// Floats of the workspace.
  static constexpr long floats(const ConvSides& s, long n) {
    const ConvPlan plan = ConvChoice::of(s, n).plan;
    return plan.turned() + plan.slots() * n * s.result();
  }
  /// `wide`: may_be_wide(s).
  template <class Taps, bool wide>
  static void run(const Arguments& a, const ConvSides& s, long n) {
    const ConvChoice choice = ConvChoice::of(s, n);
    using Wide = std::conditional_t<Taps::fourfold, WideFourfoldTile, WideConvTile>;
    using Narrow = std::conditional_t<Taps::fourfold, NarrowFourfoldTile, NarrowConvTile>;
    if constexpr (wide)
      if (choice.wide) return run_plan<Taps, Wide>(a, choice.plan);
    run_plan<Taps, Narrow>(a, choice.plan);
  }
  static void turn_weights(const Arguments& a, const ConvPlan& plan) {
    const ConvSides& s = plan.sides;
    const int lines = s.planes * s.kernel_taps();
    const int down = int(blocks_for(plan.line(), TurnedWeights::side));
    launch_blocks(TurnedWeights{s.input_gradient ? 0 : 1, s.results, s.kernel_taps(), plan.line(), down, lines,
                                int(s.result_step()), int(s.plane_step())},
                  a, blocks_for(lines, TurnedWeights::side) * down * s.groups);
  }
  template <class Taps, class Tile>
  static void run_plan(const Arguments& a, ConvPlan plan) {
    plan.quads = plan.quads && has_fours(a.operand<float>(plan.sides.input_gradient ? 1 : 0));
    if (plan.turns) turn_weights(a, plan);
    launch_blocks(ConvTiles<Taps, Tile, Steps>{plan}, a, plan.blocks(), int(conv_shared_bytes<Tile>(plan)));
    if (plan.parts == 1) return;
    const ConvSides& s = plan.sides;
    const long count = plan.samples * s.result();
    const JoinedSegments<Steps> join{plan.slots(), s.groups * s.results, s.result_h * s.result_w, count, plan.turned()};
    launch_blocks(join, a, blocks_for(count, join.threads));
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
