// Negative log-likelihood as a loss.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/nn/loss/operand/class_labels.hpp>
#include <tenon/ops/class_value.hpp>
#include <tenon/ops/neg.hpp>

namespace tenon::inline TENON_ABI::nn {

/// -w x[label], where x are log-probabilities and w the weight of the label's class; the mean (by weight) by default.
///
/// log_probability  x, [..., C], such as of log_softmax; floating-point. PyTorch and MindSpore have classes in axis 1
/// labels      int32 or int64 [...], classes 0 .. C - 1; others throw ValueError
/// Weight      a table of C numbers, or NoWeight
/// ignore_index  a label that does not count. PyTorch and MindSpore have -100 by default; here it must be given, so
///             that a wrong label stays an error
/// result      a number, or [...] with Reduction::none. The mean of no labels is NaN, as in PyTorch; for the loss of an
///             evaluation see CrossEntropyLoss
/// source      MindSpore nn.NLLLoss, PyTorch's NLLLoss
template <Reduction reduction = Reduction::mean, class Weight = NoWeight, int ignore_index = no_index>
struct NLLLoss : Cell<NLLLoss<reduction, Weight, ignore_index>> {
  template <ops::Operand X, ops::Operand L>
  constexpr auto construct(const X& log_probability, const L& labels) const {
    if constexpr (is_broken<X> || is_broken<L>) return Broken(tenon::detail::builder_among(log_probability, labels));
    else if constexpr (!fits_classes<Weight, X>()) return refuse_class_weights<NLLLoss, Weight>(log_probability);
    else if constexpr (!wanted<X>.same_shape(L::dims)) return refuse<X, L>(log_probability, labels);
    else {
      const auto classes = class_numbers<ignore_index>(labels);
      const auto loss = ops::neg(ops::class_value(log_probability, classes));
      if constexpr (!has_weight<Weight>) return reduced_labelled<reduction, Weight, ignore_index>(loss, labels);
      else return reduced_labelled<reduction, Weight, ignore_index>(loss * class_weight<Weight>(loss, classes), labels);
    }
  }

 private:
  template <class X>
  static constexpr TensorType wanted = [] {
    TensorType labels = X::dims;
    if (labels.rank) labels.extent[--labels.rank] = 0;
    return labels;
  }();
  template <class X, class L>
  static constexpr Broken refuse(const X& log_probability, const L& labels) {
    Builder* const b = tenon::detail::builder_among(log_probability, labels);
    if (b)
      b->fail(Sentence{} << "NLLLoss got log-probabilities " << X::dims << " and labels " << L::dims
                         << ", which must be " << wanted<X>);
    return Broken(b);
  }
};

}  // namespace tenon::nn
