// Natural exponential decay of the learning rate.
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// learning_rate · e^(-decay_rate · step); with is_stair the step is rounded down to a multiple of decay_steps, which
/// has no other effect. Throws ValueError for rates that are not above 0 and decay_steps below 1. Source: MindSpore
/// nn.NaturalExpDecayLR.
class NaturalExpDecayLR {
 public:
  NaturalExpDecayLR(double learning_rate, double decay_rate, long decay_steps, bool is_stair = false)
      : rate_(learning_rate), decay_(decay_rate), steps_(decay_steps), stair_(is_stair) {
    detail::check_above_zero("NaturalExpDecayLR", "learning_rate", learning_rate);
    detail::check_above_zero("NaturalExpDecayLR", "decay_rate", decay_rate);
    detail::check_count("NaturalExpDecayLR", "decay_steps", decay_steps);
  }
  double at(double step) const {
    const double steps = double(steps_);
    return rate_ *
           tenon::detail::libm::exp(-decay_ * (stair_ ? tenon::detail::libm::floor(step / steps) * steps : step));
  }
  double operator()(long step) const { return at(double(step)); }

 private:
  double rate_, decay_;
  long steps_;
  bool stair_;
};

/// The same as a list of one value per step, with epochs in place of steps. Source: MindSpore nn.natural_exp_decay_lr.
inline std::vector<double> natural_exp_decay_lr(double learning_rate, double decay_rate, long total_step,
                                                long step_per_epoch, long decay_epoch, bool is_stair = false) {
  return detail::each_epoch("natural_exp_decay_lr", NaturalExpDecayLR(learning_rate, decay_rate, decay_epoch, is_stair),
                            total_step, step_per_epoch);
}

}  // namespace tenon::nn
