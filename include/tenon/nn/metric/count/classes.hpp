// How metrics of classes read a batch: the largest prediction at each position, or a set of labels.
#pragma once
#include <tenon/core/function_ref.hpp>
#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The axis of the classes in a prediction whose label has their numbers: the one that the label lacks, which is the
/// last, as in the losses, or axis 1, as in MindSpore; the last where both fit ([n, C, C] and [n, C]). 0: none.
template <class Prediction, class Label>  // TensorType or AnyTensor
constexpr int class_axis(const Prediction& prediction, const Label& label) {
  if (label.rank < 1 || prediction.rank != label.rank + 1) return 0;
  for (int candidate = 0; candidate < 2; ++candidate) {
    const int lacking = candidate == 0 ? label.rank : 1;
    bool fits = true;
    for (int axis = 0; axis < label.rank; ++axis)
      fits = fits && label.extent[axis] == prediction.extent[axis < lacking ? axis : axis + 1];
    if (fits) return lacking;
  }
  return 0;
}

/// Where a prediction has the numbers of a place's classes: class c is element first(place) + c * stride.
struct ClassLayout {
  long classes, stride = 1;
  ClassLayout(const AnyTensor& prediction, int axis) : classes(long(prediction.extent[axis])) {
    for (int inner = axis + 1; inner < prediction.rank; ++inner) stride *= long(prediction.extent[inner]);
  }
  long first(long place) const { return place / stride * classes * stride + place % stride; }
};

/// The error of a metric for classes of these types; empty if the types fit.
///
/// prediction  [n, ..., C] or [n, C, ...] float32 or float64, C >= 2: a number for each class
/// label       int32 or int64 [n, ...], the classes; or one-hot like the prediction [n, C, ...], of float32, float64,
///             or int32
[[gnu::cold]] constexpr Sentence wrong_classes(std::string_view metric, const TensorType& prediction,
                                               const TensorType& label) {
  const auto is_real = [](Dtype d) { return d == Dtype::float32 || d == Dtype::float64; };
  const bool is_whole = label.dtype == Dtype::int32 || label.dtype == Dtype::int64;
  const int axis = is_whole ? class_axis(prediction, label) : 0;
  const bool one_hot = label.same_shape(prediction) && (is_real(label.dtype) || label.dtype == Dtype::int32);
  Sentence s;
  if (prediction.rank == 2 && prediction[1] == 1)
    s << metric << " compares classes, and got one number per sample, " << tenon::name(prediction.dtype) << " "
      << prediction << ": give two classes two outputs and nn::SoftmaxCrossEntropyWithLogits; nn::MAE{} and nn::Loss{} "
      << "judge a regression";
  else if (prediction.rank < 2 || prediction[axis > 0 ? axis : 1] < 2 || !is_real(prediction.dtype))
    s << metric << " needs predictions [n,classes] of float32 or float64 with 2 or more classes, got "
      << tenon::name(prediction.dtype) << " " << prediction << " and labels " << tenon::name(label.dtype) << " "
      << label << "; nn::Loss{} judges a regression";
  else if (axis == 0 && !one_hot)
    s << metric << " got predictions " << prediction << " and labels " << tenon::name(label.dtype) << " " << label
      << ", which must be int32 or int64 "
      << (prediction.rank == 2 ? "[n]" : "without the axis of the classes, the last or axis 1")
      << ", or one-hot like the predictions";
  return s;
}

/// The error of a metric for sets of labels of these types; empty if the types fit.
///
/// prediction, label  [n, C, ...] of one shape and any dtype, 1 where a class belongs to the set, 0 where not
constexpr Sentence wrong_label_sets(std::string_view metric, const TensorType& prediction, const TensorType& label) {
  Sentence s;
  if (prediction.rank < 2 || !label.same_shape(prediction))
    s << metric << " needs predictions and labels [n,classes] of one shape, 1 for each class of a sample and 0 for "
      << "the others, got " << prediction << " and " << label;
  return s;
}

