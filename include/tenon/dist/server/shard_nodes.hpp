// The sums over a worker's shards: the largest nodes of the tree over all shards that it can add up alone.
#pragma once
#include <vector>

#include <tenon/dist/shard_sum.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// As ShardSum, without the messages: what the shards give is added in the same order.
class ShardNodes {
 public:
  struct Node {
    int first, leaves;
    const std::byte* data;
  };
  static constexpr long header = ShardSum::header;

  /// Makes room for sums of this size.
  void fit(const SumBytes& bytes) {
    if (bytes.all > room_) {
      block_ = TargetBytes(std::size_t(header + bytes.all), "the gradients of a shard");
      std::memset(tenon::detail::home(block_.address()), 0, std::size_t(header + bytes.all));
      kept_.clear();
      room_ = bytes.all;
    }
    bytes_ = bytes;
  }
  /// What a shard writes to: a header, which is not added, then the numbers.
  std::byte* block() const { return block_.address(); }
  /// The numbers for the host.
  std::byte* values() const {
    return tenon::detail::home(block_.address(), std::size_t(header + bytes_.all), Look::change) + header;
  }
  /// Calls shard(number, begins) for the shards of `mine` among the first `all`, and returns the nodes that they are,
  /// valid until the next call. The block has the last one.
  const std::vector<Node>& run(ShardRange mine, long all, FunctionRef<int, bool> shard) {
    nodes_.clear();
    each_node_within(int(mine.begin), int(mine.end), int(all), [&](int first, int leaves) {
      if (!nodes_.empty()) nodes_.back().data = keep(nodes_.size() - 1);
      add_up(first, leaves, most_depth, shard);
      nodes_.push_back({first, leaves, values()});
    });
    return nodes_;
  }

 private:
  static constexpr std::size_t most_depth = 32;

  void add_up(int first, int leaves, std::size_t depth, FunctionRef<int, bool> shard) {
    if (leaves == 1) return shard(first, true);
    const int left = tree_split(leaves);
    add_up(first, left, depth, shard);
    if (leaves - left == 1) return shard(first + left, false);
    const std::byte* const waiting = keep(depth);
    add_up(first + left, leaves - left, depth + 1, shard);
    add_sums(values(), waiting, bytes_, {0, bytes_.all});
  }
  const std::byte* keep(std::size_t place) {
    if (kept_.size() <= place) kept_.resize(place + 1);
    if (!kept_[place].data()) kept_[place] = AlignedBytes(std::size_t(room_), "partial sums of gradients");
    std::memcpy(kept_[place].data(), values(), std::size_t(bytes_.all));
    return kept_[place].data();
  }

  SumBytes bytes_;
  long room_ = 0;
  TargetBytes block_;
  std::vector<AlignedBytes> kept_;  // the partial sums of add_up, from most_depth on, and nodes_ but the last
  std::vector<Node> nodes_;
};

}  // namespace tenon::dist::detail
