// Perplexity: the number of equally likely words among which a model chooses.
#pragma once
#include <cmath>
#include <optional>

#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// exp(-mean of log p), where p is the probability of the label, at least 1e-10. Places with ignore_label do not count:
/// `Perplexity{0}`.
///
/// prediction  [..., C] probabilities (of logits, their softmax), any floating-point dtype
/// label       [...] class numbers; all positions of a batch may be in a single axis
/// source      MindSpore nn.Perplexity
class Perplexity {
 public:
  static constexpr std::string_view name = "perplexity";
  explicit Perplexity(std::optional<long> ignore_label = {}) : ignored_(ignore_label) {}

  void clear() { sum_ = 0, count_ = 0; }
  /// Throws ValueError for shapes that do not fit, for a label that is not one of the classes, and for a number that is
  /// not a probability (MindSpore counts it). After an error nothing of the update is counted.
  void update(const AnyTensor& prediction, const AnyTensor& label) {
    const std::int64_t places = label.count(), classes = prediction.rank ? prediction.extent[prediction.rank - 1] : 0;
    if (classes < 1 || prediction.count() != places * classes || !is_floating(prediction.dtype))
      throw_error<ValueError>("Perplexity needs probabilities [...,classes] and labels [...], got ",
                              tenon::name(prediction.dtype), " ", shape_text(prediction.shape()), " and ",
                              shape_text(label.shape()), ".");
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < places; ++i) {
      const double wanted = detail::element(label, i);
      if (ignored_ && wanted == double(*ignored_)) continue;
      if (!(wanted >= 0 && wanted < double(classes)) || wanted != std::floor(wanted))
        throw_error<ValueError>("Perplexity got the label ", wanted, " at place ", static_cast<long>(i),
                                ", the classes are 0 to ", static_cast<long>(classes - 1), ".");
      const double p = detail::element(prediction, i * classes + static_cast<std::int64_t>(wanted));
      if (p < 0 || p > 1.001)  // rounded in 16 bits
        throw_error<ValueError>("Perplexity needs probabilities, and got ", p, " at place ", static_cast<long>(i),
                                ": of logits give it the softmax.");
      sum -= std::log(p < 1e-10 ? 1e-10 : p);
      ++count;
    }
    sum_ += sum;
    count_ += count;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const { return std::exp(detail::share("Perplexity", sum_, double(count_))); }

 private:
  std::optional<long> ignored_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace tenon::nn
