// Perplexity: the number of equally likely words among which a model chooses.
#pragma once
#include <cmath>
#include <optional>

#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// exp(-mean of log p), where p is the probability of the label, at least 1e-10. Places with ignore_label do not count:
/// `Perplexity{0}`. For a network with nn::SoftmaxCrossEntropyWithLogits use `Perplexity::of_logits()`, which has no
/// lower limit of p.
///
/// prediction  [..., C] probabilities, or logits, any floating-point dtype
/// label       [...] class numbers; all positions of a batch may be in a single axis
/// source      MindSpore nn.Perplexity; of logits torchmetrics' Perplexity
class Perplexity {
 public:
  static constexpr std::string_view name = "perplexity";
  explicit Perplexity(std::optional<long> ignore_label = {}) : ignored_(ignore_label) {}
  static Perplexity of_logits(std::optional<long> ignore_label = {}) {
    Perplexity made(ignore_label);
    made.logits_ = true;
    return made;
  }

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
      const std::int64_t first = i * classes, at = first + static_cast<std::int64_t>(wanted);
      sum -= logits_ ? log_of_softmax(prediction, first, classes, at) : log_of(prediction, i, at);
      ++count;
    }
    sum_ += sum;
    count_ += count;
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const { return std::exp(detail::share("Perplexity", sum_, double(count_))); }

 private:
  static double log_of(const AnyTensor& prediction, std::int64_t place, std::int64_t at) {
    const double p = detail::element(prediction, at);
    if (p < 0 || p > 1.001)  // rounded in 16 bits
      throw_error<ValueError>("Perplexity needs probabilities, and got ", p, " at place ", static_cast<long>(place),
                              ": for logits use nn::Perplexity::of_logits().");
    return std::log(p < 1e-10 ? 1e-10 : p);
  }
  static double log_of_softmax(const AnyTensor& logits, std::int64_t first, std::int64_t classes, std::int64_t at) {
    double largest = detail::element(logits, first), sum = 0;
    for (std::int64_t k = first; k < first + classes; ++k) largest = std::fmax(largest, detail::element(logits, k));
    for (std::int64_t k = first; k < first + classes; ++k) sum += std::exp(detail::element(logits, k) - largest);
    return detail::element(logits, at) - largest - std::log(sum);
  }

  std::optional<long> ignored_;
  bool logits_ = false;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace tenon::nn
