// Stages: runs of nodes that are computed for one block of samples after the other.
#pragma once
#include <tenon/graph/node.hpp>

namespace tenon::inline TENON_ABI {

/// Which nodes run in stages (graph/pass/stages.hpp). The nodes of a stage stand one behind the other. All of them run for the first
/// block of samples, then all for the next, so that a value which only they read needs the memory of one block, and finds it in the
/// cache; threads share the blocks. Other nodes see the whole batch.
template <int N>
struct Stages {
  int of[N + 1]{};     // the stage of a node, counted from 1; 0: none
  bool sums[N + 1]{};  // the node's result is the sum of what its kernel makes of each block
  int first[N + 1]{}, last[N + 1]{};  // nodes of a stage
  int count = 0;
};

}  // namespace tenon
