// Embedding: a vector for each index.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/ops/gather.hpp>

namespace tenon::inline TENON_ABI::nn {

struct EmbeddingConfig {
  int padding_idx = -1;  // the row that starts as zeros; -1 for none
};

/// Another initializer, with one row of zeros.
template <class Init>
struct WithZeroRow {
  Init init;
  int row;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    init.fill(data, t, key);
    for (long i = 0; row >= 0 && i < t[1]; ++i) data[row * long(t[1]) + i] = T(0);
  }
};

/// A row of a trained table for each number:  y = table[ids]
///
/// ids         any shape; int32 or int64 in 0 .. Vocabulary - 1. -Vocabulary .. -1 count from the end. Throws
///             ValueError for any other number, with its position
/// result      [shape of ids..., Size]
/// parameters  embedding_table [Vocabulary, Size], Normal(0.01); row padding_idx starts as zeros
/// source      MindSpore nn.Embedding
template <int Vocabulary, int Size, EmbeddingConfig config = EmbeddingConfig{}, auto table_init = Normal{0.01f}>
struct Embedding : Cell<Embedding<Vocabulary, Size, config, table_init>> {
  static_assert(Vocabulary > 0 && Size > 0, "Embedding<Vocabulary, Size> needs positive sizes");
  static_assert(config.padding_idx >= -1 && config.padding_idx < Vocabulary,
                "Embedding: padding_idx must be a row of the table, or -1 for none");
  Parameter<float, Shape<Vocabulary, Size>, WithZeroRow{table_init, config.padding_idx}> embedding_table;

  constexpr auto construct(const ops::Operand auto& ids) const { return ops::gather(embedding_table, ids); }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

namespace detail {
inline constexpr PytorchName embedding_names[]{{"embedding_table", "weight"}};
}
template <int Vocabulary, int Size, nn::EmbeddingConfig config, auto table_init>
inline constexpr std::span<const PytorchName> pytorch_names<nn::Embedding<Vocabulary, Size, config, table_init>>{
    detail::embedding_names};

}  // namespace tenon
