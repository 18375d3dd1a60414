// Cross entropy of logits of which each rank of a group has those of some classes: cross_entropy_of_slices.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/collective/slice_rows.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/one_hot.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Class numbers as those of the rank's slice of the classes, and the number of classes in a slice for those that other
/// ranks have. Not for users.
///
/// labels      [...], equal on all ranks; int32 or int64. Throws ValueError for one that is no class
/// logits      [..., C], of C classes of this rank
template <FixedString group>
struct SliceClasses : Sliced<SliceClasses<group>, "SliceClasses", group> {
  using Config = typename SliceRows<group>::Config;
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &labels = in[0], &logits = in[1];
    TensorType wanted = logits;
    wanted.rank = logits.rank ? logits.rank - 1 : 0;
    if (logits.rank) wanted.extent[wanted.rank] = 0;
    if (logits.rank == 0) error << "a cross entropy of slices needs logits [n,classes], got " << logits;
    else if (labels.dtype != Dtype::int32 && labels.dtype != Dtype::int64)
      error << "a cross entropy of slices needs labels of int32 (class numbers), got " << tenon::name(labels.dtype)
            << " " << labels;
    else if (!labels.same_shape(wanted))
      error << "a cross entropy of slices got logits " << logits << " and labels " << labels << ", which must be "
            << wanted;
    return labels;
  }
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return {.operand = 0,
            .high = long(c.rows) * c.slices,
            .among = 1,
            .number = "label",
            .have = "classes of a prediction in slices",
            .advice = "give the last layer more outputs"};
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr Config c = Call::config();
    detail::rows_of_rank(SliceClasses::template operand<Call>(a), SliceClasses::template result<Call>(a).data(),
                         SliceClasses::ranks(c.slices).rank(), c.rows, c.slices);
  }
};

/// Cross entropy per row between softmax(logits) and labels, where each of `slices` ranks has the logits of its
/// classes: the ranks exchange three numbers for each row, and no logits.
///
/// logits      [..., C] of this rank's classes; floating-point
/// labels      [...] of int32 or int64, classes 0 .. slices C - 1, equal on all ranks
/// result      [...], with the same bits on all ranks
/// derivative  (softmax(logits) - t) dy for this rank's classes, where t is 1 for the class of a label; none for labels
/// order       the sum over the classes is that of the slices, added along the tree over the ranks
/// errors      ValueError when it runs, unless the group has `slices` ranks
/// source      Megatron-LM's vocab_parallel_cross_entropy (arXiv 1909.08053); PyTorch's loss_parallel
template <int slices, FixedString group = "world", Operand Logits, Operand Labels>
constexpr auto cross_entropy_of_slices(const Logits& logits, const Labels& labels,
                                       std::source_location at = std::source_location::current()) {
  constexpr TensorType type = detail::type_of_value<Logits>;
  constexpr int classes = type.rank ? int(type.last()) : 0;
  const auto own =
      apply<SliceClasses<group>, typename SliceClasses<group>::Config{slices, classes}>(at, labels, logits);
  if constexpr (is_broken<decltype(own)>) return own;
  else {
    const auto is_label = one_hot<classes, bool>(minimum(own, classes - 1, at), at);
    const auto found = select(less(own, classes, at), reduce_sum<-1>(select(is_label, logits, 0, at), at), 0, at);
    // No gradient flows through the offset, as in logsumexp.
    const auto largest = stop_gradient(all_reduce<dist::ReduceOp::max, group>(reduce_max_keep<-1>(logits, at), at), at);
    const auto offset = select(equal(sub(largest, largest, at), 0, at), largest, 0, at);
    const auto sum = sum_slices<group>(reduce_sum<-1>(exp(sub(logits, offset, at), at), at), at);
    return sub(add(log(sum, at), squeeze<-1>(offset, at), at), sum_slices<group>(found, at), at);
  }
}

}  // namespace tenon::ops
