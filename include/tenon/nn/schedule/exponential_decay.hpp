// Exponential decay of the learning rate: by a factor every n steps.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// learning_rate · decay_rate^p,  p = step / decay_steps, its whole part with is_stair:
/// `nn::Adam{.learning_rate = nn::ExponentialDecayLR(0.1, 0.9, 1000)}`. Steps count from 0.
/// Throws ValueError for rates that are not above 0 and decay_steps below 1. Source: MindSpore nn.ExponentialDecayLR.
class ExponentialDecayLR {
 public:
  ExponentialDecayLR(double learning_rate, double decay_rate, long decay_steps, bool is_stair = false)
      : rate_(learning_rate), decay_(decay_rate), steps_(decay_steps), stair_(is_stair) {
    detail::check_above_zero("ExponentialDecayLR", "learning_rate", learning_rate);
    detail::check_above_zero("ExponentialDecayLR", "decay_rate", decay_rate);
    detail::check_count("ExponentialDecayLR", "decay_steps", decay_steps);
  }
  double at(double step) const {
    const double p = step / double(steps_);
    return rate_ * tenon::detail::libm::pow(decay_, stair_ ? tenon::detail::libm::floor(p) : p);
  }
  double operator()(long step) const { return at(double(step)); }

 private:
  double rate_, decay_;
  long steps_;
  bool stair_;
};

/// The same as a list of one value per step, with epochs of `step_per_epoch` steps in place of steps. Throws as above.
/// Source: MindSpore nn.exponential_decay_lr.
inline std::vector<double> exponential_decay_lr(double learning_rate, double decay_rate, long total_step,
                                                long step_per_epoch, long decay_epoch, bool is_stair = false) {
  return detail::each_epoch("exponential_decay_lr",
                            ExponentialDecayLR(learning_rate, decay_rate, decay_epoch, is_stair), total_step,
                            step_per_epoch);
}

}  // namespace tenon::nn
