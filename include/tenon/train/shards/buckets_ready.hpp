// When buckets of gradients are complete, and go to other ranks while the graph computes the next ones.
#pragma once
#include <tenon/lowering/program.hpp>
#include <tenon/train/shards/shard_graph.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// After how many instructions of a graph each bucket is complete, and those before it: planned when it is compiled.
template <class Net, class Graph>
struct BucketsReady {
  using Layout = SumLayout<Net>;
  struct Table {
    int after[Layout::most_buckets]{};
  };
  static constexpr Table make() {
    Table t;
    const Program& program = Graph::program;
    for (int i = 0; i < program.instructions; ++i)
      for (int k = 0; k < program.instruction[i].buffers; ++k)
        if (const BufferPlace place = program.place_of(program.instruction[i], k);
            place.region == Region::state && place.offset >= alignment)
          t.after[bucket_at(place.offset - alignment)] = i + 1;
    for (int bucket = 1; bucket < Layout::table.buckets; ++bucket)
      if (t.after[bucket] < t.after[bucket - 1]) t.after[bucket] = t.after[bucket - 1];
    return t;
  }
  static constexpr int bucket_at(long byte) {
    int bucket = 0;
    while (Layout::table.end[bucket] <= byte) ++bucket;
    return bucket;
  }
  static constexpr Table table = make();
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
