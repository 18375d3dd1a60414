// Class numbers and other indices in a data set: checked before a step uses them.
#pragma once
#include <tenon/dataset/stage/column.hpp>
#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/graph/ir/leaf.hpp>
#include <tenon/train/callback/callback.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// Per column of a row the places that its numbers may name, with `operand` -1 if they name none.
template <int columns>
struct NamedPlaces {
  IndexRange range[columns]{};
  TensorType among[columns]{};  // the tensor that has the places
};

/// Finds them in a trace: operands of a softmax cross entropy, a look-up, or a one-hot code that are a column, or one
/// under another shape. Numbers that the network computes from a column are checked where they are used. If a column
/// has several uses, its numbers must be right for all of them.
template <int columns, int N>
constexpr NamedPlaces<columns> named_places(const Graph<N>& g) {
  NamedPlaces<columns> result;
  for (int id = 0; id < g.count; ++id) {
    const Node& node = g[id];
    if (!node.op->indices) continue;
    OperandTypes in;
    in.count = node.operands;
    for (int k = 0; k < in.count; ++k) in.type[k] = g[node.operand[k]].type;
    const IndexRange range = rules_of(node.op).indices_of(in, node.attributes);
    if (!range.any()) continue;
    int numbers = node.operand[range.operand];
    while (g[numbers].op->view) numbers = g[numbers].operand[0];
    if (!is<ops::Input>(g[numbers])) continue;
    IndexRange& known = result.range[g[numbers].immediate];
    const IndexRange before = known;
    if (!before.any() || range.high < before.high) {
      known = range;
      result.among[g[numbers].immediate] = range.among_result() ? node.type : in[range.among];
    }
    if (before.any()) known.low = before.low > range.low ? before.low : range.low;
  }
  return result;
}

[[noreturn, gnu::cold]] void refuse_number(long long number, long sample, const IndexRange& range,
                                           const TensorType& among, const RunInfo& run);

/// Throws ValueError for the first number of a row that names no place. Samples count from 0 in the row.
template <class Compiled, class List>
void check_labels(const dataset::Row<List>& row, const RunInfo& run) {
  static constexpr auto named = named_places<List::count>(Compiled::captured.graph);
  const auto check_column = [&]<int K>(std::integral_constant<int, K>) {
    if constexpr (named.range[K].any()) {
      static constexpr IndexRange range = named.range[K];
      const auto numbers = row.template values<K>();
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] < range.low || numbers[i] >= range.high)
          refuse_number(numbers[i], long(i) / (long(numbers.size()) / row.n), range, named.among[K], run);
    }
  };
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (check_column(std::integral_constant<int, K>{}), ...);
  }(std::make_integer_sequence<int, List::count>{});
}

/// The operator of a trace that needs the largest batch.
template <int N>
constexpr LeastBatch least_batch(const Graph<N>& g) {
  LeastBatch result;
  for (int id = 0; id < g.count; ++id) {
    if (!g[id].op->limits_batch) continue;
    OperandTypes in;
    in.count = g[id].operands;
    for (int k = 0; k < in.count; ++k) in.type[k] = g[g[id].operand[k]].type;
    if (const LeastBatch least = rules_of(g[id].op).least_batch(in); least.n > result.n) result = least;
  }
  return result;
}

/// Throws ValueError for a row with fewer samples than an operator of the step needs.
template <class Compiled>
void check_batch(long n, const RunInfo& run) {
  static constexpr LeastBatch least = least_batch(Compiled::captured.graph);
  if constexpr (least.n > 1)
    if (n < least.n) refuse_batch(least, n, text(" in step ", run.step_in_epoch(), " (epoch ", run.cur_epoch_num, ")"));
}

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void refuse_number(long long number, long sample, const IndexRange& range,
                                                  const TensorType& among, const RunInfo& run) {
  Sentence place, shape;
  place << "step " << run.step_in_epoch();
  if (run.training) place << " (epoch " << run.cur_epoch_num << ")";
  shape << among;
  throw_error<ValueError>(run.training ? "Model.train" : "Model.eval", ": ", range.number, " ", number, " in sample ",
                          sample, " of ", place.view(), " is outside of ", range.low, " .. ", range.high - 1, ", the ",
                          range.high, " ", range.have, " ", shape.view(), ". Correct the ", range.number, ", or ",
                          range.advice, ".");
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
TENON_INT_SIZES_END
