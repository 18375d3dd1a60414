// Keys and values of the tokens so far, so that a language model computes each token once.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/cached_attention.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// The initial value of a cache: zeros, which no call reads.
struct EmptyCache {
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    for (long i = 0; i < t.count(1); ++i) data[i] = T{};
  }
};
}  // namespace detail
}  // namespace tenon::nn

namespace tenon::inline TENON_ABI::detail {
template <>
inline constexpr bool is_scratch<nn::detail::EmptyCache> = true;
}  // namespace tenon::detail

namespace tenon::inline TENON_ABI::nn {

/// The keys and values that one attention layer has computed for the sequences that are being written: a new token
/// costs a token, not the whole window again. A member of the network, one for each layer:
///
///     nn::CellList<Block, 2> blocks;
///     nn::CellList<nn::KeyValueCache<1, 256, width>, 2> caches;    // 1 sequence, 256 positions
///
///     constexpr auto construct(auto token, auto at) const {        // token [1, T], at [1]: the position of the first
///       auto x = position(embedding(token), at);
///       for (int i = 0; i < 2; ++i) x = blocks[i](x, at, caches[i]);
///       return head(norm(x));
///     }
///
/// and in the block `x + attention(norm1(x), at, cache)`, with nn::MultiHeadAttention, nn::TransformerEncoderLayer,
/// nn::TransformerDecoderLayer, or ops::cached_attention.
///
/// Batch       sequences that are written at the same time. Each has its own position, so they may differ in length:
///             pad a shorter prompt at its end, and let `at` continue from its own length; what the padding wrote is
///             overwritten, and no query sees it before
/// Length      positions of a sequence. A token beyond them is a ValueError, in one sentence
/// reset       begin again at position 0: no query sees what earlier sequences left
/// state       keys [Batch, Features, Length], values [Batch, Length, Features] of T: float, double, or the 16-bit
///             float of the network. Checkpoints and parameter lists leave them out; clone() copies them. A call writes
///             them, so only one thread may call the network at a time
/// results     bit-identical to those of the whole sequence at once
/// source      past_key_values with use_cache of Hugging Face, KVCacheMgr of MindFormers
template <int Batch, int Length, int Features, Element T = float>
struct KeyValueCache : Cell<KeyValueCache<Batch, Length, Features, T>> {
  static_assert(Batch > 0 && Length > 0 && Features > 0, "KeyValueCache<Batch, Length, Features> needs positive sizes");
  static constexpr int batch = Batch, length = Length, features = Features;
  Parameter<T, Shape<Batch, Features, Length>, detail::EmptyCache{}, false> keys;
  Parameter<T, Shape<Batch, Length, Features>, detail::EmptyCache{}, false> values;
};

}  // namespace tenon::nn
