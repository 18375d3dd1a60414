// How a convolution is cut into blocks of tiles: which tile, and how many blocks share the segments of one.
#pragma once
#include <tenon/backend/cuda/conv/conv_tiles.hpp>
#include <tenon/backend/cuda/gemm/tiles.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// The plan of a convolution of n samples by a tile. As many planes at a time as a stage has room for, at least one.
template <class Tile>
constexpr ConvPlan conv_plan(const ConvSides& s, long n, int parts) {
  constexpr int most_planes = 32;
  ConvPlan plan{s, ImageTile::of(s, n, Tile::runs), int(n), 1, parts, 0, 0};
  for (int h = 0; h < s.phases_h(); ++h)
    for (int w = 0; w < s.phases_w(); ++w) {
      const PixelAxis y = s.rows(h), x = s.columns(w);
      const ImagePart part(plan.tile, y, x);
      if (part.size > plan.size) plan.size = part.size;
      if (y.taps * x.taps > plan.taps) plan.taps = y.taps * x.taps;
    }
  const long most = std::min(most_planes, s.planes),
             room = Tile::stage_bytes / ((plan.size + plan.taps * Tile::pitch) * long(sizeof(float)));
  plan.planes = int(room < 1 ? 1 : room < most ? room : most);
  return plan;
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
  constexpr long limit = Tile::thread_runs > 1 ? 84 : 62, half = Tile::thread_runs > 1 ? 65 : 120;
  constexpr long bytes_per_cycle = 15, join_cycles = 4000;
  const ConvSides& s = p.sides;
  const long phases = s.phases_h() * s.phases_w(), rounds = ceil_div(p.blocks(Tile::channels), multiprocessors),
             at_once = rounds < Tile::resident ? rounds : Tile::resident;
  const long work = long(s.planes) * s.kernel_h * s.kernel_w / phases * Tile::sums,  // of a thread for a tile
      longest = work * (p.first_segment(1) - p.first_segment(0)) / s.segments(),
             shared = rounds * work / p.parts * (100 * at_once + half) / at_once / limit;
  const long joining = p.parts > 1 ? join_cycles + (2 * p.slots() + 1) * p.samples * s.result() * long(sizeof(float)) /
                                                       (multiprocessors * bytes_per_cycle)
                                   : 0;
  return std::max(longest, shared) + joining;
}

/// The cheapest plan.
struct ConvChoice {
  ConvPlan plan;
  bool wide;

  static constexpr ConvChoice of(const ConvSides& s, long n) {
    constexpr int most_parts = 16;
    ConvChoice best{conv_plan<NarrowConvTile>(s, n, 1), false};
    long cost = conv_cost<NarrowConvTile>(best.plan);
    const auto compare = [&]<class Tile>(Tile) {
      for (int parts = 1; parts <= most_parts && parts <= s.segments(); ++parts) {
        const ConvPlan plan = conv_plan<Tile>(s, n, parts);
        if (conv_shared_bytes<Tile>(plan) > most_shared_bytes) return;
        const long own = conv_cost<Tile>(plan);
        if (own < cost) cost = own, best = {plan, Tile::thread_runs > 1};
      }
    };
    compare(NarrowConvTile());
    compare(WideConvTile());
    return best;
  }
};

/// Whether a convolution is computed in tiles: where they have channels enough, and chains are long.
constexpr bool pays_in_tiles(const ConvSides& s) {
  constexpr long least_channels = 16, least_steps = 24, few_channels = 4, many_steps = 256;
  const long steps = long(s.planes) * s.kernel_h * s.kernel_w / (s.phases_h() * s.phases_w());
  return (s.results >= least_channels && steps >= least_steps) || (s.results >= few_channels && steps > many_steps);
}
/// Whether tiles fit into shared memory, and places are ints.
constexpr bool fits_in_tiles(const ConvSides& s) {
  constexpr long most_places = 1l << 31, many = 1024;
  const auto fits = [&](long n) {
    return conv_shared_bytes<NarrowConvTile>(conv_plan<NarrowConvTile>(s, n, 1)) <= most_shared_bytes;
  };
  return fits(1) && fits(many) && s.image() * WideConvTile::runs < most_places &&
         s.planes * s.plane_step() < most_places;
}

/// Convolutions of the sizes of a Call in tiles.
template <class Steps>
struct ConvInTiles {
  /// Floats of the workspace.
  static constexpr long sums(const ConvSides& s, long n) { return ConvChoice::of(s, n).plan.slots() * n * s.result(); }
  template <class Taps>
  static void run(const Arguments& a, const ConvSides& s, long n) {
    const ConvChoice choice = ConvChoice::of(s, n);
    if (choice.wide) run_plan<Taps, WideConvTile>(a, choice.plan);
    else run_plan<Taps, NarrowConvTile>(a, choice.plan);
  }
  template <class Taps, class Tile>
  static void run_plan(const Arguments& a, const ConvPlan& plan) {
    launch_blocks(ConvTiles<Taps, Tile, Steps>{plan}, a, plan.blocks(Tile::channels),
                  int(conv_shared_bytes<Tile>(plan)));
    if (plan.parts == 1) return;
    const ConvSides& s = plan.sides;
    const long count = plan.samples * s.result();
    const JoinedSegments<Steps> join{plan.slots(), s.groups * s.results, s.result_h * s.result_w, count};
    launch_blocks(join, a, blocks_for(count, join.threads));
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
