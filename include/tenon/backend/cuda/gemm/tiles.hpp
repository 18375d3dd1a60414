// By which tiles products of float32 are computed. The bits are those of any other.
#pragma once
#include <algorithm>
#include <climits>
#include <tuple>

#include <tenon/backend/cuda/gemm/product.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Measured on an H200 (132 multiprocessors): a multiprocessor takes `nanoseconds` per step for each of its blocks, or
/// of their parts; `alone` if it has one.
struct WideTile : ProductTile<64, 128, 8, 8, 16, 1, 2, 3> {
  static constexpr long nanoseconds = 55, alone = 64;
};
struct MediumTile : ProductTile<64, 64, 4, 4, 16> {
  static constexpr long nanoseconds = 34, alone = 39;
};
struct SmallTile : ProductTile<32, 32, 2, 4, 16, 4> {
  static constexpr long nanoseconds = 12, alone = 22;
};
/// For products that leave most multiprocessors idle: what takes time are the chains, and fewer of them in a thread.
struct TinyTile : ProductTile<8, 16, 1, 2, 64, 4, 0, 3> {
  static constexpr long nanoseconds = 12, alone = 16;
};
using ProductTileList = std::tuple<TinyTile, SmallTile, MediumTile, WideTile>;
inline constexpr int product_tiles = int(std::tuple_size_v<ProductTileList>);
template <int i>
using ProductTileAt = std::tuple_element_t<std::size_t(i), ProductTileList>;

/// Parts of a block that have a segment each.
constexpr int product_parts(long steps) {
  return steps > 2 * segment_units<float> ? 4 : steps > segment_units<float> ? 2 : 1;
}

/// The nanoseconds that a product takes per step.
template <class Tile>
constexpr long product_cost(const ProductExtent& e, long steps) {
  const long blocks = blocks_for(e.rows, Tile::rows) * blocks_for(e.columns, Tile::columns) * e.products,
             share = (blocks + multiprocessors - 1) / multiprocessors,
             parts = std::min(Tile::parts, product_parts(steps));
  return std::max(share * Tile::nanoseconds, (Tile::alone + parts - 1) / parts);
}

/// The cheapest of some tiles, a bit each, and what it costs.
struct TileChoice {
  int tile;
  long cost;
};
[[gnu::noinline]] constexpr TileChoice cheapest_tile(unsigned tiles, const ProductExtent& e, long steps) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    const long cost[]{tiles >> i & 1 ? product_cost<ProductTileAt<i>>(e, steps) : LONG_MAX...};
    int best = 0;
    for (int k = 1; k < product_tiles; ++k)
      if (cost[k] < cost[best]) best = k;
    return TileChoice{best, cost[best]};
  }(std::make_integer_sequence<int, product_tiles>());
}
/// Extents and steps of a product on a batch, from those of one and two samples.
struct ProductOfBatch {
  ProductExtent one, two;
  long steps_of_one, steps_of_two;

  static constexpr long most = 1024;  // what is compiled is for batches up to this one; larger ones have to do with it
  static constexpr long at(long of_one, long of_two, long n) { return of_one + (of_two - of_one) * (n - 1); }
  constexpr ProductExtent extent(long n) const {
    return {at(one.rows, two.rows, n), at(one.columns, two.columns, n), at(one.products, two.products, n)};
  }
  constexpr long steps(long n) const { return at(steps_of_one, steps_of_two, n); }
};
/// The tiles that are cheapest for some batch.
constexpr unsigned tiles_for(const ProductOfBatch& product) {
  unsigned tiles = 0;
  for (long n = 1; n <= ProductOfBatch::most; n *= 2)
    tiles |= 1u << cheapest_tile(~0u, product.extent(n), product.steps(n)).tile;
  return tiles;
}

/// Those of `tiles` that fit into the shared memory of a block; if none does, MediumTile, which always fits.
template <class Source, unsigned tiles>
constexpr unsigned fitting_tiles() {
  unsigned fitting = 0;
  const auto look = [&]<int i>(std::integral_constant<int, i>) {
    if constexpr ((tiles >> i & 1) != 0)
      if (ProductBlocks<Source, ProductTileAt<i>>::shared_bytes(1) <= most_shared_bytes) fitting |= 1u << i;
  };
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (look(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, product_tiles>());
  constexpr unsigned medium = 1u << 2;
  static_assert(std::is_same_v<ProductTileAt<2>, MediumTile>);
  return fitting ? fitting : medium;
}

/// Starts products by the cheapest of `tiles`; no segment of theirs ends behind step `steps`.
template <class Source, unsigned tiles, class Sizes>
void launch_product(const Arguments& a, long steps, const Sizes& sizes) {
  constexpr unsigned fitting = fitting_tiles<Source, tiles>();
  const int best = cheapest_tile(fitting, detail::extent_of<Source>(sizes, a.n), steps).tile;
  const auto launch = [&]<int tile>(std::integral_constant<int, tile>) {
    if constexpr ((fitting >> tile & 1) != 0)
      if (tile == best)
        ProductBlocks<Source, ProductTileAt<tile>>::launch(a, product_parts(steps), sizes,
                                                           steps > 0 && steps <= segment_units<float>);
  };
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (launch(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, product_tiles>());
}
/// The same for a Source that knows its sizes. What depends on the batch is 0 here.
template <class Source, long rows, long columns, long products, long steps>
void launch_product(const Arguments& a) {
  launch_product<Source, tiles_for({Source::extent(1), Source::extent(2), steps, steps})>(a, steps, detail::NoSizes());
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
