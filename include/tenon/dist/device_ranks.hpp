// DeviceRanks: what the ranks of a group do in the memory of their GPUs, without the host in between.
#pragma once
#include <cstddef>
#include <span>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// What is there of a sum along a tree (dist/sum_tree.hpp): that of the leaves first to first + leaves - 1.
struct TreeNode {
  int first, leaves;
  const std::byte* data;
};

/// Ranks with a GPU each, which exchange bytes of its memory. Data have the addresses by which all code knows them
/// (core/memory/target_memory.hpp). Calls put work into the queue of the GPU, in which kernels before and after it are,
/// too; the host waits in begin() and wait() alone. All ranks of the group make the same calls in the same order.
class DeviceRanks {
 public:
  /// Bytes for or from another rank.
  struct Part {
    int peer;
    std::byte* data;
    std::size_t bytes;
  };

  virtual ~DeviceRanks() = default;
  /// Returns when all ranks of the group reach each other. Called before the first exchange otherwise.
  virtual void begin() = 0;
  /// All of it at the same time; several parts of one peer in their order.
  virtual void exchange(std::span<const Part> sent, std::span<const Part> received) = 0;
  /// to[0 .. count) = the sum of nodes, from left to right, along the tree over `leaves`: floats or doubles.
  virtual void sum(bool doubles, int leaves, std::span<const TreeNode> nodes, std::byte* to, long count) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Returns when all of this is done. Throws RuntimeError if it never will be, because a rank is gone.
  virtual void wait() = 0;
  /// The last call, on all ranks.
  virtual void end() = 0;
};

}  // namespace tenon::dist::detail
