// EmbeddingLookup: an Embedding of which lazy optimizers update only the rows that a batch has used.
#pragma once
#include <tenon/nn/layer/embedding.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The initializer of a table whose gradient is one of rows.
template <class Init>
struct OfRows {
  Init init;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    init.fill(data, t, key);
  }
};

/// A row of a trained table for each number:  y = table[ids]
///
/// nn::LazyAdam and nn::FTRL change the rows with a gradient other than 0, and the moments of these rows; the others
/// stay as they are. Other optimizers change it as that of an Embedding. dist::ParameterServer sends rows of it alone.
///
/// ids         any shape; int32 or int64 in 0 .. Vocabulary - 1. -Vocabulary .. -1 count from the end. Throws
///             ValueError for any other number, with its position
/// result      [shape of ids..., Size]
/// parameters  embedding_table [Vocabulary, Size], Normal(0.01)
/// source      MindSpore nn.EmbeddingLookup(sparse=True)
template <int Vocabulary, int Size, auto table_init = Normal{0.01f}>
struct EmbeddingLookup : Cell<EmbeddingLookup<Vocabulary, Size, table_init>> {
  static_assert(Vocabulary > 0 && Size > 0, "EmbeddingLookup<Vocabulary, Size> needs positive sizes");
  Parameter<float, Shape<Vocabulary, Size>, OfRows{table_init}> embedding_table;

  constexpr auto construct(const ops::Operand auto& ids) const { return ops::gather(embedding_table, ids); }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
template <class Init>
inline constexpr bool is_of_rows<nn::OfRows<Init>> = true;
}  // namespace detail
template <int Vocabulary, int Size, auto table_init>
inline constexpr std::span<const PytorchName> pytorch_names<nn::EmbeddingLookup<Vocabulary, Size, table_init>>{
    detail::embedding_names};

}  // namespace tenon
