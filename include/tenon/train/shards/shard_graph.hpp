// The graph of a shard: what it gives in place of updates, and what else of it is added over the shards.
#pragma once
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/train/step/graphs.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// Where the sum of each trained parameter's gradients is, in bytes from the begin of a block: after a header, float32
/// before float64, the last parameters first, as a backward pass computes them. Neighbours are a bucket, which travels
/// to other ranks when it is complete.
template <class Net>
struct SumLayout {
  // smaller ones are messages that cost more than they carry
  static constexpr long least_bucket = 256 << 10, most_buckets = 32;
  struct Table {
    long offset[Structure<Net>::count]{};  // 0: it has none
    long floats = 0, bytes = 0;            // after the header
    long end[most_buckets]{};              // where buckets end, after the header
    int buckets = 0;
  };
  static constexpr long all_bytes() {
    long bytes = 0;
    for (int e = 0; e < Structure<Net>::count; ++e)
      if (const Entry& entry = Structure<Net>::table.entry[e]; entry.trainable)
        bytes += aligned(nn::detail::sum_type(entry.dims).bytes(1));
    return bytes;
  }
  static constexpr Table make() {
    Table t;
    const long each = all_bytes() / most_buckets > least_bucket ? all_bytes() / most_buckets : least_bucket;
    long begin = 0;
    for (const bool wide : {false, true}) {
      for (int e = Structure<Net>::count; e-- > 0;) {
        const Entry& entry = Structure<Net>::table.entry[e];
        if (!entry.trainable || (entry.dims.dtype == Dtype::float64) != wide) continue;
        t.offset[e] = alignment + t.bytes;
        t.bytes += aligned(nn::detail::sum_type(entry.dims).bytes(1));
        if (t.bytes - begin > each) t.end[t.buckets++] = begin = t.bytes;
      }
      if (!wide) t.floats = t.bytes;
    }
    if (begin < t.bytes || t.buckets == 0) t.end[t.buckets++] = t.bytes;
    return t;
  }
  static constexpr Table table = make();
};

/// In place of an optimizer: the gradients begin or continue sums over shards.
template <class Net>
struct GradientSums {
  static constexpr int slots = 0;
  static constexpr void append(Builder& b, const EntryGradients<Net>& all) {
    const int first = b.leaf(&info<ops::StateLeaf>, type_of<float, Shape<>>, first_gradient_state);
    for (int i = 0; i < all.count; ++i) {
      const EntryGradient& one = all.one[i];
      b.scope = one.entry;
      b.location = {};
      const int sum = b.leaf(&info<ops::StateLeaf>, nn::detail::sum_type(Structure<Net>::table.entry[one.entry].dims),
                             std::uint64_t(SumLayout<Net>::table.offset[one.entry]));
      b.template call<ops::AccumulateGradient>(NoConfig{}, sum, one.gradient, first);
      b.scope = 0;
    }
  }
};

/// The parameter that a node changes without being an update of it, a moving statistic, or -1.
template <int N>
constexpr int changed_parameter(const Graph<N>& graph, const Node& node) {
  if (!node.op->effect || node.op->host_effect) return -1;
  const Node* target = &graph[node.operand[0]];
  while (target->op->view || target->op->effect) target = &graph[target->operand[0]];
  return is<ops::ParameterLeaf>(*target) ? int(target->immediate) : -1;
}

/// What the graph of a shard says of its sums.
template <class Net, class Graph>
struct ShardFacts {
  struct Table {
    bool reached[Structure<Net>::count]{};  // parameters that have a gradient
    bool moving[Structure<Net>::count]{};   // statistics that a forward pass changes
    TensorType output[max_outputs]{};
    int outputs = 0;
    bool all_sums = true, all_means = true;
  };
  static constexpr Table make() {
    const auto& graph = Graph::captured.graph;
    Table t;
    for (int id = 0; id < graph.count; ++id) {
      const Node& node = graph[id];
      if (const int entry = changed_parameter(graph, node); entry >= 0) t.moving[entry] = true;
      if (is<ops::AccumulateGradient>(node)) t.reached[node.scope] = true;
    }
    t.outputs = graph.outputs;
    for (int k = 0; k < graph.outputs; ++k) {
      const Node& loss = graph[graph.output[k]];
      t.output[k] = loss.type;
      const bool is_sum = loss.type.rank > 0 || is<ops::ReduceSum>(loss);
      (is_sum ? t.all_means : t.all_sums) = false;
    }
    return t;
  }
  static constexpr Table table = make();
  static_assert(table.all_sums || table.all_means,
                "DataParallel: some losses are sums over the samples, others are means: a shard has one weight");
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
