// A metric of classes without the places of one label, such as padding.
#pragma once
#include <cstring>
#include <vector>

#include <tenon/nn/metric/count/classes.hpp>
#include <tenon/nn/metric/metric.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A metric of classes that does not see the places whose label is `ignore_index`: `nn::IgnoreIndex{-100,
/// nn::Accuracy{}}` beside `nn::CrossEntropyLoss<nn::Reduction::mean, {.ignore_index = -100}>`. The metric gets the
/// other places as predictions [m, C] and labels [m]. It keeps its name; nn::Named and nn::for_output give another.
/// `model.metric<nn::IgnoreIndex<nn::Recall>>().metric.per_class()` has its further results.
///
/// prediction  [n, ..., C] or [n, C, ...], as of the metric
/// label       [n, ...] int32 or int64, class numbers
/// source      ignore_index of torchmetrics
template <class M>
requires PredictionMetric<M> || ListMetric<M>
struct IgnoreIndex {
  static constexpr std::string_view name = M::name;
  long ignore_index;
  M metric;

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    const int axis = class_axis(prediction, label);
    if (axis == 0 || !are_class_numbers(label.dtype))
      return Sentence{} << "IgnoreIndex needs labels int32 or int64 that lack an axis of the predictions, got "
                        << prediction << " and " << tenon::name(label.dtype) << " " << label;
    if constexpr (requires { M::check(prediction, label); })
      return M::check({{dyn, prediction[axis]}, 2, prediction.dtype}, {{dyn}, 1, label.dtype});
    else return {};
  }
  void clear() { metric.clear(); }
  /// Throws ValueError with the sentence of check(), and what the metric throws.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const Sentence wrong =
        check(detail::type_of_view("IgnoreIndex", prediction), detail::type_of_view("IgnoreIndex", label));
    if (!wrong.empty()) throw_error<ValueError>(wrong.view(), ".");
    const int axis = class_axis(prediction, label);
    const std::int64_t classes = prediction.extent[axis], places = label.count();
    const ClassLayout layout(prediction, axis);
    const std::size_t size = size_of(prediction.dtype), label_size = size_of(label.dtype);
    std::vector<std::byte> scores, labels;
    std::int64_t kept = 0;
    for (std::int64_t place = 0; place < places; ++place) {
      if (long(detail::element(label, place)) == ignore_index) continue;
      ++kept;
      for (std::int64_t c = 0; c < classes; ++c)
        append(scores, prediction, layout.first(long(place)) + c * layout.stride, size);
      append(labels, label, place, label_size);
    }
    const std::int64_t both[]{kept, classes};
    if (kept > 0) metric.update({prediction.dtype, both, scores.data()}, {label.dtype, {both, 1}, labels.data()});
  }
  /// The metric's result. Throws as it does, also where no place was left.
  auto eval() const { return metric.eval(); }

 private:
  static constexpr bool are_class_numbers(Dtype dtype) { return dtype == Dtype::int32 || dtype == Dtype::int64; }
  static void append(std::vector<std::byte>& to, const AnyTensor& from, std::int64_t at, std::size_t size) {
    const std::byte* const first = static_cast<const std::byte*>(from.data) + std::size_t(at) * size;
    to.insert(to.end(), first, first + size);
  }
};
template <class M>
IgnoreIndex(long, M) -> IgnoreIndex<M>;

}  // namespace tenon::nn
