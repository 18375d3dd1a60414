// Fusion of a convolution with the maximum over windows behind it.
#pragma once
#include <tenon/graph/node.hpp>

namespace tenon::inline TENON_ABI::detail {

inline constexpr int max_pool = operator_id("MaxPool");

/// The settings of a maximum over windows of 2 x 2 side by side: in the order of ops::Pool2dAttributes.
constexpr Attributes halving_pool(int height, int width) { return {{2, 2, 2, 2, 0, 0, height, width}}; }

/// True if the maximum over windows `pool` of the convolution `product`, which nothing else reads, can be computed with it: a pair of
/// rows at a time, the epilogue reading numbers and values per channel only.
template <int N>
constexpr bool joins_pool(const Graph<N>& graph, const Node& pool, const Node& product) {
  if (pool.op->id != max_pool || !rules_of(product.op).with_pool || product.type.dtype != Dtype::float32) return false;
  if (pool.attributes != halving_pool(product.type.extent[2] / 2, product.type.extent[3] / 2)) return false;
  for (int k = 2; k < product.operands; ++k)
    if (graph[product.operand[k]].type.same_shape(product.type)) return false;
  return true;
}
/// Both as one node.
constexpr Node with_pool(const Node& pool, Node product) {
  product.op = rules_of(product.op).with_pool;
  product.type = pool.type;
  product.location = pool.location, product.scope = pool.scope;
  return product;
}

}  // namespace tenon::detail