namespace detail {

/// A place of a batch: the class that is predicted, that of the label, and where the predictions of the classes are.
struct ClassPlace {
  long predicted, wanted, first, stride;
};
/// Calls f for each place of a batch. Throws ValueError with the sentence of wrong_classes(), and for another number of
/// classes than before: `classes` is 0 at first.
void each_class(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label, long& classes,
                FunctionRef<const ClassPlace&> f);

/// Calls f(row, class, is predicted, is wanted) for each element of a batch, one row (a sample, or a place of it) after
/// the other. Throws ValueError with the sentence of wrong_label_sets(), for elements that are neither 0 nor 1, and for
/// another number of classes than before.
void each_label(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label, long& classes,
                FunctionRef<long, long, bool, bool> f);

#if TENON_DEFINES
/// Throws ValueError with a sentence that is not empty, and for another number of classes than before.
inline void check_batch(std::string_view metric, const Sentence& wrong, long found, long& classes) {
  if (!wrong.empty()) throw_error<ValueError>(wrong.view(), ".");
  if (classes != 0 && classes != found)
    throw_error<ValueError>(metric, " got predictions of ", found, " classes after some of ", classes,
                            ": call clear() before it judges another network.");
  classes = found;
}
// What argmax gives: the first one of the largest, where NaN is larger than all else.
template <class T>
inline long largest_of(const AnyTensor& t, long first, long classes, long stride) {
  const T* x = static_cast<const T*>(t.data) + first;
  long best = 0;
  for (long i = 1; i < classes && x[best * stride] == x[best * stride]; ++i)
    if (!(x[i * stride] <= x[best * stride])) best = i;
  return best;
}
inline long largest(const AnyTensor& t, long first, long classes, long stride) {
  if (t.dtype == Dtype::float32) return largest_of<float>(t, first, classes, stride);
  if (t.dtype == Dtype::float64) return largest_of<double>(t, first, classes, stride);
  return largest_of<std::int32_t>(t, first, classes, stride);
}
inline long class_number(const AnyTensor& label, long i) {
  return label.dtype == Dtype::int32 ? static_cast<const std::int32_t*>(label.data)[i]
                                     : static_cast<long>(static_cast<const std::int64_t*>(label.data)[i]);
}

TENON_INLINE void each_class(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label,
                             long& classes, FunctionRef<const ClassPlace&> f) {
  const Sentence wrong = wrong_classes(metric, type_of_view(metric, prediction), type_of_view(metric, label));
  const bool one_hot = label.rank == prediction.rank;
  const int axis = one_hot ? 1 : class_axis(prediction, label);
  check_batch(metric, wrong, prediction.rank > 1 ? prediction.extent[axis] : 0, classes);
  const ClassLayout layout(prediction, axis);
  const long inner = layout.stride, places = prediction.count() / classes;
  for (long i = 0; i < places; ++i) {
    const long first = layout.first(i);
    const long wanted = one_hot ? largest(label, first, classes, inner) : class_number(label, i);
    f({largest(prediction, first, classes, inner), wanted, first, inner});
  }
}
TENON_INLINE void each_label(std::string_view metric, const AnyTensor& prediction, const AnyTensor& label,
                             long& classes, FunctionRef<long, long, bool, bool> f) {
  const Sentence wrong = wrong_label_sets(metric, type_of_view(metric, prediction), type_of_view(metric, label));
  check_batch(metric, wrong, prediction.rank > 1 ? prediction.extent[1] : 0, classes);
  const auto flag = [&](const AnyTensor& t, long at, const char* what) {
    const double value = element(t, at);
    if (value != 0 && value != 1)
      throw_error<ValueError>(metric, " needs elements 0 or 1, got ", value, " in the ", what, " at place ", at,
                              ": compare numbers with a threshold first.");
    return value == 1;
  };
  const std::int64_t count = prediction.count();
  for (std::int64_t at = 0; at < count; ++at) flag(prediction, at, "prediction"), flag(label, at, "label");
  const long inner = ClassLayout(prediction, 1).stride;
  for (long row = 0; row < prediction.extent[0] * inner; ++row)
    for (long c = 0; c < classes; ++c) {
      const long at = row / inner * classes * inner + c * inner + row % inner;
      f(row, c, element(prediction, at) == 1, element(label, at) == 1);
    }
}
#endif  // TENON_DEFINES
}  // namespace detail

}  // namespace tenon::nn
