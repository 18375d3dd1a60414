// History: the losses and metrics of a training, epoch by epoch.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <tenon/train/callback/run/callback_state.hpp>
#include <tenon/train/callback/run/run_info.hpp>
#include <tenon/train/eval_result.hpp>

namespace tenon::inline TENON_ABI {

/// Collects per epoch the loss of its last step, as "net_output", and under fit() the metrics:
/// `history.history["accuracy"][2]`. Each new training starts an empty history. Source: MindSpore 2 History.
struct History {
  std::vector<long> epoch{};
  std::map<std::string, std::vector<double>, std::less<>> history{};

  void on_train_begin(RunInfo&) { epoch.clear(), history.clear(); }
  void on_train_epoch_end(RunInfo& run) {
    epoch.push_back(run.cur_epoch_num);
    history["net_output"].push_back(run.loss());
    if (!run.eval_results) return;
    for (const auto& [name, value] : *run.eval_results)
      if (name != "eval_loss") history[name].push_back(value);
  }
  void state(CallbackState& state) {
    std::vector<std::string> names;
    std::vector<std::vector<double>> values;
    for (const auto& [name, list] : history) names.push_back(name), values.push_back(list);
    state(epoch), state(names), state(values);
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) history[names[i]] = values[i];
  }
};

}  // namespace tenon
