// Rotary positions as a layer: the table of angles.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/cell.hpp>
#include <tenon/ops/rotary_embedding.hpp>

namespace tenon::inline TENON_ABI::nn {

struct RotaryEmbeddingConfig {
  RotaryForm form = RotaryForm::half;
  float base = 10000;
};

namespace detail {
/// Angles p / base^(2 i / D) in a table [positions, D]: for each position p, D / 2 cosines, then the sines.
struct RotaryTable {
  float base = 10000;

  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    const long half = t[1] / 2;
    for (long p = 0; p < t[0]; ++p)
      for (long i = 0; i < half; ++i) {
        const double angle = double(p) / tenon::detail::libm::pow(double(base), double(2 * i) / t[1]);
        data[p * t[1] + i] = T(tenon::detail::libm::cos(angle));
        data[p * t[1] + half + i] = T(tenon::detail::libm::sin(angle));
      }
  }
};
}  // namespace detail
}  // namespace tenon::nn

namespace tenon::inline TENON_ABI::detail {
template <>
inline constexpr bool is_scratch<nn::detail::RotaryTable> = true;
}  // namespace tenon::detail

namespace tenon::inline TENON_ABI::nn {

/// Rotary positions (RoPE), applied to queries and keys before attention:
///
///     nn::Dense<256, 256> query, key, value;
///     nn::RotaryEmbedding<1024, 64> rotary;                        // 1024 positions, 4 heads of 64 features
///
///     constexpr auto construct(auto x) const {
///       return attention<AttentionConfig{.heads = 4, .causal = true}>(rotary(query(x)), rotary(key(x)), value(x));
///     }
///     constexpr auto construct(auto x, auto at, const auto& cache) const {
///       return cached_attention<AttentionConfig{.heads = 4}>(rotary(query(x), at), rotary(key(x), at), value(x), at,
///                                                            cache);
///     }
///
/// x           [..., T, heads · Features] with T <= Length: `rotary(x)`
/// at          `rotary(x, at)`, [n] of int32 or int64: x [n, T, heads · Features] are new tokens, and `at` is the
///             position of the first of each sequence, as for nn::KeyValueCache. Throws ValueError beyond Length
/// result      shape and dtype of x
/// state       table [Length, Features] of T, which is not trained; checkpoints and lists leave it out. T is double for
///             float64
/// source      Su and others, arXiv 2104.09864; torchtune's RotaryPositionalEmbeddings (form = interleaved), Hugging
///             Face's LlamaRotaryEmbedding and MindFormers (half)
template <int Length, int Features, RotaryEmbeddingConfig config = RotaryEmbeddingConfig{}, Element T = float>
struct RotaryEmbedding : Cell<RotaryEmbedding<Length, Features, config, T>> {
  static_assert(Length > 0 && Features > 0 && Features % 2 == 0,
                "RotaryEmbedding<Length, Features> needs positions, and an even number of features of a head");
  Parameter<T, Shape<Length, Features>, detail::RotaryTable{config.base}, false> table;

  constexpr auto construct(const ops::Operand auto& x) const { return ops::rotary_embedding<config.form>(x, table); }
  constexpr auto construct(const ops::Operand auto& x, const ops::Operand auto& at) const {
    return ops::rotary_embedding<config.form>(x, table, at);
  }
};

}  // namespace tenon::nn
