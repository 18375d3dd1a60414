// Cosine decay of the learning rate.
#pragma once
#include <numbers>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// From max_lr to min_lr along half a cosine in decay_steps steps, then min_lr: min_lr + (max_lr - min_lr) / 2 · (1 +
/// cos(π · min(step, decay_steps) / decay_steps)). Throws ValueError unless 0 <= min_lr < max_lr, and for decay_steps
/// below 1. Source: Loshchilov and Hutter, arXiv 1608.03983; MindSpore nn.CosineDecayLR, which requires min_lr above 0.
class CosineDecayLR {
 public:
  CosineDecayLR(double min_lr, double max_lr, long decay_steps) : min_(min_lr), max_(max_lr), steps_(decay_steps) {
    detail::check_from_zero("CosineDecayLR", "min_lr", min_lr);
    detail::check_above_zero("CosineDecayLR", "max_lr", max_lr);
    if (min_lr >= max_lr)
      throw_error<ValueError>("CosineDecayLR: max_lr must be greater than min_lr, got ", max_lr, " and ", min_lr, ".");
    detail::check_count("CosineDecayLR", "decay_steps", decay_steps);
  }
  double at(double step) const {
    const double steps = double(steps_);
    return min_ +
           0.5 * (max_ - min_) * (1 + tenon::detail::libm::cos(std::numbers::pi * math::min(step, steps) / steps));
  }
  double operator()(long step) const { return at(double(step)); }

 private:
  double min_, max_;
  long steps_;
};

/// The same as a list of one value per step, with epochs in place of steps. Source: MindSpore nn.cosine_decay_lr.
inline std::vector<double> cosine_decay_lr(double min_lr, double max_lr, long total_step, long step_per_epoch,
                                           long decay_epoch) {
  return detail::each_epoch("cosine_decay_lr", CosineDecayLR(min_lr, max_lr, decay_epoch), total_step, step_per_epoch);
}

}  // namespace tenon::nn
