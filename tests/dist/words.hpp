// A network in slices, one on each rank, and data for it: for tests.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/parallel/column_parallel_dense.hpp>
#include <tenon/nn/parallel/row_parallel_dense.hpp>
#include <tenon/nn/parallel/vocab_parallel_embedding.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/relu.hpp>

namespace slices {

using namespace tenon;

/// Classes of 6 words out of 12: an embedding, two layers beside a residual, and outputs that are gathered.
template <int Slices>
struct Words : nn::Cell<Words<Slices>> {
  nn::VocabParallelEmbedding<12, 16, Slices, "slices"> table;
  nn::ColumnParallelDense<16, 32, Slices, "slices"> up;
  nn::RowParallelDense<32, 16, Slices, "slices"> down;
  nn::ColumnParallelDense<16, 4, Slices, "slices", nn::ColumnParallelConfig{.gather_output = true}> last;

  constexpr auto construct(auto ids) const {
    const auto words = table(ids);
    return last(reduce_mean<1>(words + down(relu(up(words)))));
  }
};

/// Sequences in which the words of one of four classes are frequent, with negative numbers among them.
inline auto sentences(int count) {
  std::vector<std::int32_t> words, classes;
  for (int i = 0; i < count; ++i) {
    classes.push_back(i % 4);
    for (int k = 0; k < 6; ++k) words.push_back((i % 4 * 3 + (i * 7 + k * k) % 5) % 12 - (k == 5 ? 12 : 0));
  }
  return dataset::from_arrays(dataset::column<Shape<6>>(std::move(words)),
                              dataset::column<Shape<>>(std::move(classes)));
}

}  // namespace slices
