// By which tiles products of float32 are computed. The bits are those of any other.
#pragma once
#include <tenon/backend/cuda/gemm/product.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

struct LargeTile : ProductTile<128, 128, 8, 8, 8> {};
struct MediumTile : ProductTile<64, 64, 4, 4, 16> {};
template <int parts>
struct SmallTile : ProductTile<16, 32, 2, 4, 32, parts> {};

/// Blocks that keep a GPU busy: a larger tile pays where it leaves this many.
inline constexpr long enough_blocks = 132;
template <class Tile>
constexpr bool fills(const ProductExtent& e) {
  return blocks_for(e.rows, Tile::rows) * blocks_for(e.columns, Tile::columns) * e.products >= enough_blocks;
}

/// Starts a product by the tile that its sizes ask for. What depends on the batch is 0 here.
template <class Source, long rows, long columns, long products, long steps>
void launch_product(const Arguments& a) {
  constexpr int parts = steps > 2 * segment_units<float> ? 4 : steps > segment_units<float> ? 2 : 1;
  using Small = SmallTile<parts>;
  if constexpr (rows > 0 && columns > 0 && products > 0) {
    constexpr ProductExtent e{rows, columns, products};
    using Tile =
        std::conditional_t<fills<LargeTile>(e), LargeTile, std::conditional_t<fills<MediumTile>(e), MediumTile, Small>>;
    ProductBlocks<Source, Tile>::launch(a);
  } else {
    constexpr auto may_exceed = [](long extent, long least) { return extent == 0 || extent > least; };
    const ProductExtent e = Source::extent(a.n);
    if constexpr (may_exceed(rows, LargeTile::rows / 2) && may_exceed(columns, LargeTile::columns / 2))
      if (fills<LargeTile>(e)) return ProductBlocks<Source, LargeTile>::launch(a);
    fills<MediumTile>(e) ? ProductBlocks<Source, MediumTile>::launch(a) : ProductBlocks<Source, Small>::launch(a);
  }
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
