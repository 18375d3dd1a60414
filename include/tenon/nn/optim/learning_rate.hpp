// A learning rate that may change with the step.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A number, a list with one value per step, or a function of the step (from 0).
class LearningRate {
 public:
  LearningRate(double value) : value_(static_cast<float>(value)) { check(value_); }
  LearningRate(std::vector<float> values) : list_(std::move(values)) {
    if (list_.empty()) throw ValueError("A learning rate list needs at least one value.");
    for (float v : list_) check(v);
  }
  template <class F>
    requires requires(const F& f) { static_cast<float>(f(long{0})); }
  LearningRate(F f) : function_(std::make_shared<Holder<F>>(std::move(f))) {}

  /// The value of a step. Throws ValueError behind the end of a list.
  float at(long step) const {
    if (function_) return function_->at(step);
    if (list_.empty()) return value_;
    if (step >= long(list_.size())) throw ValueError(text("The learning rate list has ", list_.size(), " values, step ", step, " needs one more: make it as long as the training."));
    return list_[std::size_t(step)];
  }

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
  static void check(float v) {
    if (!(v >= 0)) throw ValueError(text("A learning rate must be 0 or more, got ", v, "."));
  }

  float value_ = 0;
  std::vector<float> list_;
  std::shared_ptr<const Function> function_;
};

}  // namespace tenon::nn
