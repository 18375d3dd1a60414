// Attention with a mask, and with the weights of the keys as a second result.
#pragma once
#include <limits>
#include <tuple>

#include <tenon/ops/add.hpp>
#include <tenon/ops/attention.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/transpose.hpp>

namespace tenon::inline TENON_ABI::ops {

/// In place of a mask.
struct NoMask {};

namespace detail {
/// The operands of attention with a mask: q [n, T, heads · D], k and v [n, S, heads · D].
template <int heads, class K, class V>
struct HeadsRule {
  static constexpr FixedString name{"Attention"};
  static constexpr bool holds(const TensorType& q) {
    return q.rank == 3 && K::dims.rank == 3 && heads > 0 && q[2] % heads == 0 && q[0] == K::dims[0] &&
           q[2] == K::dims[2] && V::dims.same_shape(K::dims);
  }
  static constexpr void write(Sentence& error, const TensorType& q) {
    error << "Attention of " << heads << " heads with a mask or weights needs q [n,T,F] and k, v [n,S,F], where F is a "
          << "multiple of the heads; got " << q << ", " << K::dims << ", and " << V::dims;
  }
};
/// [n, T, heads · D] as [n, heads, T, D].
template <int heads, class X>
constexpr auto by_head(const X& x, const std::source_location& at) {
  constexpr TensorType t = X::dims, parts{{t[0], t[1], heads, t[2] / heads}, 4, t.dtype};
  return transpose<0, 2, 1, 3>(apply<Reshape, Reshape::to(parts)>(at, x), at);
}
/// scores [n, heads, T, S] without the keys that a mask forbids (bool: true), or plus the mask (floating-point).
template <class S, class M>
constexpr auto masked(const S& scores, const M& mask, const std::source_location& at) {
  if constexpr (std::is_same_v<M, NoMask>) return scores;
  else if constexpr (is_broken<M>) return mask;
  else if constexpr (M::dims.rank == 3) return masked(scores, expand_dims<1>(mask, at), at);
  else if constexpr (M::dims.dtype == Dtype::bool_)
    return select(mask, -std::numeric_limits<float>::infinity(), scores, at);
  else return add(scores, mask, at);
}
template <class S>
constexpr auto causally_masked(const S& scores, const std::source_location& at) {
  constexpr int queries = S::dims[2], keys = S::dims[3];
  const auto later = greater(arange<keys>(scores, at), reshape<Shape<queries, 1>>(arange<queries>(scores, at), at), at);
  return masked(scores, later, at);
}
}  // namespace detail

/// Attention with a mask, and the weights of the keys, averaged over the heads:
/// `auto [y, weights] = masked_attention<AttentionConfig{.heads = 4}>(q, k, v, mask);`
///
/// q           [n, T, heads · D]; k, v [n, S, heads · D], or with shared heads, as for attention; floating-point
/// mask        [T, S], [n, T, S], [n, 1, S] (keys that are padding), or [n, heads, T, S]: bool, true where a key must
///             not be seen, or floating-point numbers that are added to the scores; or left out. A query that may see
///             no key is NaN, as in PyTorch
/// results     [n, T, heads · D]; [n, T, S]
/// derivative  of the operators that it consists of: matmul, softmax
/// source      Vaswani and others, arXiv 1706.03762; masks as in MindSpore's and PyTorch's MultiheadAttention
template <AttentionConfig config = AttentionConfig{}, Operand Q, Operand K, Operand V, class Mask = NoMask>
constexpr auto masked_attention(const Q& q, const K& k, const V& v, const Mask& mask = {},
                                std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<Q>) return std::tuple(q, q);
  else if constexpr (is_broken<K>) return std::tuple(k, k);
  else if constexpr (is_broken<V>) return std::tuple(v, v);
  else if constexpr (constexpr int times = detail::sharing(config.heads, Q::dims, K::dims, V::dims); times > 1) {
    constexpr int features = Q::dims[2] / config.heads;
    return masked_attention<config>(q, detail::repeated_heads<times, features>(k, at),
                                    detail::repeated_heads<times, features>(v, at), mask, at);
  } else if constexpr (!detail::HeadsRule<config.heads, K, V>::holds(Q::dims)) {
    const auto refused = apply<Refused<detail::HeadsRule<config.heads, K, V>>>(at, q);
    return std::tuple(refused, refused);
  } else {
    constexpr int size = Q::dims[2] / config.heads;
    constexpr double scale = config.scale > 0 ? config.scale : 1 / detail::root_of(size);
    const auto scores = matmul<Transposed::second>(mul(detail::by_head<config.heads>(q, at), scale, at),
                                                   detail::by_head<config.heads>(k, at), at);
    const auto allowed = [&] {
      if constexpr (config.causal) return detail::masked(detail::causally_masked(scores, at), mask, at);
      else return detail::masked(scores, mask, at);
    }();
    const auto weights = softmax(allowed, at);
    const auto y = transpose<0, 2, 1, 3>(matmul(weights, detail::by_head<config.heads>(v, at), at), at);
    return std::tuple(apply<Reshape, Reshape::to(Q::dims)>(at, y), reduce_mean<1>(weights, at));
  }
}

}  // namespace tenon::ops
