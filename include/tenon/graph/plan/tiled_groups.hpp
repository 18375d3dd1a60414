// Tiled groups: runs of nodes that are computed for one tile of samples after the other.
#pragma once
#include <tenon/graph/ir/node.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Which nodes run tile by tile (graph/pass/tile.hpp). The nodes of a group stand one after the other. All of them run
/// for the first tile of samples, then all for the next, so that a value which only they read needs the memory of one
/// tile, and finds it in the cache; threads share the tiles. Other nodes see the whole batch.
template <int N>
struct TiledGroups {
  short of[N + 1]{};   // the group of a node, counted from 1; 0: none
  bool sums[N + 1]{};  // the node's result is the sum of what its kernel makes of each tile
  int count = 0;
  bool whole = false;  // their values have memory for the batch: a kernel per sample has own memory for them

  /// The first and the last node of a group.
  constexpr int first(int group) const {
    int id = 0;
    while (of[id] != group) ++id;
    return id;
  }
  constexpr int last(int group) const {
    int id = N;
    while (of[id] != group) --id;
    return id;
  }
};

}  // namespace tenon
TENON_INT_SIZES_END
