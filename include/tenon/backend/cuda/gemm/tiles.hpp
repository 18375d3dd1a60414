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
/// For products that leave most multiprocessors idle: what takes time are the chains, and fewer of them in a thread.
template <int parts>
struct TinyTile : ProductTile<8, 16, 1, 2, 64, parts> {
  static constexpr long rate = 14;
};

/// Multiprocessors that products are cut for.
inline constexpr long multiprocessors = 132;
/// The time that a product takes per step, in arbitrary units: rounds of a block on each multiprocessor.
template <class Tile>
constexpr long product_cost(const ProductExtent& e) {
  const long blocks = blocks_for(e.rows, Tile::rows) * blocks_for(e.columns, Tile::columns) * e.products;
  return (blocks + multiprocessors - 1) / multiprocessors * (Tile::rows * Tile::columns) * 100 / Tile::rate;
}

/// The tiles for products of these sizes, 0 where one depends on the batch.
template <long rows, long columns, long steps>
struct ProductTiles {
  static constexpr int parts = steps > 2 * segment_units<float> ? 4 : steps > segment_units<float> ? 2 : 1, count = 5;
  using List = std::tuple<TinyTile<parts>, SmallTile<parts>, MediumTile, WideTile, LargeTile>;
  template <int i>
  using Tile = std::tuple_element_t<i, List>;
  // One is not compiled for what leaves half of it empty.
  template <int i>
  static constexpr bool compiled =
      i < 2 || ((rows == 0 || rows > Tile<i>::rows / 2) && (columns == 0 || columns > Tile<i>::columns / 2));

  /// The number of the cheapest one.
  static constexpr int cheapest(const ProductExtent& e) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      const long cost[]{compiled<i> ? product_cost<Tile<i>>(e) : LONG_MAX...};
      int best = 0;
      for (int k = 1; k < count; ++k)
        if (cost[k] < cost[best]) best = k;
      return best;
    }(std::make_integer_sequence<int, count>());
  }
};

template <class Source, class Tiles, int i>
void launch_tile(int best, const Arguments& a) {
  if constexpr (Tiles::template compiled<i>)
    if (best == i) ProductBlocks<Source, typename Tiles::template Tile<i>>::launch(a);
}
/// Starts a product by the tile that its sizes ask for. What depends on the batch is 0 here.
template <class Source, long rows, long columns, long products, long steps>
void launch_product(const Arguments& a) {
  using Tiles = ProductTiles<rows, columns, steps>;
  if constexpr (rows > 0 && columns > 0 && products > 0)
    ProductBlocks<Source, typename Tiles::template Tile<Tiles::cheapest({rows, columns, products})>>::launch(a);
  else
    [best = Tiles::cheapest(Source::extent(a.n)), &a]<int... tile>(std::integer_sequence<int, tile...>) {
      (launch_tile<Source, Tiles, tile>(best, a), ...);
    }(std::make_integer_sequence<int, Tiles::count>());
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
