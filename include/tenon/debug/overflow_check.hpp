// OverflowCheck: which operator was the first to compute NaN or infinity.
#pragma once
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/debug/not_finite.hpp>
#include <tenon/graph/observe/watcher.hpp>
#include <tenon/train/callback/run/run_info.hpp>

namespace tenon::inline TENON_ABI::debug {

/// "network.blocks.0.conv1" of "Gradients/Default/network-Net/blocks-CellList/0-Block/conv1-Conv2d/Grad_Conv2D/...".
[[gnu::cold]] inline std::string cell_of_operation(std::string_view operation) {
  std::string path;
  while (true) {
    const std::size_t slash = operation.find('/');
    if (slash == operation.npos) return path;
    const std::string_view part = operation.substr(0, slash);
    operation.remove_prefix(slash + 1);
    const bool added = part == "Gradients" || part == "Default" || part == "loss" || part == "optimizer" ||
                       part.starts_with("Grad_") || part.starts_with("Sum_");
    if (!added) path += text(path.empty() ? "" : ".", part.substr(0, part.find('-')));
  }
}

/// "Default/network-Net/Sqrt-op0, in network at net.cpp:42, is the first operator whose result is not finite: 3 NaN and
/// 0 infinities among 8 elements of float32 [2, 4]; its operands are finite." It starts with `begin`.
[[gnu::cold]] std::string overflow_sentence(std::string_view begin, const Operation& operation, const NotFinite& found,
                                            std::span<const AnyTensor> operands, const AnyTensor& result);

/// An observer that names, in one warning, the first operator whose result has NaN or infinity, with its cell, its
/// source line, and the step: `OverflowCheck check; model.train(1, data, check);`, or `const Watching scope(check);`
/// for all steps of the program. It checks every operator of the source, so a step takes about as long as in PyNative
/// mode; no value changes. It reports only the first such operator, also if a dynamic loss scale causes the overflow on
/// purpose.
///
/// source      MindSpore's op_debug_mode, which only Ascend has
class OverflowCheck {
 public:
  static constexpr bool every_value = true;

  bool found() const { return found_.load(std::memory_order_acquire); }
  /// The sentence that was logged; empty as long as everything is finite.
  std::string sentence() const { return found() ? sentence_ : std::string(); }
  /// The full scope name of that operator.
  std::string_view operation() const { return found() ? operation_ : std::string_view(); }

  void on_train_step_begin(const RunInfo& run) {
    if (!found()) run_of_thread() = text("Overflow in step ", run.cur_step_num, ": ");
  }
  bool begin_step(const NetworkStep& step) {
    const bool wanted = !found();
    std::string where;
    if (wanted) where = text("Overflow in step ", step.number, " (", name(step.kind), ") of ", step.network, ": ");
    steps_of_thread().push_back({this, std::move(where)});
    return wanted;
  }
  void end_step(const NetworkStep&) {
    std::vector<Step>& steps = steps_of_thread();
    if (!steps.empty() && steps.back().check == this) steps.pop_back();
  }
  void before(const Operation&) {}
  void after(const Operation& operation, std::span<const AnyTensor> operands, std::span<const AnyTensor> results) {
    if (found()) return;
    for (const AnyTensor& result : results)
      if (const NotFinite bad(result); bad) tell(operation, bad, operands, result);
  }

 private:
  [[gnu::cold]] void tell(const Operation& operation, const NotFinite& bad, std::span<const AnyTensor> operands,
                          const AnyTensor& result) {
    const std::lock_guard lock(mutex_);
    if (found()) return;
    operation_ = operation.name;
    std::string_view where = run_of_thread();
    for (const Step& step : steps_of_thread())
      if (step.check == this) where = step.where;
    sentence_ = overflow_sentence(where.empty() ? "Overflow: " : where, operation, bad, operands, result);
    found_.store(true, std::memory_order_release);
    logging::warning(sentence_);
  }
  /// A step that this thread runs; a step may be inside another one, for example when an observer predicts.
  struct Step {
    const OverflowCheck* check;
    std::string where;
  };
  static std::vector<Step>& steps_of_thread() {
    static thread_local std::vector<Step> steps;
    return steps;
  }
  static std::string& run_of_thread() {
    static thread_local std::string run;
    return run;
  }

  std::atomic<bool> found_{false};
  std::mutex mutex_;
  std::string sentence_;
  std::string_view operation_;
};

inline std::string overflow_sentence(std::string_view begin, const Operation& operation, const NotFinite& found,
                                     std::span<const AnyTensor> operands, const AnyTensor& result) {
  const std::string path = cell_of_operation(operation.name);
  std::string sentence(begin);
  sentence += operation.name;
  if (!path.empty()) sentence += text(", in ", path);
  if (operation.location.line > 0) sentence += text(" at ", operation.location.file, ":", operation.location.line);
  sentence += text(", is the first operator whose result is not finite: ", found.nan, " NaN and ", found.infinite,
                   " infinities among ", result.count(), " elements of ", name(result.dtype), " ",
                   shape_text(result.shape()), "; ");
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k].data != result.data && NotFinite(operands[k]))
      return sentence + text("its operand ", k, " is not finite either: it came with the data or the parameters.");
  return sentence + "its operands are finite.";
}

}  // namespace tenon::debug
