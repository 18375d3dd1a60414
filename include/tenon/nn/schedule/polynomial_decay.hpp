// Polynomial decay of the learning rate.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// (learning_rate - end_learning_rate) · (1 - min(step, D) / D)^power + end_learning_rate,  D = decay_steps;
/// with update_decay_steps D grows to the next multiple of decay_steps, so that the rate rises again after each.
/// Throws ValueError for numbers that are not above 0 (end_learning_rate: 0 or more) and decay_steps below 1.
/// Source: MindSpore nn.PolynomialDecayLR.
class PolynomialDecayLR {
 public:
  PolynomialDecayLR(double learning_rate, double end_learning_rate, long decay_steps, double power,
                    bool update_decay_steps = false)
      : rate_(learning_rate), end_(end_learning_rate), power_(power), steps_(decay_steps), grows_(update_decay_steps) {
    detail::check_above_zero("PolynomialDecayLR", "learning_rate", learning_rate);
    detail::check_from_zero("PolynomialDecayLR", "end_learning_rate", end_learning_rate);
    detail::check_count("PolynomialDecayLR", "decay_steps", decay_steps);
    detail::check_above_zero("PolynomialDecayLR", "power", power);
  }
  double at(double step) const {
    const double steps = double(steps_),
                 all = grows_ ? steps * math::max(tenon::detail::libm::ceil(step / steps), 1.0) : steps;
    return (rate_ - end_) * tenon::detail::libm::pow(1 - math::min(step, all) / all, power_) + end_;
  }
  double operator()(long step) const { return at(double(step)); }

 private:
  double rate_, end_, power_;
  long steps_;
  bool grows_;
};

/// The same as a list of one value per step, with epochs in place of steps. Source: MindSpore nn.polynomial_decay_lr.
inline std::vector<double> polynomial_decay_lr(double learning_rate, double end_learning_rate, long total_step,
                                               long step_per_epoch, long decay_epoch, double power,
                                               bool update_decay_epoch = false) {
  const PolynomialDecayLR schedule(learning_rate, end_learning_rate, decay_epoch, power, update_decay_epoch);
  return detail::each_epoch("polynomial_decay_lr", schedule, total_step, step_per_epoch);
}

}  // namespace tenon::nn
