// Dice coefficient: the overlap of two regions.
#pragma once
#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// smooth      added to the denominator, so that two empty regions have 0
/// per_sample  false: the coefficients of whole updates, their sum divided by the number of samples, as in MindSpore;
///             it falls with the size of the batches. true: the mean of the coefficients of single samples
struct DiceOptions {
  double smooth = 1e-5;
  bool per_sample = false;
};

/// 2 sum(p y) / (sum(p²) + sum(y²) + smooth).
///
/// prediction, label  [n, ...] of one shape, any dtypes; 0 and 1, or shares between
/// throws             ValueError for a smooth that is not 0 or more
/// source             MindSpore nn.Dice
class Dice {
 public:
  static constexpr std::string_view name = "dice";
  explicit Dice(DiceOptions options = {}) : options_(options) {
    if (!(options.smooth >= 0)) throw_error<ValueError>("Dice needs a smooth of 0 or more, got ", options.smooth, ".");
  }

  void clear() { sum_ = 0, samples_ = 0; }
  /// Throws ValueError unless both have one shape with an axis of samples.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    detail::check_same_shape("Dice", prediction, label);
    if (prediction.rank == 0) throw_error<ValueError>("Dice needs predictions [n,...], got a number.");
    const std::int64_t n = prediction.extent[0], count = prediction.count();
    if (count == 0) return;
    const std::int64_t part = options_.per_sample ? count / n : count;
    for (std::int64_t first = 0; first < count; first += part) sum_ += coefficient(prediction, label, first, part);
    samples_ += n;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const { return detail::share("Dice", sum_, double(samples_)); }

 private:
  double coefficient(const AnyTensor& prediction, const AnyTensor& label, std::int64_t first, std::int64_t part) const {
    double common = 0, all = 0;
    for (std::int64_t i = first; i < first + part; ++i) {
      const double p = detail::element(prediction, i), y = detail::element(label, i);
      common += p * y;
      all += p * p + y * y;
    }
    return all + options_.smooth == 0 ? 0 : 2 * common / (all + options_.smooth);
  }

  DiceOptions options_;
  double sum_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace tenon::nn
