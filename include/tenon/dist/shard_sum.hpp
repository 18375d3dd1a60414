// The sum over the shards of a batch, dealt to ranks: added along one tree, so that ranks do not change its bits.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/dist/collectives.hpp>
#include <tenon/dist/shared_blocks.hpp>
#include <tenon/dist/sum_bytes.hpp>
#include <tenon/dist/sum_there.hpp>
#if TENON_DEFINES
#include <cstring>
#endif

namespace tenon::inline TENON_ABI::dist {

namespace detail {
using tenon::detail::Look;

/// What the shards of a batch give, added along the tree over them (dist/sum_tree.hpp). A rank adds its own, and sends
/// a slice of each partial sum to the rank that adds this slice, which sends the sum to all. Buckets, runs of bytes of
/// the sum, do so one after the other, as soon as the last shard of a rank has left them. Ranks of one machine read and
/// write each other's blocks instead, and only tell each other by empty messages when they may.
class ShardSum {
 public:
  static constexpr long header = alignment;

  explicit ShardSum(Communicator group) : group_(std::move(group)) {}

  const Communicator& group() const { return group_; }
  /// Makes room for sums of this size. `ends` are the bytes at which the buckets end: multiples of 8, the same on all
  /// ranks. The last bucket ends with the sum, whatever its end is.
  void fit(const SumBytes& bytes, std::span<const long> ends);
  /// What a shard writes to: a header, which is not added, then the numbers.
  /// That of a rank, if this one reaches it, else null; true on all ranks or on none. After run() a rank may write
  /// there what others shall read, until they begin the next one.
  std::byte* block_of(int rank) const { return shared_ ? shared_.of(rank) : nullptr; }
  std::byte* block() const { return shared_ ? shared_.of(group_.rank()) : block_.address(); }
  /// The numbers for the host, from byte `begin` on; after run() their sum.
  std::byte* values(long begin = 0) const;

  /// Calls shard(number, begins) for this rank's shards of the first `all` of `shards`: it writes to the block what the
  /// shard gives, or adds it to what is there. All ranks call it, and have the sum in their block then.
  void run(long shards, long all, FunctionRef<int, bool> shard);
  /// A shard may say that its first `bytes` are final. If it is the last shard of this rank, their buckets start to
  /// travel while it computes the other bytes. Each call lets messages make progress.
  void complete(long bytes);

 private:
  // The sum of the leaves first to first + leaves - 1.
  struct Node {
    int first, leaves;
    const std::byte* data;
    long begin = 0;  // the byte of the sum that data begins with
  };
  // A run of bytes of the sum on its way. Messages of all ranks are in the order of the buckets.
  struct Bucket {
    ShardRange bytes{}, mine{};  // `mine`: the slice that this rank adds
    tenon::detail::Growing<Node> nodes{};
    tenon::detail::Growing<Pending> messages{};

    bool has_arrived(bool wait);
  };
  // A partial sum that the node to the right of it is added to, and the one that waits for both.
  struct Waiting {
    const std::byte* data;
    const Waiting* before;
  };
  // Gives up messages after an error, while it unwinds.
  struct Landing {
    ShardSum& sum;
    ~Landing() { sum.forget_messages(); }
  };
  static constexpr std::size_t most_depth = 32;
  static constexpr int slice_tag = most_tag + 8, sum_tag = most_tag + 9;

  void grow(const SumBytes& bytes);
  void forget_messages();
  void each_node_of(int rank, FunctionRef<int, int> f) const;
  std::size_t nodes_of(int rank) const;
  // Whether ranks reach each other's nodes in this run; the same on all.
  bool find_reach();
  // A node of another rank, which has the last one in its block.
  const std::byte* node_of(int rank, std::size_t place) const;
  void compute(int leaf, bool begins, FunctionRef<int, bool> shard);
  // A node of this rank, into the block. Partial sums wait in the buffers from `depth` on.
  void add_up(int first, int leaves, std::size_t depth, FunctionRef<int, bool> shard);
  const std::byte* keep(std::size_t place);
  ShardRange slice(const Bucket& bucket, int rank) const;
  // For what arrives from other ranks, before the first bucket starts.
  void make_room();
  void start(Bucket& bucket);
  void start_by_messages(Bucket& bucket, int rank);
  void start_by_memory(Bucket& bucket, int rank);
  // When all nodes of a slice are there: its sum is on its way to all ranks.
  bool add_bucket(Bucket& bucket, bool wait);
  void add_slice(const Bucket& bucket);
  // Some bytes of a bucket, added up. The tree asks for nodes from left to right, as the ranks have them.
  struct Fold {
    const Bucket& bucket;
    long at, size;
    bool wide;
    std::size_t next = 0;
  };
  void fold(Fold& block, int first, int leaves, std::byte* sum) const;
  // The sum of this rank, where it is added up.
  std::byte* own() const { return there_.ranks ? block_.address() + header : values(); }
  // After the shards of this rank, if sums are on GPUs.
  void exchange_there();

