// The sum over the shards of a batch, dealt to ranks: added along one tree, so that ranks do not change its bits.
#pragma once
#include <cstring>
#include <vector>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/dist/collectives.hpp>
#include <tenon/dist/sum_tree.hpp>

namespace tenon::inline TENON_ABI::dist {

namespace detail {
using tenon::detail::Look;

/// How the bytes of a sum are numbers: floats up to a border, which is a multiple of 8 bytes, then doubles.
struct SumBytes {
  long floats = 0, all = 0;
};

/// to += from, for a part of a sum.
void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes);

/// What the shards of a batch give, added along the tree over them (dist/sum_tree.hpp). A rank adds its own, and sends
/// a slice of each partial sum to the rank that adds this slice, which sends the sum to all.
class ShardSum {
 public:
  static constexpr long header = alignment;

  explicit ShardSum(Communicator group) : group_(std::move(group)) {}

  const Communicator& group() const { return group_; }
  /// Makes room for sums of this size.
  void fit(const SumBytes& bytes) {
    if (bytes.all > room_) {
      block_ = TargetBytes(std::size_t(header + bytes.all), "the gradients of a shard");
      std::memset(home(block_.address()), 0, std::size_t(header + bytes.all));
      kept_.clear();
      room_ = bytes.all;
    }
    bytes_ = bytes;
  }
  /// What a shard writes to: a header, which is not added, then the numbers.
  std::byte* block() const { return block_.address(); }
  /// The numbers for the host; after run() their sum.
  std::byte* values() const { return home(block_.address(), std::size_t(header + bytes_.all), Look::change) + header; }

  /// Calls shard(number, begins) for this rank's shards of the first `all` of `shards`: it writes to the block what the
  /// shard gives, or adds it to what is there. All ranks call it, and have the sum in their block then.
  void run(long shards, long all, FunctionRef<int, bool> shard) {
    nodes_.clear();
    bool first = true;
    each_node_of(group_.rank(), shards, all, [&](int begin, int leaves) {
      if (!first) nodes_.back().data = keep(nodes_.size() - 1);
      first = false;
      add_up(begin, leaves, most_depth, shard);
      nodes_.push_back({begin, leaves, values(), 0});
    });
    if (group_.size() > 1) exchange(shards, all);
  }

 private:
  // The sum of the leaves first to first + leaves - 1.
  struct Node {
    int first, leaves;
    const std::byte* data;
    long begin = 0;  // the byte of the sum that data begins with
  };
  static constexpr std::size_t most_depth = 32;
  static constexpr int slice_tag = most_tag + 8, sum_tag = most_tag + 9;

  static std::byte* home(std::byte* data, std::size_t bytes = 0, Look look = Look::change) {
    return tenon::detail::home(data, bytes, look);
  }
  template <class F>
  void each_node_of(int rank, long shards, long all, F f) const {
    const ShardRange own = part_of(shards, group_.size(), rank);
    each_node_within(int(own.begin), int(own.end), int(all), f);
  }
  // A node of this rank, into the block. Partial sums wait in the buffers from `depth` on.
  void add_up(int first, int leaves, std::size_t depth, FunctionRef<int, bool> shard) {
    if (leaves == 1) return shard(first, true);
    const int left = tree_split(leaves);
    add_up(first, left, depth, shard);
    if (leaves - left == 1) return shard(first + left, false);
    const std::byte* const sum = keep(depth);
    add_up(first + left, leaves - left, depth + 1, shard);
    add_sums(values(), sum, bytes_);
  }
  const std::byte* keep(std::size_t place) {
    if (kept_.size() <= place) kept_.resize(place + 1);
    if (!kept_[place].data()) kept_[place] = AlignedBytes(std::size_t(room_), "partial sums of gradients");
    std::memcpy(kept_[place].data(), values(), std::size_t(bytes_.all));
    return kept_[place].data();
  }
  ShardRange slice(int rank) const {
    const ShardRange words = part_of(bytes_.all / 8, group_.size(), rank);
    return {words.begin * 8, words.end * 8};
  }
  void exchange(long shards, long all);
  void add_slice(std::span<const Node> nodes, long all, ShardRange slice);

