// Share of right predictions.
#pragma once
#include <string_view>

#include <tenon/core/any_tensor.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Share of samples whose largest prediction is at the label's class.
///
/// prediction  [n, C] float32 or float64
/// label       int32 or int64 [n], or [n, C] (one-hot: its largest element counts)
/// source      MindSpore nn.Accuracy with eval_type "classification"
class Accuracy {
 public:
  static constexpr std::string_view name = "accuracy";

  void clear() { right_ = total_ = 0; }
  /// Throws ValueError if the shapes do not fit, TypeError for other dtypes.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    if (prediction.rank != 2) throw ValueError(text("Accuracy needs predictions [n, classes], got ", shape_text(prediction.shape()), "."));
    const bool one_hot = label.rank == 2;
    if (label.rank < 1 || label.rank > 2 || label.extent[0] != prediction.extent[0] || (one_hot && label.extent[1] != prediction.extent[1]))
      throw ValueError(text("Accuracy got predictions ", shape_text(prediction.shape()), " and labels ", shape_text(label.shape()), ", which must be [n] or [n, classes]."));
    const long classes = prediction.extent[1];
    for (long i = 0; i < prediction.extent[0]; ++i) {
      const long wanted = one_hot ? largest(label, i, classes) : number(label, i);
      right_ += largest(prediction, i, classes) == wanted;
    }
    total_ += prediction.extent[0];
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const {
    if (total_ == 0) throw RuntimeError("Accuracy cannot be computed: update() was not called, or with 0 samples.");
    return static_cast<double>(right_) / static_cast<double>(total_);
  }

 private:
  static long number(const AnyTensor& label, long i) {
    if (label.dtype == Dtype::int32) return label.as<std::int32_t>()[std::size_t(i)];
    if (label.dtype == Dtype::int64) return label.as<std::int64_t>()[std::size_t(i)];
    throw TypeError(text("Accuracy needs labels of int32 or int64, got ", tenon::name(label.dtype), "."));
  }
  template <class T>
  static long largest_of(const AnyTensor& t, long row, long classes) {
    const T* x = static_cast<const T*>(t.data) + row * classes;
    long best = 0;
    for (long i = 1; i < classes; ++i)
      if (x[i] > x[best]) best = i;
    return best;
  }
  static long largest(const AnyTensor& t, long row, long classes) {
    if (t.dtype == Dtype::float32) return largest_of<float>(t, row, classes);
    if (t.dtype == Dtype::float64) return largest_of<double>(t, row, classes);
    if (t.dtype == Dtype::int32) return largest_of<std::int32_t>(t, row, classes);
    throw TypeError(text("Accuracy needs predictions of float32 or float64, got ", tenon::name(t.dtype), "."));
  }
  long right_ = 0, total_ = 0;
};

}  // namespace tenon::nn
