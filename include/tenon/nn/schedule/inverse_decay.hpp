// Inverse decay of the learning rate.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// learning_rate / (1 + decay_rate · p),  p = step / decay_steps, its whole part with is_stair.
/// Throws ValueError for rates that are not above 0 and decay_steps below 1. Source: MindSpore nn.InverseDecayLR.
class InverseDecayLR {
 public:
  InverseDecayLR(double learning_rate, double decay_rate, long decay_steps, bool is_stair = false)
      : rate_(learning_rate), decay_(decay_rate), steps_(decay_steps), stair_(is_stair) {
    detail::check_above_zero("InverseDecayLR", "learning_rate", learning_rate);
    detail::check_above_zero("InverseDecayLR", "decay_rate", decay_rate);
    detail::check_count("InverseDecayLR", "decay_steps", decay_steps);
  }
  double at(double step) const {
    const double p = step / double(steps_);
    return rate_ / (1 + decay_ * (stair_ ? tenon::detail::libm::floor(p) : p));
  }
  double operator()(long step) const { return at(double(step)); }

 private:
  double rate_, decay_;
  long steps_;
  bool stair_;
};

/// The same as a list of one value per step, with epochs in place of steps. Source: MindSpore nn.inverse_decay_lr.
inline std::vector<double> inverse_decay_lr(double learning_rate, double decay_rate, long total_step,
                                            long step_per_epoch, long decay_epoch, bool is_stair = false) {
  return detail::each_epoch("inverse_decay_lr", InverseDecayLR(learning_rate, decay_rate, decay_epoch, is_stair),
                            total_step, step_per_epoch);
}

}  // namespace tenon::nn
