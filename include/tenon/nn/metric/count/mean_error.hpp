// What MAE and MSE have in common: a sum of errors and what it is divided by.
#pragma once
#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The divisor of a sum over elements. MindSpore's MAE and MSE divide by samples, so that predictions of 10 numbers
/// have 10 times the mean error; per_element is the mean.
enum class Division { per_sample, per_element };

namespace detail {

/// A metric M of predictions of numbers, which says `title` and `double error(double difference)`.
template <class M>
class MeanError {
 public:
  MeanError() = default;
  explicit MeanError(Division division) : division_(division) {}

  /// Why predictions and targets of these types cannot be judged; empty if they can.
  static constexpr Sentence check(const TensorType& prediction, const TensorType& target) {
    Sentence s;
    if (prediction.rank < 1 || !target.same_shape(prediction))
      s << M::title << " needs a prediction and a target [n,...] of one shape, got " << prediction << " and " << target;
    return s;
  }
  void clear() { sum_ = 0, count_ = 0; }
  /// Throws ValueError with the sentence of check().
  void update(const AnyTensor& prediction, const AnyTensor& target) {
    if (const Sentence wrong = check(type_of_view(M::title, prediction), type_of_view(M::title, target));
        !wrong.empty())
      throw_error<ValueError>(wrong.view(), ".");
    const std::int64_t elements = prediction.count();
    for (std::int64_t i = 0; i < elements; ++i) sum_ += M::error(element(prediction, i) - element(target, i));
    count_ += division_ == Division::per_sample ? prediction.extent[0] : elements;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const { return share(M::title, sum_, static_cast<double>(count_)); }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
  Division division_ = Division::per_sample;
};

}  // namespace detail
}  // namespace tenon::nn
