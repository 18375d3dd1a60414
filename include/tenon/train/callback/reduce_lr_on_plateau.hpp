// ReduceLROnPlateau: lowers the learning rate when a monitored number no longer improves.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>

#include <tenon/core/float/real_text.hpp>
#include <tenon/train/callback/monitor.hpp>
#include <tenon/train/callback/run/learning_rate_of.hpp>

namespace tenon::inline TENON_ABI {

/// Multiplies the learning rate, and those of groups that have one, by `factor` after `patience` epochs without an
/// improvement: `model.fit(100, data, valid, ReduceLROnPlateau{.factor = 0.5f, .patience = 3})`.
///
/// monitor, mode, min_delta   as in EarlyStopping
/// cooldown    the epochs after a reduction until one without an improvement counts again: the last of them does, so 0
///             and 1 are the same, as in MindSpore and Keras; in PyTorch it is the one after them
/// verbose     prints `Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.010000001.`
/// throws      ValueError when the training begins, for a factor that is not inside (0, 1), negative numbers, and a
///             learning rate that is a list or a function
/// source      MindSpore 2 ReduceLROnPlateau, which throws for groups; PyTorch's lowers the rate of each
struct ReduceLROnPlateau {
  std::string monitor = "eval_loss";
  float factor = 0.1f;
  long patience = 10;
  bool verbose = false;
  MonitorMode mode = MonitorMode::automatic;
  double min_delta = 1e-4;
  long cooldown = 0;
  float min_lr = 0;

  detail::Monitor watched{};
  long wait = 0, resting = 0;

  void on_train_begin(auto& run) requires detail::HasOptimizer<decltype(run)>
  {
    if (!(factor > 0 && factor < 1))
      throw_error<ValueError>("ReduceLROnPlateau: factor must be between 0 and 1, both excluded, got ", factor, ".");
    if (patience < 0 || cooldown < 0 || !(min_lr >= 0))
      throw_error<ValueError>("ReduceLROnPlateau: patience, cooldown, and min_lr must be 0 or more, got ", patience,
                              ", ", cooldown, ", and ", min_lr, ".");
    detail::check_learning_rates("ReduceLROnPlateau", run);
    watched.begin("ReduceLROnPlateau", monitor, mode, min_delta, run);
    wait = resting = 0;
  }
  void on_train_epoch_end(auto& run) requires detail::HasOptimizer<decltype(run)>
  {
    const std::optional<double> value = watched.value(run);
    if (!value) return;
    if (resting > 0) --resting, wait = 0;
    if (watched.improves(*value)) wait = 0;
    else if (resting == 0 && ++wait >= patience) reduce(run);
  }
  void state(CallbackState& state) {
    watched.state(state);
    state(wait), state(resting);
  }

 private:
  void reduce(auto& run) {
    wait = 0, resting = cooldown;
    detail::change_learning_rates("ReduceLROnPlateau", run, [&](float rate, const std::string& whose) {
      if (rate <= min_lr) return rate;
      const float lower = std::max(rate * factor, min_lr);
      if (verbose)
        std::printf("Epoch %05ld: ReduceLROnPlateau reducing learning rate%s to %s.\n", run.cur_epoch_num,
                    whose.c_str(), text(lower).c_str());
      if (verbose) std::fflush(stdout);
      return lower;
    });
  }
};

}  // namespace tenon
