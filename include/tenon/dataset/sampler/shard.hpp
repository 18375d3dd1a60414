// shard({.num_shards = 8, .shard_id = 0}): the part of a data set that one of several processes reads.
#pragma once
#include <tenon/dataset/sampler/distributed_sampler.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct ShardConfig {
  long num_shards = tenon::detail::rank_here().ranks, shard_id = tenon::detail::rank_here().rank;
  ShardRule rule = ShardRule::wrap;
};

struct ShardMaker {
  using makes_stage = void;
  detail::ShardDraw draw;
  template <class D>
  auto applied_to(const D& data) const {
    detail::check_any_order<D>();
    if (D::counted && draw.size(data.size()) == 0)
      throw_error<ValueError>("shard: of ", data.size(), " rows, shard ", draw.shard_id, " of ", draw.num_shards,
                              " has none; use fewer shards, or the rule wrap.");
    return Sampled(data, draw);
  }
};

/// Every num_shards-th row, starting from row shard_id: `data | shuffle(n) | shard({.num_shards = 8, .shard_id = 3})`.
/// By default a shard for each rank of the program, and that of this rank: `data | shuffle(n) | shard() | batch(32)`
/// after dist::init; without it, all rows.
/// After a shuffle with the same seed in all processes, the shards are parts of one order, which changes in each epoch.
/// The rule determines the treatment of rows that cannot be distributed evenly. With MindSpore's rule, the default, the
/// first rows repeat, with new random augmentation. Throws ValueError if num_shards < 1, shard_id is outside 0 ..
/// num_shards - 1, or the shard has no row. Source: MindSpore's num_shards and shard_id, which also shuffle by default;
/// use shuffle here.
inline ShardMaker shard(ShardConfig config = {}) {
  const detail::ShardDraw draw{config.num_shards, config.shard_id, config.rule, false, 0, -1, 0};
  draw.check("shard");
  return {draw};
}

}  // namespace tenon::dataset
