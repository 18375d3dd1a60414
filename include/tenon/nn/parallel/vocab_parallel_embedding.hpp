// VocabParallelEmbedding: an embedding whose table is shared by several ranks.
#pragma once
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/parallel/slice_of.hpp>
#include <tenon/ops/collective/slice_rows.hpp>

namespace tenon::inline TENON_ABI::nn {

/// An Embedding of which each of `Slices` ranks has Vocabulary / Slices rows. A rank looks up those that it has; all
/// get all vectors.
///
/// ids         as those of Embedding, equal on all ranks of the group
/// result      [shape of ids..., Size], with the same bits on all ranks
/// parameters  embedding_table [Vocabulary / Slices, Size], a slice of that of Embedding<Vocabulary, Size>, with the
///             same initial bits
/// bits        vectors are those of Embedding, but that -0 becomes 0; so is the table's gradient where dy is
/// errors      as ColumnParallelDense
/// source      Megatron-LM's VocabParallelEmbedding; PyTorch's RowwiseParallel of an embedding
template <int Vocabulary, int Size, int Slices, FixedString group = "world", EmbeddingConfig config = EmbeddingConfig{},
          auto table_init = Normal{0.01f}>
struct VocabParallelEmbedding : Cell<VocabParallelEmbedding<Vocabulary, Size, Slices, group, config, table_init>> {
  static_assert(Vocabulary > 0 && Size > 0 && Slices > 0,
                "VocabParallelEmbedding<Vocabulary, Size, Slices> needs positive sizes");
  static_assert(
      Vocabulary % Slices == 0,
      "VocabParallelEmbedding<Vocabulary, Size, Slices>: Vocabulary must be a multiple of Slices, so add rows "
      "that no id names");
  static_assert(config.padding_idx >= -1 && config.padding_idx < Vocabulary,
                "VocabParallelEmbedding: padding_idx must be a row of the table, or -1 for none");
  Parameter<float, Shape<Vocabulary / Slices, Size>,
            slice_of<Slices, 0, group>(WithZeroRow{table_init, config.padding_idx})>
      embedding_table;

  constexpr auto construct(const ops::Operand auto& ids) const {
    if constexpr (Slices == 1) return ops::gather(embedding_table, ids);
    else return ops::sum_slices<group>(ops::rows_of_slice<Slices, group>(embedding_table, ids));
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI {

template <int Vocabulary, int Size, int Slices, FixedString group, nn::EmbeddingConfig config, auto table_init>
inline constexpr std::span<const PytorchName>
    pytorch_names<nn::VocabParallelEmbedding<Vocabulary, Size, Slices, group, config, table_init>>{
        detail::embedding_names};

}  // namespace tenon
