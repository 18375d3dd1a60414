// Class numbers in a data set: looked at before a step uses them.
#pragma once
#include <tenon/dataset/column.hpp>
#include <tenon/graph/leaf.hpp>
#include <tenon/ops/softmax_cross_entropy.hpp>
#include <tenon/train/callback/callback.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Per column of a row the logits that it labels by class numbers, of rank 0 if there are none.
template <int columns>
struct LabelledLogits {
  TensorType of[columns]{};
};

/// Finds them in a trace: a softmax cross entropy whose labels are a column, or one under another shape. Class numbers
/// that the network makes of a column are its own affair. If a column labels several logits, those with the fewest
/// classes count.
template <int columns, int N>
constexpr LabelledLogits<columns> labelled_logits(const Graph<N>& g) {
  LabelledLogits<columns> result;
  for (int id = 0; id < g.count; ++id) {
    if (!is<ops::SoftmaxCrossEntropy>(g[id])) continue;
    const TensorType& logits = g[g[id].operand[0]].type;
    int label = g[id].operand[1];
    const bool sparse = g[label].type.rank < logits.rank;
    while (g[label].op->view) label = g[label].operand[0];
    if (!sparse || !is<ops::Input>(g[label])) continue;
    TensorType& known = result.of[g[label].immediate];
    if (known.rank == 0 || logits.last() < known.last()) known = logits;
  }
  return result;
}

[[noreturn]] inline void refuse_label(long long label, long sample, const TensorType& logits, const RunInfo& run) {
  Sentence place, shape;
  place << "step " << run.step_in_epoch();
  if (run.training) place << " (epoch " << run.cur_epoch_num << ")";
  shape << logits;
  throw_error<ValueError>(run.training ? "Model.train" : "Model.eval", ": label ", label, " in sample ", sample, " of ",
                          place.view(), " is outside of 0 .. ", logits.last() - 1, ", the ", logits.last(),
                          " classes of the prediction ", shape.view(),
                          ". Correct the label, or give the last layer more outputs.");
}

/// Throws ValueError for the first class number of a row that its logits do not have. Samples count from 0 in the row.
template <class Compiled, class List>
void check_labels(const dataset::Row<List>& row, const RunInfo& run) {
  static constexpr auto labelled = labelled_logits<List::count>(Compiled::captured);
  const auto check_column = [&]<int K>(std::integral_constant<int, K>) {
    if constexpr (labelled.of[K].rank > 0) {
      const auto labels = row.template values<K>();
      for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels[i] < 0 || labels[i] >= labelled.of[K].last())
          refuse_label(labels[i], long(i) / (long(labels.size()) / row.n), labelled.of[K], run);
    }
  };
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (check_column(std::integral_constant<int, K>{}), ...);
  }(std::make_integer_sequence<int, List::count>{});
}

}  // namespace tenon::detail
