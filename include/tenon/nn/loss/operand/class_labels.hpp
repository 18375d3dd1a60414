// Class numbers as labels: class weights, and labels that the loss ignores.
#pragma once
#include <limits>

#include <tenon/nn/checked_cell.hpp>
#include <tenon/nn/loss/operand/weight.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/select.hpp>

namespace tenon::inline TENON_ABI::nn {

/// No label is ignored: a label out of range is an error.
inline constexpr int no_index = std::numeric_limits<int>::min();

/// The labels, with class 0 in place of ignored labels.
template <int ignored>
constexpr auto class_numbers(const ops::Operand auto& labels) {
  if constexpr (ignored == no_index) return labels;
  else return ops::masked_fill(labels, ops::equal(labels, ignored), 0);
}
namespace detail {
/// What is wrong with a table of weights for the classes of logits [..., C]; empty if nothing is.
template <class Weight>
constexpr Sentence wrong_class_weights(std::string_view loss, const TensorType& logits) {
  Sentence s;
  if constexpr (has_weight<Weight>) {
    constexpr TensorType table = type_of<float, typename Weight::shape>;
    if (logits.rank == 0 || logits.last() <= 0 || (table.rank == 1 && table[0] == logits.last())) return s;
    s << loss << " got logits " << logits << " and class weights " << table << ": give each of the " << logits.last()
      << " classes a weight, using shape = Shape<" << logits.last() << ">";
  }
  return s;
}
}  // namespace detail
/// Whether a table, or NoWeight, has a weight for each class of X, logits [..., C].
template <class Weight, ops::Operand X>
constexpr bool fits_classes() {
  return detail::wrong_class_weights<Weight>("", X::dims).empty();
}
/// What Loss returns otherwise. In a trace a sentence says what is wrong.
template <class Loss, class Weight>
constexpr Broken refuse_class_weights(const ops::Operand auto& logits) {
  using X = std::remove_cvref_t<decltype(logits)>;
  Builder* const b = tenon::detail::builder_among(logits);
  if (b) b->fail(detail::wrong_class_weights<Weight>(class_name<Loss>(), X::dims));
  return Broken(b);
}
/// The weight of each sample's class, in the dtype of x.
template <class Weight>
constexpr auto class_weight(const ops::Operand auto& x, const auto& classes) {
  return ops::gather(weight_beside<Weight>(x), classes);
}

/// Weighted losses of samples, without those of ignored labels. The mean is their sum divided by the sum of the weights
/// (NaN, as in PyTorch, if all labels are ignored); with Reduction::none the loss of an ignored label is 0.
///
/// The loss of an evaluation (nn::Loss, "eval_loss") is a mean of such means, in which a batch counts by its samples,
/// not by these weights, as in a PyTorch loop that averages the losses of batches. With weights or ignored labels it
/// depends on the batch size, and is NaN if a batch has no label that counts; one batch gives the mean over all.
template <Reduction reduction, class Weight, int ignored>
constexpr auto reduced_labelled(const ops::Operand auto& loss, const auto& labels) {
  if constexpr (ignored == no_index) {
    if constexpr (reduction != Reduction::mean || !has_weight<Weight>) return reduced<reduction>(loss);
    else return ops::reduce_sum(loss) / ops::reduce_sum(class_weight<Weight>(loss, labels));
  } else {
    const auto out = ops::equal(labels, ignored);
    const auto counted = ops::masked_fill(loss, out, 0);
    if constexpr (reduction != Reduction::mean) return reduced<reduction>(counted);
    else if constexpr (has_weight<Weight>)
      return ops::reduce_sum(counted) /
             ops::reduce_sum(ops::masked_fill(class_weight<Weight>(loss, class_numbers<ignored>(labels)), out, 0));
    else
      return ops::reduce_sum(counted) /
             ops::reduce_sum(ops::cast<ops::ElementOf<decltype(loss)>>(ops::not_equal(labels, ignored)));
  }
}

}  // namespace tenon::nn
