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

/// to += from, in a part of a sum.
void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes, ShardRange part);

/// What the shards of a batch give, added along the tree over them (dist/sum_tree.hpp). A rank adds its own, and sends
/// a slice of each partial sum to the rank that adds this slice, which sends the sum to all. Buckets, runs of bytes of
/// the sum, do so one after the other, as soon as the last shard of a rank has left them.
class ShardSum {
 public:
  static constexpr long header = alignment;

  explicit ShardSum(Communicator group) : group_(std::move(group)) {}

  const Communicator& group() const { return group_; }
  /// Makes room for sums of this size. `ends` are the bytes at which the buckets end: multiples of 8, the same on all
  /// ranks. The last bucket ends with the sum, whatever its end is.
  void fit(const SumBytes& bytes, std::span<const long> ends) {
    if (bytes.all > room_) {
      block_ = TargetBytes(std::size_t(header + bytes.all), "the gradients of a shard");
      std::memset(home(block_.address()), 0, std::size_t(header + bytes.all));
      kept_.clear();
      room_ = bytes.all;
    }
    bytes_ = bytes;
    buckets_.resize(ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i)
      buckets_[i].bytes = {i ? ends[i - 1] : 0, i + 1 < ends.size() ? ends[i] : bytes.all};
  }
  /// What a shard writes to: a header, which is not added, then the numbers.
  std::byte* block() const { return block_.address(); }
  /// The numbers for the host; after run() their sum.
  std::byte* values() const { return home(block_.address(), std::size_t(header + bytes_.all), Look::change) + header; }

  /// Calls shard(number, begins) for this rank's shards of the first `all` of `shards`: it writes to the block what the
  /// shard gives, or adds it to what is there. All ranks call it, and have the sum in their block then.
  void run(long shards, long all, FunctionRef<int, bool> shard) {
    const Landing landing{*this};
    shards_ = shards, all_ = all;
    nodes_.clear();
    waiting_.clear();
    current_ = last_ = -1, started_ = added_ = 0;
    each_node_of(group_.rank(), [&](int begin, int leaves) { last_ = begin + leaves - 1; });
    each_node_of(group_.rank(), [&](int begin, int leaves) {
      if (!nodes_.empty()) nodes_.back().data = keep(nodes_.size() - 1);
      nodes_.push_back({begin, leaves, values(), 0});
      add_up(begin, leaves, most_depth, shard);
    });
    if (group_.size() == 1) return;
    complete(bytes_.all);
    for (; added_ < started_; ++added_) add_bucket(buckets_[added_], true);
    for (Bucket& bucket : buckets_) bucket.has_arrived(true);
  }
  /// A shard may say that its first `bytes` are final. If it is the last shard of this rank, their buckets start to
  /// travel while it computes the other bytes. Each call lets messages make progress.
  void complete(long bytes) {
    if (group_.size() == 1 || current_ != last_) return;
    while (started_ < buckets_.size() && buckets_[started_].bytes.end <= bytes) start(buckets_[started_++]);
    while (added_ < started_ && add_bucket(buckets_[added_], false)) ++added_;
  }

 private:
  // The sum of the leaves first to first + leaves - 1.
  struct Node {
    int first, leaves;
    const std::byte* data;
    long begin = 0;  // the byte of the sum that data begins with
  };
  // A run of bytes of the sum on its way. Messages of all ranks are in the order of the buckets.
  struct Bucket {
    ShardRange bytes, mine;  // `mine`: the slice that this rank adds
    std::vector<Node> nodes;
    std::vector<Pending> messages;

    bool has_arrived(bool wait) {
      for (Pending& message : messages)
        if (wait) message.wait();
        else if (!message.test()) return false;
      messages.clear();
      return true;
    }
  };
  // Gives up messages after an error, while it unwinds.
  struct Landing {
    ShardSum& sum;
    ~Landing() {
      for (Bucket& bucket : sum.buckets_) bucket.messages.clear();
    }
  };
  static constexpr std::size_t most_depth = 32;
  static constexpr int slice_tag = most_tag + 8, sum_tag = most_tag + 9;

