// DistributedSampler: the part of the rows that one of several processes reads.
#pragma once
#include <algorithm>

#include <tenon/core/process_rank.hpp>
#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/sampler/sample.hpp>
#include <tenon/dataset/stage/seed.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The treatment of rows that cannot be distributed evenly:
///   wrap    all shards have ceil(rows / num_shards) rows; the first rows come again at the end (MindSpore's rule)
///   exact   no row comes twice: some shards have a row less than others
///   drop    all shards have floor(rows / num_shards) rows; the last rows are in none
enum class ShardRule { wrap, exact, drop };

namespace detail {
struct ShardDraw {
  static constexpr bool reorders = true;
  long num_shards, shard_id;
  ShardRule rule;
  bool shuffle;
  long num_samples, offset;
  std::uint64_t seed;

  void describe(auto& d) const {
    d.add(num_shards, shard_id, rule, shuffle, num_samples, offset, seed);
    if (shuffle) d.each_epoch_differs();
  }
  long size(long rows) const {
    long count = 0;
    if (offset >= 0 || rule == ShardRule::exact) {
      const long shift = std::max(offset, 0L);
      count = (rows + shift) / num_shards + (shard_id < (rows + shift) % num_shards) - (shard_id < shift);
    } else {
      count = rule == ShardRule::wrap ? (rows + num_shards - 1) / num_shards : rows / num_shards;
    }
    return num_samples > 0 ? std::min(num_samples, count) : count;
  }
  Drawn draw(long position, long rows, std::uint64_t epoch) const {
    const long shift = std::max(offset, 0L);
    const long dealt = num_shards * (position + (shard_id < shift)) + shard_id - shift, row = dealt % rows;
    const auto again = static_cast<std::uint64_t>(dealt / rows);
    return {shuffle ? Permutation(rows, sampler_key(seed, epoch))(row) : row, again};
  }
  void check(const char* asked) const {
    if (num_shards < 1) throw_error<ValueError>(asked, ": num_shards is ", num_shards, "; it must be 1 or more.");
    if (shard_id < 0 || shard_id >= num_shards)
      throw_error<ValueError>(asked, ": shard_id is ", shard_id, ", legal are 0 .. ", num_shards - 1,
                              " with num_shards = ", num_shards, ".");
    if (num_samples < 0)
      throw_error<ValueError>(asked, ": num_samples is ", num_samples, "; it must be 1 or more, or 0 for all.");
    if (offset < -1 || offset > num_shards)
      throw_error<ValueError>(asked, ": offset is ", offset, ", legal are 0 .. num_shards (", num_shards,
                              "), or -1 for none.");
  }
};
}  // namespace detail

/// Shard shard_id of num_shards, with ceil(rows / num_shards) rows: its row i is row (num_shards * i + shard_id) mod
/// rows of the data set. The first rows therefore repeat if the shards cannot be equal. With shuffle all rows are
/// permuted first, differently in each epoch, but equally in all shards with the same seed. With an offset >= 0 the
/// first row goes to that shard, and no row repeats. By default a shard for each rank of the program (dist::init), and
/// that of this rank. Throws ValueError for numbers out of range. Source: MindSpore's
/// DistributedSampler.
struct DistributedSampler {
  long num_shards = tenon::detail::rank_here().ranks, shard_id = tenon::detail::rank_here().rank;
  bool shuffle = true;
  long num_samples = 0, offset = -1;
  std::uint64_t seed = default_seed();

  detail::ShardDraw prepared(long) const {
    const detail::ShardDraw draw{num_shards, shard_id, ShardRule::wrap, shuffle, num_samples, offset, seed};
    draw.check("DistributedSampler");
    return draw;
  }
};

}  // namespace tenon::dataset
