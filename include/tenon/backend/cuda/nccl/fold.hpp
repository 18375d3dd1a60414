// Sums of the parts of ranks on a GPU, or what else a reduction makes of two, along the tree of dist/sum_tree.hpp: with
// the bits of fold_nodes() on the CPU.
#pragma once
#include <tenon/backend/cuda/device.hpp>
#include <tenon/dist/collectives.hpp>
#include <tenon/dist/device_ranks.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// The nodes of a tree from left to right, and how many pairs are complete after each: as a kernel gets them.
struct FoldList {
  static constexpr int most = 256, deepest = 33;  // a tree over an int of leaves
  int count = 0;
  unsigned char pairs[most];
  const void* node[most];

  /// Throws ValueError if there are too many.
  FoldList(int leaves, std::span<const dist::detail::TreeNode> nodes) {
    if (nodes.size() > std::size_t(most))
      throw_error<ValueError>("A sum over ", nodes.size(), " parts, one for each rank or shard; on GPUs the most is ",
                              most, ".");
    add(0, leaves, nodes);
  }

 private:
  void add(int first, int leaves, std::span<const dist::detail::TreeNode> nodes) {
    const dist::detail::TreeNode& next = nodes[std::size_t(count)];
    if (next.first == first && next.leaves == leaves) {
      pairs[count] = 0, node[count++] = next.data;
      return;
    }
    const int left = dist::tree_split(leaves);
    add(first, left, nodes);
    add(first + left, leaves - left, nodes);
    ++pairs[count - 1];
  }
};

TENON_EXACT_BEGIN
template <class Op, class T>
struct Fold {
  static constexpr int threads = 256;
  using S = dist::detail::FoldType<Op, T>;

  FoldList list;
  T* to;
  long count;

  __device__ void block(const Arguments&) const {
    const long i = thread_of_grid();
    if (i >= count) return;
    S open[FoldList::deepest];
    int depth = 0;
    for (int k = 0; k < list.count; ++k) {
      open[depth++] = static_cast<S>(static_cast<const T*>(list.node[k])[i]);
      for (int pair = 0; pair < list.pairs[k]; ++pair) {
        --depth;
        open[depth - 1] = Op::of(open[depth - 1], open[depth]);
      }
    }
    to[i] = static_cast<T>(open[0]);
  }
};
TENON_EXACT_END

/// to[0 .. count) in the GPU's memory, of nodes there. `to` may be one of them.
template <class Op, class T>
void fold_there(int leaves, std::span<const dist::detail::TreeNode> nodes, T* to, long count) {
  static_assert(!std::is_same_v<T, bool>, "bools have no sum");
  using Body = Fold<Op, T>;
  launch_blocks(Body{FoldList(leaves, nodes), to, count}, Arguments(), blocks_for(count, Body::threads));
}

}  // namespace tenon::kernel::cuda
