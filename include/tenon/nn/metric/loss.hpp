// Mean loss of an evaluation.
#pragma once
#include <cstdint>
#include <string_view>

#include <tenon/nn/metric/count/mean_of.hpp>
#include <tenon/nn/metric/count/mean_over.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Mean of the losses of all batches: numbers, or [n] with one per sample, of floating-point dtypes.
///
/// A loss that does not divide by the samples, such as CrossEntropyLoss with class weights or ignored labels, which
/// divides by the weights of its labels, has a mean here that depends on the batch size, and a NaN of one batch stays.
///
/// over    samples: the weight of a batch is its number of samples, so that a short last batch does not distort the
///         mean. batches: each batch counts once, as in MindSpore: `nn::Loss{nn::MeanOver::batches}`
/// source  MindSpore nn.Loss, which has only the second
class Loss {
 public:
  static constexpr std::string_view name = "loss";
  constexpr Loss() = default;
  explicit constexpr Loss(MeanOver over) : over_(over) {}

  void clear() { sum_ = 0, weight_ = 0; }
  /// The loss of a batch of `samples`, as a Model passes it. In a direct call without `samples`, it is the number of
  /// elements of [n], or 1. Throws ValueError for a loss of more axes.
  void update(const AnyTensor& loss, std::int64_t samples = 0) {
    if (loss.rank > 1)
      throw_error<ValueError>("Loss needs a number per batch or per sample, got ", shape_text(loss.shape()),
                              ": take the mean over the other axes.");
    if (samples == 0) samples = loss.rank ? loss.extent[0] : 1;
    const double weight = over_ == MeanOver::samples ? static_cast<double>(samples) : 1;
    sum_ += mean_of(loss) * weight;
    weight_ += weight;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const {
    if (weight_ == 0) throw_error<RuntimeError>("Loss cannot be computed: update() was not called.");
    return sum_ / weight_;
  }

 private:
  double sum_ = 0, weight_ = 0;
  MeanOver over_ = MeanOver::samples;
};

}  // namespace tenon::nn
