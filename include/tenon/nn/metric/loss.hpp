// Mean loss of an evaluation.
#pragma once
#include <string_view>

#include <tenon/nn/metric/mean_of.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Mean of the losses of all batches, each batch counting once: numbers, or [n] with one per sample, of floating-point
/// dtypes. Source: MindSpore nn.Loss.
class Loss {
 public:
  static constexpr std::string_view name = "loss";

  void clear() { sum_ = 0, count_ = 0; }
  /// Throws ValueError for a loss of more axes.
  void update(const AnyTensor& loss) {
    if (loss.rank > 1)
      throw_error<ValueError>("Loss needs a number per batch or per sample, got ", shape_text(loss.shape()),
                              ": take the mean over the other axes.");
    sum_ += mean_of(loss);
    ++count_;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const {
    if (count_ == 0) throw_error<RuntimeError>("Loss cannot be computed: update() was not called.");
    return sum_ / static_cast<double>(count_);
  }

 private:
  double sum_ = 0;
  long count_ = 0;
};

}  // namespace tenon::nn
