// Stages: runs of nodes that are computed for one block of samples after the other.
#pragma once
#include <tenon/graph/node.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// Which nodes run in stages (graph/pass/stages.hpp). The nodes of a stage stand one behind the other. All of them run
/// for the first block of samples, then all for the next, so that a value which only they read needs the memory of one
/// block, and finds it in the cache; threads share the blocks. Other nodes see the whole batch.
template <int N>
struct Stages {
  short of[N + 1]{};   // the stage of a node, counted from 1; 0: none
  bool sums[N + 1]{};  // the node's result is the sum of what its kernel makes of each block
  int count = 0;

  /// The first and the last node of a stage.
  constexpr int first(int stage) const {
    int id = 0;
    while (of[id] != stage) ++id;
    return id;
  }
  constexpr int last(int stage) const {
    int id = N;
    while (of[id] != stage) --id;
    return id;
  }
};

}  // namespace tenon
TENON_INT_SIZES_END
