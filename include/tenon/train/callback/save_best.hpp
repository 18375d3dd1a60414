// SaveBest: keeps the checkpoint of the best epoch.
#pragma once
#include <string>

#include <tenon/io/file.hpp>
#include <tenon/io/path/own_path.hpp>
#include <tenon/train/callback/monitor.hpp>
#include <tenon/train/checkpoint.hpp>

namespace tenon::inline TENON_ABI {

/// Writes the parameters to `path` whenever an epoch is the best so far: `model.fit(10, data, valid, SaveBest{.path =
/// "best.safetensors", .monitor = "accuracy"})`. It writes the parameters that were evaluated: with an
/// ExponentialMovingAverage the averages. If another running program writes to `path`, the path becomes
/// best_1.safetensors, and a warning reports this. In further runs the same object keeps its best number, if path,
/// monitor, and mode do not change.
///
/// Every save replaces the file as a whole under the same name, so another process can watch this one file, and serve
/// the best weights so far (docs/serving.md). Each file of a ModelCheckpoint has a new name.
///
/// monitor, mode   as in EarlyStopping; with train() use "loss", which keeps the parameters with the lowest loss at the
///                 end of an epoch
/// throws          what save_checkpoint throws; when the training begins, RuntimeError if no file can be at `path`
struct SaveBest {
  static constexpr bool writes = true;

  std::string path = "best.safetensors";
  std::string monitor = "eval_loss";
  MonitorMode mode = MonitorMode::automatic;

  detail::Monitor watched{};
  long best_epoch = 0;  // of its run; 0: none yet
  std::string kept_in{};

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    static_cast<void>(detail::is_ckpt_path("save", path));
    path = io::own_file(path);
    io::check_writable(path);  // now, not after an epoch
    if (best_epoch > 0 && kept_in == path && watched.watches(monitor, mode)) return watched.begin_again(run);
    watched.begin("SaveBest", monitor, mode, 0, run);
    best_epoch = 0, kept_in = path;
  }
  void on_train_epoch_end(auto& run) requires requires { run.model.network(); }
  {
    const std::optional<double> value = watched.value(run);
    if (!value || !watched.improves(*value)) return;
    best_epoch = run.cur_epoch_num;
    run.with_eval_weights([&] { save_checkpoint(run.model.network(), path); });
  }
  void state(CallbackState& state) {
    watched.state(state);
    state(best_epoch);
  }
};

}  // namespace tenon
