// LearningRateScheduler: a function of the user gives the learning rate after each step.
#pragma once
#include <cmath>
#include <cstdio>

#include <tenon/core/float/real_text.hpp>
#include <tenon/train/callback/run/learning_rate_of.hpp>
#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI {

/// `LearningRateScheduler([](float rate, long step) { return step % 1000 == 0 ? rate / 2 : rate; })`: after each step
/// of a training the function returns the new learning rate, also for each group with a separate rate. Prints
/// `At step 1000, learning_rate change to 0.05`, or `learning_rate of group 0`, when it changes.
///
/// throws   ValueError when the training begins, for a learning rate that is a list or a function, which need none
/// source   MindSpore LearningRateScheduler, which has no effect on CPUs there, and takes no groups; PyTorch's LambdaLR
template <class F>
class LearningRateScheduler {
 public:
  explicit LearningRateScheduler(F learning_rate_function) : function_(std::move(learning_rate_function)) {}
  void on_train_begin(auto& run) requires detail::HasOptimizer<decltype(run)>
  {
    detail::check_learning_rates("LearningRateScheduler", run);
  }
  void on_train_step_end(auto& run) requires detail::HasOptimizer<decltype(run)>
  {
    detail::change_learning_rates("LearningRateScheduler", run, [&](float rate, const std::string& whose) {
      const float next = static_cast<float>(function_(rate, run.cur_step_num));
      if (std::fabs(double(next) - double(rate)) <= 1e-10 * std::fmax(std::fabs(next), std::fabs(rate))) return rate;
      std::printf("At step %ld, learning_rate%s change to %s\n", run.cur_step_num, whose.c_str(), text(next).c_str());
      std::fflush(stdout);
      return next;
    });
  }

 private:
  F function_;
};

}  // namespace tenon