  Communicator group_;
  SumBytes bytes_;
  long room_ = 0, shards_ = 0, all_ = 0;
  int current_ = -1, last_ = -1;         // shards: the one that computes, the last one of this rank
  std::size_t started_ = 0, added_ = 0;  // buckets
  TargetBytes block_;
  SharedBlocks shared_, shared_nodes_;  // in place of block_; nodes_ but the last
  bool reaches_ = false;
  SumThere there_{};
  tenon::detail::Growing<AlignedBytes>
      kept_;                            // the partial sums of add_up, from most_depth on, and nodes_ but the last
  const Waiting* waiting_ = nullptr;    // the last one
  tenon::detail::Growing<Node> nodes_;  // of this rank
  tenon::detail::Growing<Bucket> buckets_;
  tenon::detail::Growing<std::byte*> filled_;  // where this rank writes sums
  AlignedBytes received_;
  long received_bytes_ = 0;
  std::byte* free_ = nullptr;  // in it
};

#if TENON_DEFINES
// Cold, though most of it runs in each step: it waits for messages, and is compiled in less time for size.
[[gnu::cold, gnu::noinline]] TENON_INLINE bool ShardSum::Bucket::has_arrived(bool wait) {
  for (Pending& message : messages)
    if (wait) message.wait();
    else if (!message.test()) return false;
  messages.clear();
  return true;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::forget_messages() {
  for (Bucket& bucket : buckets_) bucket.messages.clear();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::grow(const SumBytes& bytes) {
  const std::size_t size = std::size_t(header + bytes.all);
  if (group_.size() > 1 && group_.shares_memory())
    shared_ = SharedBlocks(group_, size, !tenon::detail::computes_there());
  if (!shared_) {
    block_ = TargetBytes(size, "the gradients of a shard");
    bytes_ = bytes;
    std::memset(tenon::detail::home(block_.address(), size, Look::overwrite), 0, size);
  }
  kept_.clear();
  room_ = bytes.all;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::fit(const SumBytes& bytes, std::span<const long> ends) {
  if (bytes.all > room_) grow(bytes);
  bytes_ = bytes;
  if (buckets_.size() > ends.size()) buckets_.clear();
  buckets_.fill(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i)
    buckets_[i].bytes = {i ? ends[i - 1] : 0, i + 1 < ends.size() ? ends[i] : bytes.all};
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::byte* ShardSum::values(long begin) const {
  if (shared_) return shared_.of(group_.rank()) + header + begin;
  return tenon::detail::home(block_.address() + header + begin, std::size_t(bytes_.all - begin), Look::change);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::each_node_of(int rank, FunctionRef<int, int> f) const {
  const ShardRange own = part_of(shards_, group_.size(), rank);
  each_node_within(int(own.begin), int(own.end), int(all_), f);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE std::size_t ShardSum::nodes_of(int rank) const {
  std::size_t nodes = 0;
  each_node_of(rank, [&](int, int) { ++nodes; });
  return nodes;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE bool ShardSum::find_reach() {
  if (!shared_) return false;
  std::size_t most = 1;
  for (int rank = 0; rank < group_.size(); ++rank) most = math::max(most, nodes_of(rank));
  const std::size_t bytes = (most - 1) * std::size_t(room_);
  if (shared_nodes_.bytes() < bytes) shared_nodes_ = SharedBlocks(group_, bytes, true);
  return shared_nodes_.bytes() >= bytes;
}
TENON_INLINE const std::byte* ShardSum::node_of(int rank, std::size_t place) const {
  if (place + 1 == nodes_of(rank)) return shared_.of(rank) + header;
  return shared_nodes_.of(rank) + place * std::size_t(room_);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::run(long shards, long all, FunctionRef<int, bool> shard) {
  const Landing landing{*this};
  shards_ = shards, all_ = all;
  if constexpr (several_targets) there_.ranks = tenon::detail::computes_there() ? group_.device_ranks() : nullptr;
  reaches_ = find_reach();
  nodes_.clear();
  waiting_ = nullptr;
  current_ = last_ = -1, started_ = added_ = 0;
  each_node_of(group_.rank(), [&](int begin, int leaves) { last_ = begin + leaves - 1; });
  each_node_of(group_.rank(), [&](int begin, int leaves) {
    if (!nodes_.empty()) nodes_.back().data = keep(nodes_.size() - 1);
    nodes_.push_back({begin, leaves, own(), 0});
    add_up(begin, leaves, most_depth, shard);
  });
  if (group_.size() == 1) return;
  if constexpr (several_targets)
    if (there_.ranks) return exchange_there();
  complete(bytes_.all);
  for (; added_ < started_; ++added_) add_bucket(buckets_[added_], true);
  for (Bucket& bucket : buckets_) bucket.has_arrived(true);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::complete(long bytes) {
  if (group_.size() == 1 || current_ != last_ || there_.ranks) return;
  while (started_ < buckets_.size() && buckets_[started_].bytes.end <= bytes) start(buckets_[started_++]);
  while (added_ < started_ && add_bucket(buckets_[added_], false)) ++added_;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::compute(int leaf, bool begins, FunctionRef<int, bool> shard) {
  current_ = leaf;
  shard(leaf, begins);
  complete(bytes_.all);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::add_up(int first, int leaves, std::size_t depth,
                                                                FunctionRef<int, bool> shard) {
  if (leaves == 1) return compute(first, true, shard);
  const int left = tree_split(leaves);
  add_up(first, left, depth, shard);
  if (leaves - left == 1) return compute(first + left, false, shard);
  const Waiting waiting{keep(depth), waiting_};
  waiting_ = &waiting;
  add_up(first + left, leaves - left, depth + 1, shard);
  if (there_.ranks) {
    if constexpr (several_targets) there_.add(own(), waiting.data, bytes_);
  } else if (started_ == 0) add_sums(values(), waiting.data, bytes_, {0, bytes_.all});  // else start() has
  waiting_ = waiting.before;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE const std::byte* ShardSum::keep(std::size_t place) {
  if constexpr (several_targets)
    if (there_.ranks) return there_.keep(place, own(), bytes_.all, room_);
  std::byte* to;
  if (reaches_ && place < most_depth) {
    to = shared_nodes_.of(group_.rank()) + place * std::size_t(room_);
  } else {
    kept_.fill(place + 1);
    if (!kept_[place].data()) kept_[place] = AlignedBytes(std::size_t(room_), "partial sums of gradients");
    to = kept_[place].data();
  }
  std::memcpy(to, values(), std::size_t(bytes_.all));
  return to;
}
[[gnu::cold, gnu::noinline]] TENON_INLINE ShardRange ShardSum::slice(const Bucket& bucket, int rank) const {
  const ShardRange words = part_of(bucket.bytes.size() / 8, group_.size(), rank);
  return {bucket.bytes.begin + words.begin * 8, bucket.bytes.begin + words.end * 8};
}

#if defined(TENON_TARGET)
[[gnu::noinline]] TENON_INLINE void ShardSum::exchange_there() {
  using Part = DeviceRanks::Part;
  const Bucket whole{.bytes = {0, bytes_.all}};
  const ShardRange mine = slice(whole, group_.rank());
  tenon::detail::Growing<Part> sent, received;
  tenon::detail::Growing<TreeNode> nodes;
  std::size_t others = 0;
  for (int rank = 0; rank < group_.size(); ++rank) others += rank == group_.rank() ? 0 : nodes_of(rank);
  std::byte* free = there_.room(long(others) * mine.size());
  for (int rank = 0; rank < group_.size(); ++rank) {
    const ShardRange theirs = slice(whole, rank);
    if (rank == group_.rank())
      for (const Node& node : nodes_) nodes.push_back({node.first, node.leaves, node.data + mine.begin});
    else {
      each_node_of(rank, [&](int first, int leaves) {
        received.push_back({rank, free, std::size_t(mine.size())});
        nodes.push_back({first, leaves, free});
        free += mine.size();
      });
      for (const Node& node : nodes_)
        sent.push_back({rank, const_cast<std::byte*>(node.data) + theirs.begin, std::size_t(theirs.size())});
    }
  }
  const auto exchange = [&] {
    there_.ranks->exchange({sent.begin(), sent.size()}, {received.begin(), received.size()});
    sent.clear(), received.clear();
  };
  exchange();
  there_.sum(bytes_, mine, int(all_), {nodes.begin(), nodes.size()}, own() + mine.begin);
  for (int rank = 0; rank < group_.size(); ++rank) {
    const ShardRange theirs = slice(whole, rank);
    if (rank == group_.rank()) continue;
    sent.push_back({rank, own() + mine.begin, std::size_t(mine.size())});
    received.push_back({rank, own() + theirs.begin, std::size_t(theirs.size())});
  }
  exchange();
  there_.ranks->wait();
}
#endif
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::make_room() {
  long nodes = 0, bytes = 0;
  for (int rank = 0; rank < group_.size(); ++rank)
    if (rank != group_.rank()) nodes += long(nodes_of(rank));
  for (Bucket& bucket : buckets_) bytes += (bucket.mine = slice(bucket, group_.rank())).size();
  filled_.clear();
  for (int rank = 0; rank < group_.size(); ++rank)
    if (reaches_ || rank == group_.rank())
      filled_.push_back(rank == group_.rank() ? values() : shared_.of(rank) + header);
  if (reaches_) return;
  if (received_bytes_ < nodes * bytes) {
    received_ = AlignedBytes(std::size_t(nodes * bytes), "the gradients of other ranks");
    received_bytes_ = nodes * bytes;
  }
  free_ = received_.data();
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::start(Bucket& bucket) {
  if (&bucket == buckets_.begin()) make_room();
  for (const Waiting* waiting = waiting_; waiting; waiting = waiting->before)
    add_sums(values(), waiting->data, bytes_, bucket.bytes);
  bucket.nodes.clear();
  for (int rank = 0; rank < group_.size(); ++rank)
    if (rank == group_.rank())
      for (const Node& node : nodes_) bucket.nodes.push_back(node);
    else if (reaches_) start_by_memory(bucket, rank);
    else start_by_messages(bucket, rank);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::start_by_messages(Bucket& bucket, int rank) {
  each_node_of(rank, [&](int first, int leaves) {
    bucket.messages.push_back(group_.start_own_receive(rank, slice_tag, {free_, std::size_t(bucket.mine.size())}));
    bucket.nodes.push_back({first, leaves, free_, bucket.mine.begin});
    free_ += bucket.mine.size();
  });
  const ShardRange theirs = slice(bucket, rank);
  for (const Node& node : nodes_)
    bucket.messages.push_back(
        group_.start_own_send(rank, slice_tag, {node.data + theirs.begin, std::size_t(theirs.size())}));
}
// A rank without nodes says so, too: that others may write their sums into its block.
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::start_by_memory(Bucket& bucket, int rank) {
  std::size_t place = 0;
  each_node_of(rank,
               [&](int first, int leaves) { bucket.nodes.push_back({first, leaves, node_of(rank, place++), 0}); });
  bucket.messages.push_back(group_.start_own_receive(rank, slice_tag, {}));
  bucket.messages.push_back(group_.start_own_send(rank, slice_tag, {}));
}
[[gnu::cold, gnu::noinline]] TENON_INLINE bool ShardSum::add_bucket(Bucket& bucket, bool wait) {
  if (!bucket.has_arrived(wait)) return false;
  add_slice(bucket);
  std::byte* const sum = values();
  const ShardRange mine = reaches_ ? ShardRange{0, 0} : bucket.mine;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const ShardRange theirs = reaches_ ? ShardRange{0, 0} : slice(bucket, rank);
    bucket.messages.push_back(
        group_.start_own_receive(rank, sum_tag, {sum + theirs.begin, std::size_t(theirs.size())}));
    bucket.messages.push_back(group_.start_own_send(rank, sum_tag, {sum + mine.begin, std::size_t(mine.size())}));
  }
  return true;
}

[[gnu::noinline]] TENON_INLINE void ShardSum::fold(Fold& block, int first, int leaves, std::byte* sum) const {
  const Node& node = block.bucket.nodes[block.next];
  if (node.first == first && node.leaves == leaves) {
    std::memcpy(sum, node.data + (block.at - node.begin), std::size_t(block.size));
    ++block.next;
    return;
  }
  const int left = tree_split(leaves);
  alignas(double) std::byte right[block_bytes];
  fold(block, first, left, sum);
  fold(block, first + left, leaves - left, right);
  add_block(sum, right, block.size, block.wide);
}
[[gnu::cold, gnu::noinline]] TENON_INLINE void ShardSum::add_slice(const Bucket& bucket) {
  each_block(bytes_, bucket.mine, [&](long at, long size, bool wide) {
    alignas(double) std::byte sum[block_bytes];
    Fold block{bucket, at, size, wide};
    fold(block, 0, int(all_), sum);
    for (std::byte* const to : filled_) std::memcpy(to + at, sum, std::size_t(size));
  });
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon::dist
