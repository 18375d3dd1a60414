// The one-cycle policy: the learning rate rises to a maximum, then falls far below its initial value.
#pragma once
#include <numbers>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// Numbers of OneCycleLR with PyTorch's defaults.
struct OneCycleConfig {
  double pct_start = 0.3;         // the part of the steps in which the rate rises
  double div_factor = 25;         // it begins at max_lr / div_factor
  double final_div_factor = 1e4;  // and ends at a final_div_factor-th of that
};

/// From max_lr / div_factor to max_lr in the first part of total_steps, and from there to max_lr / div_factor /
/// final_div_factor in the rest, each along half a cosine; later steps keep the rate of the last step. Throws
/// ValueError for numbers that are not above 0, a pct_start outside of (0, 1), and less than 2 steps. Source: Smith and
/// Topin, arXiv 1708.07120; PyTorch OneCycleLR with anneal_strategy "cos", without its momentum.
class OneCycleLR {
 public:
  OneCycleLR(double max_lr, long total_steps, const OneCycleConfig& config = {}) : max_(max_lr), config_(config) {
    detail::check_above_zero("OneCycleLR", "max_lr", max_lr);
    detail::check_above_zero("OneCycleLR", "div_factor", config.div_factor);
    detail::check_above_zero("OneCycleLR", "final_div_factor", config.final_div_factor);
    if (total_steps < 2) throw_error<ValueError>("OneCycleLR: total_steps must be 2 or more, got ", total_steps, ".");
    if (!(config.pct_start > 0 && config.pct_start < 1))
      throw_error<ValueError>("OneCycleLR: pct_start must be between 0 and 1, both excluded, got ", config.pct_start,
                              ".");
    top_ = config.pct_start * double(total_steps) - 1;
    last_ = double(total_steps) - 1;
  }
  double operator()(long step) const {
    const double begin = max_ / config_.div_factor, i = math::min(double(step), last_);
    return i <= top_ ? between(begin, max_, top_ > 0 ? i / top_ : 1)
                     : between(max_, begin / config_.final_div_factor, (i - top_) / (last_ - top_));
  }

 private:
  static double between(double from, double to, double part) {
    return to + (from - to) / 2 * (1 + tenon::detail::libm::cos(std::numbers::pi * part));
  }

  double max_, top_ = 0, last_ = 0;
  OneCycleConfig config_;
};

}  // namespace tenon::nn
