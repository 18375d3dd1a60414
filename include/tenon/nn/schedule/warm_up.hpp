// Warm-up of the learning rate: it rises from 0, alone or before another schedule.
#pragma once
#include <utility>

#include <tenon/core/math/min_max.hpp>
#include <tenon/nn/schedule/checks.hpp>

namespace tenon::inline TENON_ABI::nn {

/// learning_rate · min(step, warmup_steps) / warmup_steps.
/// Throws ValueError for a learning rate that is not above 0 and warmup_steps below 1. Source: MindSpore nn.WarmUpLR.
class WarmUpLR {
 public:
  WarmUpLR(double learning_rate, long warmup_steps) : rate_(learning_rate), steps_(warmup_steps) {
    detail::check_above_zero("WarmUpLR", "learning_rate", learning_rate);
    detail::check_count("WarmUpLR", "warmup_steps", warmup_steps);
  }
  double at(double step) const { return rate_ * math::min(step, double(steps_)) / double(steps_); }
  double operator()(long step) const { return at(double(step)); }

 private:
  double rate_;
  long steps_;
};

/// The same as a list of one value per step, with epochs in place of steps. Source: MindSpore nn.warmup_lr.
inline std::vector<double> warmup_lr(double learning_rate, long total_step, long step_per_epoch, long warmup_epoch) {
  return detail::each_epoch("warmup_lr", WarmUpLR(learning_rate, warmup_epoch), total_step, step_per_epoch);
}

/// Another schedule after a warm-up: in the first `steps` steps the rate is (step + 1) / (steps + 1) of the schedule's
/// first value; then the schedule begins: `nn::WarmUpThen(500, nn::CosineDecayLR(0, 3e-4, 10000))`. No step has a rate
/// of 0. Throws ValueError for less than 1 step.
template <class Schedule>
class WarmUpThen {
 public:
  WarmUpThen(long steps, Schedule schedule) : steps_(steps), then_(std::move(schedule)) {
    detail::check_count("WarmUpThen", "steps", steps);
  }
  double operator()(long step) const {
    return step < steps_ ? double(then_(0L)) * double(step + 1) / double(steps_ + 1) : double(then_(step - steps_));
  }

 private:
  long steps_;
  Schedule then_;
};

}  // namespace tenon::nn
