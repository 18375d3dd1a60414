// Layers of a transformer: encoder and decoder.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/attention/multi_head_attention.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/ops/gelu.hpp>
#include <tenon/ops/masked_attention.hpp>
#include <tenon/ops/relu.hpp>

namespace tenon::inline TENON_ABI::nn {

/// What a transformer layer applies between its two Dense layers; gelu is the exact one, as PyTorch's "gelu".
enum class TransformerActivation : int { relu, gelu };

/// Settings of TransformerEncoderLayer and TransformerDecoderLayer, with the defaults of MindSpore and PyTorch.
struct TransformerConfig {
  int dim_feedforward = 2048;
  float dropout = 0.1f;
  TransformerActivation activation = TransformerActivation::relu;
  float layer_norm_eps = 1e-5f;
  bool norm_first = false;  // whether each part normalizes its input, or x plus its result
  bool causal = false;      // self attention of position i sees positions 0 .. i
};

namespace detail {
/// Dropout, or nothing if the rate is 0.
template <float rate>
struct MaybeDropout : Cell<MaybeDropout<rate>> {
  Dropout<DropoutConfig{rate}> layer;
  constexpr auto construct(const ops::Operand auto& x) const { return layer(x); }
};
template <float rate>
requires(rate == 0)
struct MaybeDropout<rate> : Cell<MaybeDropout<rate>> {
  constexpr auto construct(const ops::Operand auto& x) const { return x; }
};
/// x + part(norm(x)), or norm(x + part(x)).
template <bool norm_first, class X, class Norm, class Part>
constexpr auto with_residual(const X& x, const Norm& norm, const Part& part) {
  if constexpr (norm_first) return ops::add(x, part(norm(x)));
  else return norm(ops::add(x, part(x)));
}
template <TransformerActivation activation, class X>
constexpr auto activated(const X& x) {
  if constexpr (activation == TransformerActivation::gelu) return ops::gelu<ops::GeluForm::erf>(x);
  else return ops::relu(x);
}
}  // namespace detail

/// A layer of a transformer's encoder: self attention and two Dense layers, each with a residual connection and a
/// normalization. `TransformerEncoderLayer<512, 8> layer;`
///
/// x           [n, T, Features]: `layer(x)`
/// mask        `layer(x, mask)`, as of MultiHeadAttention
/// cache       `layer(x, position, cache)`: x are new tokens, nn::KeyValueCache has those before them; `causal` must be
///             set
/// result      [n, T, Features]
/// parameters  self_attn, dense1, dense2, norm1, norm2: MindSpore's names (PyTorch has linear1, linear2)
/// dropout     after attention, after the activation, and after dense2; not of the attention's weights
/// source      Vaswani and others, arXiv 1706.03762; MindSpore and PyTorch nn.TransformerEncoderLayer with batch_first
template <int Features, int Heads, TransformerConfig config = TransformerConfig{}>
struct TransformerEncoderLayer : Cell<TransformerEncoderLayer<Features, Heads, config>> {
  MultiHeadAttention<Features, Heads, MultiHeadAttentionConfig{.causal = config.causal}> self_attn;
  Dense<Features, config.dim_feedforward> dense1;
  Dense<config.dim_feedforward, Features> dense2;
  LayerNorm<Shape<Features>, LayerNormConfig{config.layer_norm_eps}> norm1, norm2;
  detail::MaybeDropout<config.dropout> dropout, dropout1, dropout2;

  constexpr auto construct(const ops::Operand auto& x) const {
    return fed_forward(
        detail::with_residual<config.norm_first>(x, norm1, [this](const auto& v) { return dropout1(self_attn(v)); }));
  }
  constexpr auto construct(const auto& x, const auto& mask) const {
    return fed_forward(detail::with_residual<config.norm_first>(
        x, norm1, [&](const auto& v) { return dropout1(self_attn(v, v, v, mask)); }));
  }
  constexpr auto construct(const auto& x, const auto& position, const KeyValueStore auto& cache) const {
    return fed_forward(detail::with_residual<config.norm_first>(
        x, norm1, [&](const auto& v) { return dropout1(self_attn(v, position, cache)); }));
  }

 private:
  constexpr auto fed_forward(const auto& x) const {
    return detail::with_residual<config.norm_first>(x, norm2, [this](const auto& v) {
      return dropout2(dense2(dropout(detail::activated<config.activation>(dense1(v)))));
    });
  }
};

/// A layer of a transformer's decoder: self attention, attention to the encoder's result, and two Dense layers, each
/// with a residual connection and a normalization.
///
/// x           [n, T, Features], memory [n, S, Features]: `layer(x, memory)`
/// masks       `layer(x, memory, mask)` of self attention, `layer(x, memory, mask, memory_mask)`, as of
///             MultiHeadAttention; `causal` needs none
/// cache       `layer(x, memory, position, cache)`: x are new tokens, nn::KeyValueCache has those before them; `causal`
///             must be set. The keys and values of memory are computed in each call
/// result      [n, T, Features]
/// parameters  self_attn, multihead_attn, dense1, dense2, norm1, norm2, norm3: MindSpore's names
/// dropout     as TransformerEncoderLayer
/// source      Vaswani and others, arXiv 1706.03762; MindSpore and PyTorch nn.TransformerDecoderLayer with batch_first
template <int Features, int Heads, TransformerConfig config = TransformerConfig{}>
struct TransformerDecoderLayer : Cell<TransformerDecoderLayer<Features, Heads, config>> {
  MultiHeadAttention<Features, Heads, MultiHeadAttentionConfig{.causal = config.causal}> self_attn;
  MultiHeadAttention<Features, Heads> multihead_attn;
  Dense<Features, config.dim_feedforward> dense1;
  Dense<config.dim_feedforward, Features> dense2;
  LayerNorm<Shape<Features>, LayerNormConfig{config.layer_norm_eps}> norm1, norm2, norm3;
  detail::MaybeDropout<config.dropout> dropout, dropout1, dropout2, dropout3;

  constexpr auto construct(const auto& x, const auto& memory) const {
    return attended(
        x, [this](const auto& v) { return self_attn(v); },
        [&](const auto& v) { return multihead_attn(v, memory, memory); });
  }
  constexpr auto construct(const auto& x, const auto& memory, const auto& mask) const {
    return attended(
        x, [&](const auto& v) { return self_attn(v, v, v, mask); },
        [&](const auto& v) { return multihead_attn(v, memory, memory); });
  }
  constexpr auto construct(const auto& x, const auto& memory, const auto& position,
                           const KeyValueStore auto& cache) const {
    return attended(
        x, [&](const auto& v) { return self_attn(v, position, cache); },
        [&](const auto& v) { return multihead_attn(v, memory, memory); });
  }
  constexpr auto construct(const auto& x, const auto& memory, const auto& mask, const auto& memory_mask) const {
    return attended(
        x, [&](const auto& v) { return self_attn(v, v, v, mask); },
        [&](const auto& v) { return multihead_attn(v, memory, memory, memory_mask); });
  }

 private:
  constexpr auto attended(const auto& x, const auto& own, const auto& of_memory) const {
    const auto y = detail::with_residual<config.norm_first>(x, norm1, [&](const auto& v) { return dropout1(own(v)); });
    const auto z =
        detail::with_residual<config.norm_first>(y, norm2, [&](const auto& v) { return dropout2(of_memory(v)); });
    return detail::with_residual<config.norm_first>(z, norm3, [this](const auto& v) {
      return dropout3(dense2(dropout(detail::activated<config.activation>(dense1(v)))));
    });
  }
};

}  // namespace tenon::nn
