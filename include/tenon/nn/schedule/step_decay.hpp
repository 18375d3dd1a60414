// A learning rate that falls by a factor every n steps.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// learning_rate · gamma^⌊step / step_size⌋. Throws ValueError for rates and factors that are not above 0 and a
/// step_size below 1. Source: PyTorch StepLR, whose scheduler usually counts epochs: give step_size in steps.
class StepLR {
 public:
  StepLR(double learning_rate, long step_size, double gamma = 0.1)
      : rate_(learning_rate), gamma_(gamma), size_(step_size) {
    detail::check_above_zero("StepLR", "learning_rate", learning_rate);
    detail::check_count("StepLR", "step_size", step_size);
    detail::check_above_zero("StepLR", "gamma", gamma);
  }
  double operator()(long step) const { return rate_ * tenon::detail::libm::pow(gamma_, double(step / size_)); }

 private:
  double rate_, gamma_;
  long size_;
};

}  // namespace tenon::nn
