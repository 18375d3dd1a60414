// Attention to the keys and values of earlier calls, which a cache has: a new token costs a token.
#pragma once
#include <tenon/ops/attention.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// What is wrong with a cache [B, Length, Features], x [B, T, parts Features], and positions [B].
constexpr void check_cache(const TensorType& cache, const TensorType& x, const TensorType& position, int features,
                           int length, int parts, Sentence& error) {
  if (x.rank != 3 || x[0] != cache[0] || x[2] != parts * features)
    error << "KeyValueCache of " << cache[0] << " sequences, " << length << " positions, and " << features
          << " features got " << x << ", it needs [" << cache[0] << ",T," << parts * features << "]";
  else if (x.dtype != cache.dtype)
    error << "KeyValueCache of " << tenon::name(cache.dtype) << " got " << tenon::name(x.dtype) << " " << x
          << ": give the cache this dtype";
  else if (x[1] > length) error << "KeyValueCache of " << length << " positions got " << x[1] << " at once " << x;
  else if (position.rank != 1 || position[0] != cache[0] ||
           (position.dtype != Dtype::int32 && position.dtype != Dtype::int64))
    error << "KeyValueCache of " << cache[0] << " sequences needs the position of each as int32 or int64 [" << cache[0]
          << "], got " << tenon::name(position.dtype) << " " << position;
}
}  // namespace detail

/// Writes keys or values of new tokens into a cache. Not for users. Operands: cache, x, position.
///
/// cache       values [B, Length, Features]; keys transposed, [B, Features, Length], so that the products with a query
///             read neighbours
/// x           [B, T, parts · Features], of which part number `part` is written
/// position    [B] of int32 or int64: where the first of the T tokens of each sequence is. Throws ValueError for one
///             that leaves no room
struct UpdateCache : Operator<UpdateCache, "KeyValueCache"> {
  struct Config {
    int part = 0, parts = 1, transposed = 0;
  };
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    detail::check_cache(in[0], in[1], in[2], in[0][c.transposed ? 1 : 2], in[0][c.transposed ? 2 : 1], c.parts, error);
    return in[0];
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config& c) {
    return {.operand = 2,
            .high = in[0][c.transposed ? 2 : 1] - in[1][1] + 1,
            .among = 0,
            .number = "position",
            .have = "places for this many tokens in the cache",
            .advice = "begin again at 0, or make the cache longer"};
  }
};

/// Attention of new tokens to all tokens of their sequences so far. Operands: q, keys, values, position.
///
/// q           [B, T, heads · D], or packed [B, T, 3 · heads · D], whose first third are the queries
/// keys        [B, heads · D, Length], values [B, Length, heads · D], which have those of the T tokens, too
/// position    [B]: token t of sequence b sees positions 0 .. position[b] + t
/// result      [B, T, heads · D]
/// derivative  none: a cache serves predictions
/// order       the bits of causal Attention of the whole sequence, where all values are finite
struct CachedAttention : Operator<CachedAttention, "CachedAttention"> {
  using Config = detail::AttentionSettings;
  static constexpr bool float_parameters = true;  // a cache of another dtype is an error
  static constexpr None derivative{};
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return 2 * double(result.count(n)) * double(in[2][1]);  // on average half of the cache
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType& values = in[2];
    if (!is_floating(in[0].dtype))
      error << "CachedAttention needs floating-point operands, got " << tenon::name(in[0].dtype) << " " << in[0];
    else if (in[0].rank == 3)
      detail::check_cache(values, in[0], in[3], values[2], values[1], in[0][2] == values[2] ? 1 : 3, error);
    else error << "CachedAttention needs queries [B,T,Features], got " << in[0];
    if (error.empty() && (c.heads < 1 || values[2] % c.heads))
      error << "CachedAttention of " << c.heads << " heads got a cache of " << values[2]
            << " features, which must be a multiple of the heads";
    return {{in[0][0], in[0][1], values[2]}, 3, in[0].dtype};
  }
};

/// Attention of new tokens: their keys and values are written into the cache, then each query sees all of its sequence
/// so far. `cached_attention<AttentionConfig{.heads = 4}>(q, k, v, position, cache)`; always causal.
///
/// q, k, v     [B, T, heads · D]: T new tokens of each of B sequences
/// position    [B] of int32 or int64, as in nn::KeyValueCache
/// cache       nn::KeyValueCache<B, Length, heads · D>, a member of the network
/// result      [B, T, heads · D], bit-identical to the rows of causal attention of the whole sequences. No derivative
template <AttentionConfig config = AttentionConfig{}>
constexpr auto cached_attention(const Operand auto& q, const Operand auto& k, const Operand auto& v,
                                const Operand auto& position, const auto& cache,
                                std::source_location at = std::source_location::current()) {
  apply<UpdateCache, UpdateCache::Config{.transposed = 1}>(at, cache.keys, k, position);
  apply<UpdateCache, UpdateCache::Config{}>(at, cache.values, v, position);
  return apply<CachedAttention, CachedAttention::Config{config.heads, 1, config.scale}>(at, q, cache.keys, cache.values,
                                                                                        position);
}
/// The same of one tensor that holds queries, keys, and values side by side along its last axis.
template <AttentionConfig config = AttentionConfig{}>
constexpr auto cached_attention(const Operand auto& qkv, const Operand auto& position, const auto& cache,
                                std::source_location at = std::source_location::current()) {
  apply<UpdateCache, UpdateCache::Config{1, 3, 1}>(at, cache.keys, qkv, position);
  apply<UpdateCache, UpdateCache::Config{2, 3, 0}>(at, cache.values, qkv, position);
  return apply<CachedAttention, CachedAttention::Config{config.heads, 1, config.scale}>(at, qkv, cache.keys,
                                                                                        cache.values, position);
}

}  // namespace tenon::ops