  static std::byte* home(std::byte* data, std::size_t bytes = 0, Look look = Look::change) {
    return tenon::detail::home(data, bytes, look);
  }
  template <class F>
  void each_node_of(int rank, F f) const {
    const ShardRange own = part_of(shards_, group_.size(), rank);
    each_node_within(int(own.begin), int(own.end), int(all_), f);
  }
  void compute(int leaf, bool begins, FunctionRef<int, bool> shard) {
    current_ = leaf;
    shard(leaf, begins);
    complete(bytes_.all);
  }
  // A node of this rank, into the block. Partial sums wait in the buffers from `depth` on.
  void add_up(int first, int leaves, std::size_t depth, FunctionRef<int, bool> shard) {
    if (leaves == 1) return compute(first, true, shard);
    const int left = tree_split(leaves);
    add_up(first, left, depth, shard);
    if (leaves - left == 1) return compute(first + left, false, shard);
    waiting_.push_back(keep(depth));
    add_up(first + left, leaves - left, depth + 1, shard);
    if (started_ == 0) add_sums(values(), waiting_.back(), bytes_, {0, bytes_.all});  // else start() has
    waiting_.pop_back();
  }
  const std::byte* keep(std::size_t place) {
    if (kept_.size() <= place) kept_.resize(place + 1);
    if (!kept_[place].data()) kept_[place] = AlignedBytes(std::size_t(room_), "partial sums of gradients");
    std::memcpy(kept_[place].data(), values(), std::size_t(bytes_.all));
    return kept_[place].data();
  }
  ShardRange slice(const Bucket& bucket, int rank) const {
    const ShardRange words = part_of(bucket.bytes.size() / 8, group_.size(), rank);
    return {bucket.bytes.begin + words.begin * 8, bucket.bytes.begin + words.end * 8};
  }
  void make_room();
  void start(Bucket& bucket);
  bool add_bucket(Bucket& bucket, bool wait);
  void add_slice(const Bucket& bucket);

  Communicator group_;
  SumBytes bytes_;
  long room_ = 0, shards_ = 0, all_ = 0;
  int current_ = -1, last_ = -1;         // shards: the one that computes, the last one of this rank
  std::size_t started_ = 0, added_ = 0;  // buckets
  TargetBytes block_;
  std::vector<AlignedBytes> kept_;         // the partial sums of add_up, from most_depth on, and nodes_ but the last
  std::vector<const std::byte*> waiting_;  // those that the node to the right of them is added to
  std::vector<Node> nodes_;                // of this rank
  std::vector<Bucket> buckets_;
  std::vector<std::byte> received_;
  std::byte* free_ = nullptr;  // in it
};

TENON_EXACT_BEGIN
template <class S>
void add_numbers(std::byte* to, const std::byte* from, long begin, long end) {
  S* const sum = reinterpret_cast<S*>(to + begin);
  const S* const other = reinterpret_cast<const S*>(from + begin);
  parallel_for((end - begin) / long(sizeof(S)), 1 << 15, [sum, other](long first, long stop) {
    for (long i = first; i < stop; ++i) sum[i] = sum[i] + other[i];
  });
}
TENON_EXACT_END
inline void add_sums(std::byte* to, const std::byte* from, const SumBytes& bytes, ShardRange part) {
  const FlushDenormals flush;
  add_numbers<float>(to, from, std::min(part.begin, bytes.floats), std::min(part.end, bytes.floats));
  add_numbers<double>(to, from, std::max(part.begin, bytes.floats), std::max(part.end, bytes.floats));
}

// For what arrives from other ranks, before the first bucket starts.
inline void ShardSum::make_room() {
  long nodes = 0, bytes = 0;
  for (int rank = 0; rank < group_.size(); ++rank)
    each_node_of(rank, [&](int, int) { nodes += rank != group_.rank(); });
  for (Bucket& bucket : buckets_) bytes += (bucket.mine = slice(bucket, group_.rank())).size();
  if (long(received_.size()) < nodes * bytes) received_.resize(std::size_t(nodes * bytes));
  free_ = received_.data();
}
inline void ShardSum::start(Bucket& bucket) {
  if (&bucket == buckets_.data()) make_room();
  for (std::size_t i = waiting_.size(); i-- > 0;) add_sums(values(), waiting_[i], bytes_, bucket.bytes);
  bucket.nodes.clear();
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) {
      bucket.nodes.insert(bucket.nodes.end(), nodes_.begin(), nodes_.end());
      continue;
    }
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
}
// When all nodes of a slice are there: its sum is on its way to all ranks.
inline bool ShardSum::add_bucket(Bucket& bucket, bool wait) {
  if (!bucket.has_arrived(wait)) return false;
  add_slice(bucket);
  std::byte* const sum = values();
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const ShardRange theirs = slice(bucket, rank), mine = bucket.mine;
    bucket.messages.push_back(
        group_.start_own_receive(rank, sum_tag, {sum + theirs.begin, std::size_t(theirs.size())}));
    bucket.messages.push_back(group_.start_own_send(rank, sum_tag, {sum + mine.begin, std::size_t(mine.size())}));
  }
  return true;
}

inline void ShardSum::add_slice(const Bucket& bucket) {
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
          for (const Node& node : bucket.nodes)
            if (node.first == first && node.leaves == leaves) {
              std::memcpy(out, node.data + (offset - node.begin), std::size_t(size) * sizeof(S));
              return true;
            }
          return false;
        };
        fold_node<Add, S>(read, 0, int(all_), std::size_t(size), sum);
        std::memcpy(to + offset, sum, std::size_t(size) * sizeof(S));
      }
    });
  };
  const ShardRange mine = bucket.mine;
  add(float(), std::min(mine.begin, bytes_.floats), std::min(mine.end, bytes_.floats));
  add(double(), std::max(mine.begin, bytes_.floats), std::max(mine.end, bytes_.floats));
}
}  // namespace detail

}  // namespace tenon::dist
