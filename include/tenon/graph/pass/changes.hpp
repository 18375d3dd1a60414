// When buffers change: what a pass asks before it lets one value stand for another.
#pragma once
#include <tenon/graph/plan/buffers.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// When the buffers of a graph change, and until when each value is used, also under another name.
template <int N>
class Changes {
 public:
  /// `renames(node)`: the node's result may become another name for one of its operands.
  template <class Renames>
  constexpr Changes(const Graph<N>& graph, Renames renames) : buffers_(buffers_of(graph)) {
    for (int id = 0; id < graph.count; ++id)
      for (int k = 0; k < graph[id].operands; ++k) {
        if (!writes(graph, buffers_, graph[id], k)) continue;
        const int owner = buffers_.owner[graph[id].operand[k]];
        if (!first_[owner]) first_[owner] = id;
        last_[owner] = id;
      }
    for (int k = 0; k < graph.outputs; ++k) used_[graph.output[k]] = graph.count;
    for (int id = graph.count; id-- > 0;)
      for (int k = 0; k < graph[id].operands; ++k) {
        int& used = used_[graph[id].operand[k]];
        const int until = renames(graph[id]) && used_[id] > id ? used_[id] : id;
        used = used < until ? until : used;
      }
  }
  /// True if no effect ever writes the node's own buffer.
  constexpr bool never(int id) const { return !first_[id]; }
  /// True if `copy` can go and its users read `original`: neither of the two changes while they are used.
  constexpr bool allow(int copy, int original) const {
    const int owner = buffers_.owner[original];
    return never(copy) && !(last_[owner] > copy && first_[owner] <= used_[copy]);
  }

 private:
  Buffers<N> buffers_;
  int first_[N + 1]{}, last_[N + 1]{}, used_[N + 1]{};
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
