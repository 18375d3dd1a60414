// EarlyStopping: ends a training when a monitored number no longer improves.
#pragma once
#include <cstdio>
#include <optional>
#include <string>

#include <tenon/train/callback/monitor.hpp>
#include <tenon/train/callback/run/callback_turn.hpp>
#include <tenon/train/callback/run/snapshot.hpp>

namespace tenon::inline TENON_ABI {

/// Ends the training after `patience` epochs without an improvement: `model.fit(100, data, valid,
/// EarlyStopping{.patience = 3, .restore_best_weights = true})`.
///
/// monitor     "eval_loss", or the name of a metric of the Model; without fit() "loss", the loss of the last step
/// min_delta   an improvement is larger than this
/// baseline    the number must also be better than this; otherwise the epoch counts as an epoch without improvement
/// restore_best_weights   at the end the network has the parameters of the best epoch, as they were evaluated: with an
///                        ExponentialMovingAverage the averages
/// throws      ValueError when the training begins, for a negative min_delta or patience, and for a number that its
///             evaluations do not give
/// source      MindSpore 2 EarlyStopping. There a patience of 0 ends every training after its first epoch, and a value
///             of exactly 0 counts as missing; here 0 ends it at the first epoch that is no better, as in Keras
struct EarlyStopping {
  static constexpr CallbackTurn turn = CallbackTurn::restores;
  std::string monitor = "eval_loss";
  double min_delta = 0;
  long patience = 0;
  bool verbose = false;
  MonitorMode mode = MonitorMode::automatic;
  std::optional<double> baseline{};
  bool restore_best_weights = false;

  // What it found.
  long stopped_epoch = 0;  // 0: it did not stop the training
  long best_epoch = 0;
  detail::Monitor watched{};
  detail::Snapshot best_weights{};
  long wait = 0;

  void on_train_begin(auto& run) {
    if (patience < 0) throw_error<ValueError>("EarlyStopping: patience must be 0 or more, got ", patience, ".");
    watched.begin("EarlyStopping", monitor, mode, min_delta, run);
    stopped_epoch = best_epoch = wait = 0;
    best_weights = {};
  }
  void on_train_epoch_end(auto& run) {
    const std::optional<double> value = watched.value(run);
    if (!value) return;
    ++wait;
    if (watched.improves(*value)) {
      best_epoch = run.cur_epoch_num;
      if (restore_best_weights) take_weights(run);
      if (!baseline || watched.better(*value, *baseline)) wait = 0;
    }
    if (wait > 0 && wait >= patience) stop(run);
  }
  void on_train_end(auto& run) {
    if (verbose && stopped_epoch > 0) std::printf("Epoch %05ld: early stopping\n", stopped_epoch), std::fflush(stdout);
    if constexpr (requires { run.model.network(); })
      if (!best_weights.empty()) {
        best_weights.restore(ParameterList(run.model.network()));
        run.final_weights = text("the best weights that EarlyStopping has seen, of epoch ", best_epoch);
      }
  }
  void on_train_resumed(auto& run) {
    if constexpr (requires { run.model.network(); })
      best_weights.check(ParameterList(run.model.network()), "EarlyStopping");
    if (wait > 0 && wait >= patience) stop(run);
  }
  void state(CallbackState& state) {
    watched.state(state), best_weights.state(state);
    state(wait), state(best_epoch);
  }

 private:
  void stop(auto& run) {
    stopped_epoch = run.cur_epoch_num;
    run.request_stop();
  }
  void take_weights(auto& run) {
    if constexpr (requires { run.model.network(); })
      run.with_eval_weights([&] { best_weights.take(ParameterList(run.model.network())); });
    else
      throw_error<ValueError>("EarlyStopping: restore_best_weights needs the Model: give the callback to fit() itself, "
                              "or in a list of AnyCallbackOf<decltype(model)>.");
  }
};

}  // namespace tenon
