// RunInfo: the information about a run that callbacks receive, and the request to end it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/nn/metric/count/mean_of.hpp>
#include <tenon/train/callback/net_outputs.hpp>

namespace tenon::inline TENON_ABI {

class EvalResult;  // train/eval_result.hpp
struct Program;    // lowering/program.hpp

/// Names of numbers that a callback can monitor, each with the name of the metric's class.
using MonitoredNames = std::vector<std::pair<std::string, std::string>>;

/// A value of any type that callbacks exchange, empty until a value is assigned. (std::any would increase the compile
/// time of every program.)
class Note {
 public:
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Note>)
  Note& operator=(T&& value) {
    using V = std::decay_t<T>;
    value_ = tenon::detail::Shared<void>::make<V>(std::forward<T>(value)), type_ = type_number<V>;
    return *this;
  }
  /// The value if it is a T, else null.
  template <class T>
  T* get() const {
    return value_ && type_ == type_number<T> ? static_cast<T*>(value_.get()) : nullptr;
  }

 private:
  tenon::detail::Shared<void> value_;
  std::uint64_t type_ = 0;
};

/// The information about the run: MindSpore's RunContext and its cb_params in one class, so that
/// `run.original_args().cur_step_num` and `run.cur_step_num` are the same. Counts start at 1, as in MindSpore.
///
/// A hook that takes `auto& run` also has the Model: `run.model`, with network() and optimizer(). Callbacks can
/// exchange values under custom names: `run["begun"] = 1.5;` stores a value,
/// `if (const double* begun = run.find<double>("begun"))` reads it. eval_results and metrics are pointers, null where
/// there is no evaluation: `if (run.eval_results) (*run.eval_results)["mae"]`.
struct RunInfo {
  RunInfo() = default;
  RunInfo(const RunInfo&) = delete;  // what a hook sets in a copy would be lost
  RunInfo& operator=(const RunInfo&) = delete;

  Mode mode = Mode::graph;
  bool training = true;    // MindSpore's mode "train", else "eval"
  bool in_fit = false;     // a training by fit(), or an evaluation in it
  long epoch_num = 0;      // epochs of this run; 0 in an evaluation by eval()
  long cur_epoch_num = 0;  // in an evaluation by fit() that of the training
  long batch_num = 0;      // steps per epoch; of the first one if epochs differ
  long cur_step_num = 0;   // steps since the run began, over all epochs
  long steps_before = 0;   // of them, those before this epoch
  // of the last step: in training the losses, in evaluation losses and prediction
  NetOutputs net_outputs{};
  double resumed_loss = 0;                     // the loss of a resumed run before its first step
  double epoch_seconds = 0, step_seconds = 0;  // of the last complete epoch and step
  double data_seconds = 0;                     // for which the batch of this step was waited for
  const EvalResult* metrics = nullptr;         // in the last hooks of an evaluation, else null
  // of the evaluation that fit() has made for this epoch, with "eval_loss"; only in epoch_end. Null in every other
  // hook, in an epoch that valid_frequency leaves out, and always in train(): `if (run.eval_results)` comes first
  const EvalResult* eval_results = nullptr;
  double loss_scale = 1;  // of the last step of a training; the loss itself is not scaled
  // a gradient of the last step was infinite or NaN, so that it updated nothing
  bool overflow = false;
  // The loss of the last step was infinite or NaN, or too many steps in a row have overflowed: after the hooks of the
  // end the run throws. A callback that gives the network other weights there says which, for the error: "the averages
  // of ExponentialMovingAverage".
  bool diverged = false;
  std::string (*overflow_text)(const RunInfo&) = nullptr;  // of a run that ends because of overflows: what is said
  std::string final_weights{};

  // of MindSpore's cb_params: there is one process, and one device
  static constexpr std::string_view parallel_mode = "stand_alone";
  static constexpr int device_number = 1;

  RunInfo& original_args() { return *this; }
  /// Step within the epoch, 0 before its first one.
  long step_in_epoch() const { return cur_step_num - steps_before; }
  /// The first output as a number: the loss of the step (the mean over it if it has more elements).
  double loss() const { return net_outputs.empty() ? resumed_loss : mean_of(net_outputs[0]); }
  /// The columns of the current batch, valid until the step ends; none before the first. MindSpore's
  /// train_dataset_element and eval_dataset_element.
  std::vector<AnyTensor> dataset_element() const { return row ? columns_of(row) : std::vector<AnyTensor>{}; }

  /// Ends the run after the current step, or, between steps, after the next one; epoch_end and end are still called. A
  /// request cannot be withdrawn. As in MindSpore, the run checks it after each step_end and each epoch_end.
  void request_stop() { stop_requested = true; }
  bool get_stop_requested() const { return stop_requested; }
  bool stop_requested = false;

  /// A custom value of the callbacks; empty at the first use of its name.
  Note& operator[](std::string_view name) {
    for (auto& [known, note] : own_)
      if (known == name) return note;
    return own_.emplace_back(name, Note()).second;
  }
  /// The value of that name; null if there is no such value or it is no T.
  template <class T>
  T* find(std::string_view name) const {
    for (const auto& [known, note] : own_)
      if (known == name) return note.template get<T>();
    return nullptr;
  }

  // Adds the numbers that the evaluations of this run give. False if not all are known beforehand; null: none is.
  bool (*monitored_names)(const RunInfo&, MonitoredNames& names) = nullptr;
  // The compiled step of a training; null in an evaluation, and in a program without graphs.
  const Program* program = nullptr;
  // The current row of the data set, and how it is looked at.
  const void* row = nullptr;
  std::vector<AnyTensor> (*columns_of)(const void* row) = nullptr;

 private:
  std::vector<std::pair<std::string, Note>> own_;
};

}  // namespace tenon