  Communicator group_;
  SumBytes bytes_;
  long room_ = 0;
  TargetBytes block_;
  std::vector<AlignedBytes> kept_;  // the partial sums of add_up, from most_depth on, and this rank's nodes before
  std::vector<Node> nodes_, nodes_of_all_;
  std::vector<std::byte> received_;
};

TENON_EXACT_BEGIN
template <class S>
void add_numbers(std::byte* to, const std::byte* from, long bytes) {
  S* const sum = reinterpret_cast<S*>(to);
  const S* const other = reinterpret_cast<const S*>(from);
  parallel_for(bytes / long(sizeof(S)), 1 << 15, [sum, other](long begin, long end) {
    for (long i = begin; i < end; ++i) sum[i] = sum[i] + other[i];
  });
}
TENON_EXACT_END
inline void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes) {
  const FlushDenormals flush;
  add_numbers<float>(to, from, bytes.floats);
  add_numbers<double>(to + bytes.floats, from + bytes.floats, bytes.all - bytes.floats);
}

inline void ShardSum::exchange(long shards, long all) {
  const int own = group_.rank();
  const ShardRange mine = slice(own);
  std::vector<Node>& nodes = nodes_of_all_;
  nodes.clear();
  long arriving = 0;
  for (int rank = 0; rank < group_.size(); ++rank)
    each_node_of(rank, shards, all, [&](int, int) { arriving += rank != own; });
  if (long(received_.size()) < arriving * mine.size()) received_.resize(std::size_t(arriving * mine.size()));
  std::byte* place = received_.data();
  {
    Messages messages;
    for (int rank = 0; rank < group_.size(); ++rank) {
      if (rank == own) {
        nodes.insert(nodes.end(), nodes_.begin(), nodes_.end());
        continue;
      }
      each_node_of(rank, shards, all, [&](int first, int leaves) {
        messages.add(group_.start_own_receive(rank, slice_tag, {place, std::size_t(mine.size())}));
        nodes.push_back({first, leaves, place, mine.begin});
        place += mine.size();
      });
      const ShardRange theirs = slice(rank);
      for (const Node& node : nodes_)
        messages.add(group_.start_own_send(rank, slice_tag, {node.data + theirs.begin, std::size_t(theirs.size())}));
    }
    messages.wait();
  }
  add_slice(nodes, all, mine);
  std::byte* const sum = values();
  Messages messages;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == own) continue;
    const ShardRange theirs = slice(rank);
    messages.add(group_.start_own_receive(rank, sum_tag, {sum + theirs.begin, std::size_t(theirs.size())}));
    messages.add(group_.start_own_send(rank, sum_tag, {sum + mine.begin, std::size_t(mine.size())}));
  }
  messages.wait();
}

inline void ShardSum::add_slice(std::span<const Node> nodes, long all, ShardRange slice) {
  std::byte* const to = values();
  const auto add = [&]<class S>(S, long begin, long end) {
    const long count = (end - begin) / long(sizeof(S)), blocks = (count + long(sum_block) - 1) / long(sum_block);
    parallel_for(blocks, 64, [&](long block, long stop) {
      const FlushDenormals flush;
      S sum[sum_block];
      for (; block < stop; ++block) {
        const long at = block * long(sum_block), size = std::min(count - at, long(sum_block)),
                   offset = begin + at * long(sizeof(S));
        const auto read = [&](int first, int leaves, S* out) {
          for (const Node& node : nodes)
            if (node.first == first && node.leaves == leaves) {
              std::memcpy(out, node.data + (offset - node.begin), std::size_t(size) * sizeof(S));
              return true;
            }
          return false;
        };
        fold_node<Add, S>(read, 0, int(all), std::size_t(size), sum);
        std::memcpy(to + offset, sum, std::size_t(size) * sizeof(S));
      }
    });
  };
  add(float(), std::min(slice.begin, bytes_.floats), std::min(slice.end, bytes_.floats));
  add(double(), std::max(slice.begin, bytes_.floats), std::max(slice.end, bytes_.floats));
}
}  // namespace detail

}  // namespace tenon::dist
