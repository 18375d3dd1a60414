// By which tiles products of float32 are computed. The bits are those of any other.
#pragma once
#include <climits>
#include <tuple>

#include <tenon/backend/cuda/gemm/product.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// `rate`: elements of the result that a multiprocessor adds a step to in the time in which it does for 100 of the
/// largest tile.
struct LargeTile : ProductTile<128, 128, 8, 8, 8, 1, 2> {
  static constexpr long rate = 100;
};
struct WideTile : ProductTile<64, 128, 8, 8, 8, 1, 3> {
  static constexpr long rate = 95;
};
struct MediumTile : ProductTile<64, 64, 4, 4, 16> {
  static constexpr long rate = 60;
};
template <int parts>
struct SmallTile : ProductTile<16, 32, 2, 4, 32, parts> {
  static constexpr long rate = 30;
};

/// Multiprocessors that products are cut for.
inline constexpr long multiprocessors = 132;
/// The time that a product takes per step, in arbitrary units: rounds of a block on each multiprocessor.
template <class Tile>
constexpr long product_cost(const ProductExtent& e) {
  const long blocks = blocks_for(e.rows, Tile::rows) * blocks_for(e.columns, Tile::columns) * e.products;
  return (blocks + multiprocessors - 1) / multiprocessors * (Tile::rows * Tile::columns) * 100 / Tile::rate;
}

/// Starts a product by the tile that its sizes ask for. What depends on the batch is 0 here.
template <class Source, long rows, long columns, long products, long steps>
void launch_product(const Arguments& a) {
  constexpr int parts = steps > 2 * segment_units<float> ? 4 : steps > segment_units<float> ? 2 : 1;
  using Small = SmallTile<parts>;
  // Wide and large tiles are not compiled for what leaves half of them empty.
  constexpr auto may_exceed = [](long extent, long least) { return extent == 0 || extent > least; };
  constexpr bool wide = may_exceed(rows, WideTile::rows / 2) && may_exceed(columns, WideTile::columns / 2),
                 large = wide && may_exceed(rows, LargeTile::rows / 2);
  const auto choose = [](const ProductExtent& e) {
    const long cost[]{product_cost<Small>(e), product_cost<MediumTile>(e), wide ? product_cost<WideTile>(e) : LONG_MAX,
                      large ? product_cost<LargeTile>(e) : LONG_MAX};
    int best = 0;
    for (int i = 1; i < 4; ++i)
      if (cost[i] < cost[best]) best = i;
    return best;
  };
  const auto start = [&]<int tile>(std::integral_constant<int, tile>) {
    using Tile = std::tuple_element_t<tile, std::tuple<Small, MediumTile, WideTile, LargeTile>>;
    ProductBlocks<Source, Tile>::launch(a);
  };
  if constexpr (rows > 0 && columns > 0 && products > 0) {
    constexpr int best = choose({rows, columns, products});
    start(std::integral_constant<int, best>());
  } else {
    const int best = choose(Source::extent(a.n));
    if (best == 0) start(std::integral_constant<int, 0>());
    if (best == 1) start(std::integral_constant<int, 1>());
    if constexpr (wide)
      if (best == 2) start(std::integral_constant<int, 2>());
    if constexpr (large)
      if (best == 3) start(std::integral_constant<int, 3>());
  }
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
