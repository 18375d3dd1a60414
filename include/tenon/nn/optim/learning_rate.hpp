// A learning rate that may change with the step.
#pragma once
#include <concepts>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/graph/ir/member.hpp>
#if TENON_DEFINES
#include <limits>
#endif

namespace tenon::inline TENON_ABI::nn {

namespace detail {
// What PyTorch and MindSpore give to an optimizer first: the parameters, or here the network itself.
template <class F>
inline constexpr bool holds_parameters = AnyCell<F> || requires { requires std::is_class_v<typename F::value_type>; };
template <class F>
inline constexpr bool is_text = std::is_convertible_v<const F&, std::string_view>;
template <class F>
struct NoLearningRate {
  static constexpr Sentence sentence =
      is_text<F> ? Sentence{} << "a learning rate is a number, a list of numbers, or a function of the step, no text: "
                                 "nn::Momentum{.learning_rate = 0.01f}"
                 : Sentence{} << "a Model hands the parameters to its optimizer, which takes numbers only: "
                                 "nn::Momentum{.learning_rate = 0.01f}";
};
}  // namespace detail

#if defined(TENON_EMBEDDED)
/// Without a heap: a number, or a function of the step (from 0) that captures nothing.
class LearningRate {
 public:
  constexpr LearningRate(double value) : value_(checked(static_cast<float>(value))) {}
  constexpr LearningRate(float (*function)(long step)) : function_(function) {}
  float at(long step) const { return function_ ? checked(function_(step)) : value_; }
  constexpr bool is_number() const { return !function_; }
  static constexpr long length() { return 0; }

 private:
  static constexpr float checked(float v) {
    if (!(v >= 0 && v <= __FLT_MAX__)) throw_error<ValueError>("A learning rate must be a finite number, 0 or more.");
    return v;
  }
  float value_ = 0;
  float (*function_)(long) = nullptr;
};
#else
/// A number, a list with one value per step, or a function of the step (from 0): `0.1`, `{0.1, 0.05}`, `[](long step) {
/// ... }`. One number in braces is that number for all steps.
class LearningRate {
 public:
  /// Throws ValueError for a negative, infinite, or NaN value. The other constructors do the same; a function throws
  /// when it returns such a value.
  LearningRate(double value);
  LearningRate(std::vector<float> values);
  LearningRate(const std::vector<double>& values);
  // Not std::initializer_list: it would also take {} and so hide a learning rate that was left out.
  template <std::convertible_to<double>... More>
  LearningRate(double first, double second, More... more)
      : LearningRate(
            std::vector<float>{static_cast<float>(first), static_cast<float>(second), static_cast<float>(more)...}) {}
  template <class F>
  requires(!detail::holds_parameters<F>) && requires(const F& f) { static_cast<float>(f(long{0})); }
  LearningRate(F f) : function_(tenon::detail::Shared<const Function>::make<Holder<F>>(std::move(f))) {}
  /// Stops the compilation with a sentence.
  template <class F>
  requires(detail::holds_parameters<F> || detail::is_text<F>)
  LearningRate(const F&) {
    using Wrong = Mistake<detail::NoLearningRate<F>>;
    static_cast<void>(Wrong::corrected);
  }

  /// The value of a step. Throws ValueError after the end of a list, but where nothing is updated with it (`used`).
  float at(long step, bool used = true) const;
  /// Whether the rate is one number for all steps.
  bool is_number() const { return list_.empty() && !function_; }
  /// The number of values of a list; 0 if the rate is no list.
  long length() const { return static_cast<long>(list_.size()); }

 private:
  struct Function {
    virtual ~Function() = default;
    virtual float at(long step) const = 0;
  };
  template <class F>
  struct Holder final : Function {
    F f;
    explicit Holder(F g) : f(std::move(g)) {}
    float at(long step) const override { return static_cast<float>(f(step)); }
  };
  static float checked(float v);

  float value_ = 0;
  std::vector<float> list_;
  tenon::detail::Shared<const Function> function_;
};
#endif

#if TENON_DEFINES
TENON_INLINE float LearningRate::checked(float v) {
  if (!(v >= 0 && v <= std::numeric_limits<float>::max()))
    throw_error<ValueError>("A learning rate must be a finite number, 0 or more, got ", v, ".");
  return v;
}
TENON_INLINE_CONSTRUCTOR LearningRate::LearningRate(double value) : value_(checked(static_cast<float>(value))) {}
TENON_INLINE_CONSTRUCTOR LearningRate::LearningRate(std::vector<float> values) : list_(std::move(values)) {
  if (list_.empty()) throw_error<ValueError>("A learning rate list needs at least one value.");
  for (float v : list_) checked(v);
}
TENON_INLINE_CONSTRUCTOR LearningRate::LearningRate(const std::vector<double>& values)
    : LearningRate(std::vector<float>(values.begin(), values.end())) {}
TENON_INLINE float LearningRate::at(long step, bool used) const {
  if (function_) return checked(function_->at(step));
  if (list_.empty()) return value_;
  if (!used && step >= length()) return list_.back();
  if (step >= length())
    throw_error<ValueError>("The learning rate list has ", list_.size(), " values, step ", step,
                            " needs one more: make it as long as the training.");
  return list_[std::size_t(step)];
}
#endif  // TENON_DEFINES

}  // namespace tenon::nn
