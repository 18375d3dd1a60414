// Share of right predictions.
#pragma once
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>
#if TENON_DEFINES
#include <algorithm>
#endif

namespace tenon::inline TENON_ABI::nn {

/// Share of samples whose largest prediction is at the label's class.
///
/// prediction  [n, C] float32 or float64, C >= 2
/// label       int32 or int64 [n], or [n, C] of float32, float64, or int32 (one-hot: its largest element counts)
/// source      MindSpore nn.Accuracy with eval_type "classification"
class Accuracy {
 public:
  static constexpr std::string_view name = "accuracy";

  /// Why predictions and labels of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& label) {
    const auto is_real = [](Dtype d) { return d == Dtype::float32 || d == Dtype::float64; };
    const bool sparse =
        label.rank == 1 && (label.dtype == Dtype::int32 || label.dtype == Dtype::int64) && label[0] == prediction[0];
    const bool one_hot = label.same_shape(prediction) && (is_real(label.dtype) || label.dtype == Dtype::int32);
    Sentence s;
    if (prediction.rank != 2 || prediction[1] < 2 || !is_real(prediction.dtype))
      s << "Accuracy needs predictions [n,classes] of float32 or float64 with 2 or more classes, got "
        << tenon::name(prediction.dtype) << " " << prediction << " and labels " << tenon::name(label.dtype) << " "
        << label << "; nn::Loss{} judges a regression";
    else if (!sparse && !one_hot)
      s << "Accuracy got predictions " << prediction << " and labels " << tenon::name(label.dtype) << " " << label
        << ", which must be int32 or int64 [n], or one-hot like the predictions";
    return s;
  }

  void clear() { right_ = total_ = classes_ = 0; }
  /// Throws ValueError with the sentence of check(), and for another number of classes than before.
  void update(const AnyTensor& prediction, const AnyTensor& label);
  /// Throws RuntimeError if nothing was counted.
  double eval() const;

 private:
  long right_ = 0, total_ = 0, classes_ = 0;
};

#if TENON_DEFINES
namespace detail {
// More axes than a TensorType has are cut: any number above 2 is refused.
inline TensorType type_of_view(const AnyTensor& t) {
  TensorType type{{}, std::min(t.rank, max_rank), t.dtype};
  for (int axis = 0; axis < type.rank; ++axis) type.extent[axis] = static_cast<int>(t.extent[axis]);
  return type;
}
inline long number(const AnyTensor& label, long i) {
  return label.dtype == Dtype::int32 ? static_cast<const std::int32_t*>(label.data)[i]
                                     : static_cast<const std::int64_t*>(label.data)[i];
}
template <class T>
inline long largest_of(const AnyTensor& t, long row, long classes) {
  const T* x = static_cast<const T*>(t.data) + row * classes;
  long best = 0;
  for (long i = 1; i < classes; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}
inline long largest(const AnyTensor& t, long row, long classes) {
  if (t.dtype == Dtype::float32) return largest_of<float>(t, row, classes);
  if (t.dtype == Dtype::float64) return largest_of<double>(t, row, classes);
  return largest_of<std::int32_t>(t, row, classes);
}
}  // namespace detail

TENON_INLINE void Accuracy::update(const AnyTensor& prediction, const AnyTensor& label) {
  if (const Sentence wrong = check(detail::type_of_view(prediction), detail::type_of_view(label)); !wrong.empty())
    throw_error<ValueError>(wrong.view(), ".");
  const bool one_hot = label.rank == 2;
  const long classes = prediction.extent[1];
  if (classes_ != 0 && classes != classes_)
    throw_error<ValueError>("Accuracy got predictions of ", classes, " classes after some of ", classes_,
                            ": call clear() before it judges another network.");
  classes_ = classes;
  for (long i = 0; i < prediction.extent[0]; ++i) {
    const long wanted = one_hot ? detail::largest(label, i, classes) : detail::number(label, i);
    right_ += detail::largest(prediction, i, classes) == wanted;
  }
  total_ += prediction.extent[0];
}
TENON_INLINE double Accuracy::eval() const {
  if (total_ == 0)
    throw_error<RuntimeError>("Accuracy cannot be computed: update() was not called, or with 0 samples.");
  return static_cast<double>(right_) / static_cast<double>(total_);
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn
