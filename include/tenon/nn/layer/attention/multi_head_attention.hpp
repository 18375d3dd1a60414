// Multi-head attention, as in transformers.
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/attention.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A cache of keys and values: nn::KeyValueCache.
template <class C>
concept KeyValueStore = requires(const C& cache) {
  cache.keys;
  cache.values;
  C::length;
};

struct MultiHeadAttentionConfig {
  bool causal = false;  // position i sees positions 0 .. i, as a language model must
  bool has_bias = true;
  bool need_weights = false;  // the weights, averaged over the heads, are a second result
};

/// Multi-head attention:  out_proj(softmax(q kᵀ / √D) v) for each head of D = Features / Heads features
///
///     nn::LayerNorm<Shape<256>> norm;
///     nn::MultiHeadAttention<256, 4, nn::MultiHeadAttentionConfig{.causal = true}> attention;
///     constexpr auto construct(auto x) const { return x + attention(norm(x)); }
///
/// x           [..., T, Features]: self attention, `attention(x)`
/// query       [..., T, Features], key and value [..., S, Features]: `attention(query, key, value)`
/// mask        `attention(query, key, value, mask)`, with <tenon/more.hpp>: [T, S], [n, T, S], [n, 1, S] (padding among
///             the keys), or [n, Heads, T, S]; bool, true where a key must not be seen, or numbers that are added to
///             the scores. Queries are then [n, T, Features]
/// cache       `attention(x, position, cache)`, with <tenon/more.hpp>: x are new tokens, nn::KeyValueCache has those
///             before them; `causal` must be set
/// result      [..., T, Features]; with need_weights, which needs <tenon/more.hpp>, also the weights [n, T, S]
/// parameters  in_proj_weight [3 Features, Features] (queries, keys, values), XavierUniform; in_proj_bias [3 Features],
///             Zero; out_proj.weight [Features, Features], out_proj.bias [Features], Zero; no bias with has_bias =
///             false. Names and layout are PyTorch's, so that its checkpoints fit
/// cost        a mask or weights keep the scores of all queries and keys; without them nothing of that size is kept
/// source      Vaswani and others, arXiv 1706.03762; MindSpore nn.MultiheadAttention, PyTorch nn.MultiheadAttention
///             with batch_first; no dropout of weights
template <int Features, int Heads, MultiHeadAttentionConfig config = MultiHeadAttentionConfig{}>
struct MultiHeadAttention : Cell<MultiHeadAttention<Features, Heads, config>> {
  static_assert(Features > 0 && Heads > 0 && Features % Heads == 0,
                "MultiHeadAttention<Features, Heads> needs Features that are a multiple of Heads");
  static constexpr AttentionConfig per_head{.heads = Heads, .causal = config.causal};
  Parameter<float, Shape<3 * Features, Features>, XavierUniform{}> in_proj_weight;
  OptionalParameter<config.has_bias, float, Shape<3 * Features>, Zero{}> in_proj_bias;
  Dense<Features, Features, DenseConfig{.has_bias = config.has_bias}, default_weight, Zero{}> out_proj;

  constexpr auto construct(const ops::Operand auto& x) const {
    if constexpr (config.need_weights) return construct(x, x, x);
    else return out_proj(ops::attention<per_head>(packed(x)));
  }
  constexpr auto construct(const auto& query, const auto& key, const auto& value) const {
    const auto q = projected<0>(query);
    const auto k = projected<1>(key);
    const auto v = projected<2>(value);
    if constexpr (config.need_weights) return finished(masked_attention<per_head>(q, k, v));
    else return out_proj(ops::attention<per_head>(q, k, v));
  }
  constexpr auto construct(const auto& x, const auto& position, const KeyValueStore auto& cache) const {
    static_assert(config.causal && !config.need_weights,
                  "a KeyValueCache needs MultiHeadAttention with .causal = true and without need_weights");
    return out_proj(cached_attention<per_head>(packed(x), position, cache));
  }
  constexpr auto construct(const auto& query, const auto& key, const auto& value, const auto& mask) const {
    return finished(masked_attention<per_head>(projected<0>(query), projected<1>(key), projected<2>(value), mask));
  }

 private:
  // Queries, keys, and values of x side by side.
  constexpr auto packed(const auto& x) const {
    return add_bias(ops::matmul<ops::Transposed::second>(x, in_proj_weight), in_proj_bias);
  }
  // masked_attention and cached_attention are found where <tenon/more.hpp> is included.
  constexpr auto finished(const auto& results) const {
    const auto y = out_proj(std::get<0>(results));
    if constexpr (config.need_weights) return std::tuple(y, std::get<1>(results));
    else return y;
  }
  // x times part number `which` of the packed weight, plus that part of the bias.
  template <int which, class X>
  constexpr auto projected(const X& x) const {
    if constexpr (is_broken<X>) return x;
    else {
      constexpr Part rows{which * Features, (which + 1) * Features};
      const auto y = ops::matmul<ops::Transposed::second>(x, ops::slice<0, rows>(value_in(x, in_proj_weight)));
      if constexpr (config.has_bias && !is_broken<decltype(y)>)
        return ops::add(y, ops::slice<0, rows>(value_in(x, in_proj_bias)));
      else return y;
    }
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <int Features, int Heads, nn::MultiHeadAttentionConfig config>
inline constexpr int result_count<nn::MultiHeadAttention<Features, Heads, config>> = config.need_weights ? 2 : 1;
}  // namespace tenon::detail
