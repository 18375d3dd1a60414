// Report: one HTML page per training: curves, times, memory, pictures, parameters, settings, environment.
#pragma once
#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context/print.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/debug/report/report_html.hpp>
#include <tenon/debug/report/run_environment.hpp>
#include <tenon/io/event/image_grid.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/own_path.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/callback/run/learning_rate_of.hpp>
#include <tenon/train/eval_result.hpp>
#include <tenon/train/step/clock.hpp>
#if defined(TENON_OBSERVE)
#include <tenon/debug/report/profile_sections.hpp>
#endif

namespace tenon::inline TENON_ABI::debug {

/// A callback that writes a page about the training:
///
///     debug::Report report("report.html");
///     model.fit(10, train, valid, report);
///
/// The page is rewritten after each epoch and at the end, so a browser can show it during the run. It is a single file
/// without scripts, and loads nothing from outside. With a profiler, in a program that can be observed, it also shows
/// the use of time and memory:
///
///     debug::Profiler profiler;
///     debug::Report report("report.html", profiler);
///
/// Curves have at most Series::most points; in a long run these are means of neighbours. Images of the first batch need
/// libpng, and 1 or 3 channels. If the page cannot be written, one warning reports this, and the training continues.
/// throws      RuntimeError for a path that no file can have
class Report {
 public:
  explicit Report(std::string path = "report.html") : path_(std::move(path)) { io::check_path(path_); }
#if defined(TENON_OBSERVE)
  Report(std::string path, const Profiler& profiler) : Report(std::move(path)) { profiler_ = &profiler; }
#endif
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  /// A training that ended with an error also gets its page.
  ~Report() {
    if (!open_) return;
    record_.state = RunState::stopped;
    write();
  }

  void on_train_begin(auto& run) requires requires { run.model.network(); }
  {
    record_ = RunRecord();
    record_.network = class_name<std::remove_cvref_t<decltype(run.network())>>();
    record_.epochs_asked = run.epoch_num;
    record_.training = {{"Loss", std::string(class_name<std::remove_cvref_t<decltype(run.loss_fn())>>())},
                        {"Optimizer", std::string(std::remove_cvref_t<decltype(run.optimizer())>::name)}};
    open(run, ParameterList(run.network()));
    if constexpr (requires { run.model.optimizer_state(); })
      for (const io::NamedTensor& one : run.model.optimizer_state())
        record_.state_bytes += std::int64_t(one.tensor.bytes());
  }
  void on_train_step_end(auto& run) requires requires { run.model.network(); }
  {
    if constexpr (requires { run.learning_rate(); })
      record_.learning_rate.add(double(run.cur_step_num), double(run.learning_rate()));
    add_step(run);
  }
  void on_train_epoch_end(RunInfo& run) { add_epoch(run); }
  void on_train_end(RunInfo& run) {
    record_.state = run.stop_requested || run.diverged ? RunState::stopped : RunState::finished;
    close();
  }

  const std::string& path() const { return path_; }
  const RunRecord& record() const { return record_; }

 private:
  [[gnu::cold]] void open(const RunInfo& run, const ParameterList& parameters);
  [[gnu::cold]] void first_batch(const RunInfo& run);
  void add_step(const RunInfo& run);
  [[gnu::cold]] void add_epoch(const RunInfo& run);
  [[gnu::cold]] void close();
  [[gnu::cold]] void write();

  std::string path_;
  RunRecord record_;
  double start_ = 0;
  bool open_ = false, has_warned_ = false;
#if defined(TENON_OBSERVE)
  const Profiler* profiler_ = nullptr;
#endif
};

inline void Report::open(const RunInfo& run, const ParameterList& parameters) {
  path_ = io::own_file(path_);
  open_ = true;
  start_ = tenon::detail::now();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char date[64];
  record_.begun.assign(date, std::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", ::localtime_r(&now, &local)));
  for (int e = 0; e < parameters.entries(); ++e) {
    const Entry& entry = parameters.table()[e];
    if (!entry.parameter) continue;
    const AnyTensor shape(entry.dims, 1, nullptr);
    record_.parameters.push_back({parameter_name(parameters.table(), e), shape_text(shape.shape()),
                                  std::string(name(entry.dims.dtype)), shape.count(),
                                  entry.trainable && parameters.handle(e).requires_grad()});
  }
  record_.parameter_bytes = parameters.bytes();
  record_.training.insert(record_.training.end(), {{"Mode", std::string(name(run.mode))},
                                                   {"Batches per epoch", std::to_string(run.batch_num)},
                                                   {"Threads", std::to_string(get_context().num_threads)},
                                                   {"Seed", std::to_string(get_context().seed)}});
  record_.context = context_text();
  record_.environment = run_environment();
}
inline void Report::first_batch(const RunInfo& run) {
  const std::vector<AnyTensor> columns = run.dataset_element();
  std::string data;
  for (const AnyTensor& column : columns)
    data += text(data.empty() ? "" : ", ", name(column.dtype), " ", shape_text(column.shape()));
  record_.training.emplace_back("A batch", data);
  AnyTensor images = columns.empty() ? AnyTensor() : columns[0];
  if (images.rank != 4 || (images.extent[1] != 1 && images.extent[1] != 3) || images.count() == 0) return;
  constexpr std::int64_t most = 32;
  images.extent[0] = std::min(images.extent[0], most);
  try {
    if (io::has_png) record_.images = io::image_grid(images);
    else record_.no_images = "Pictures need libpng, without which this program was built.";
  } catch (const Error& e) {
    record_.no_images = e.what();
  }
}
inline void Report::add_step(const RunInfo& run) {
  if (record_.steps++ == 0) first_batch(run);
  record_.loss.add(double(run.cur_step_num), run.loss());
  record_.step_milliseconds.add(double(run.cur_step_num), 1e3 * run.step_seconds);
}
inline void Report::add_epoch(const RunInfo& run) {
  record_.epochs = run.cur_epoch_num;
  if (run.eval_results)
    for (const auto& [name, value] : *run.eval_results) record_.metric(name).add(double(run.cur_epoch_num), value);
  write();
}
inline void Report::close() {
  write();
  open_ = false;
}
inline void Report::write() {
  record_.seconds = tenon::detail::now() - start_;
  try {
#if defined(TENON_OBSERVE)
    if (profiler_) {
      const Profile profile = profiler_->profile();
      record_.time = detail::time_section(profile, measured_peak());
      record_.memory = detail::memory_section(profile);
    }
#endif
    io::write_file(path_, report_html(record_));
  } catch (const std::exception& e) {
    if (!has_warned_) logging::warning("The report '", path_, "' could not be written: ", e.what());
    has_warned_ = true;
  }
}

}  // namespace tenon::debug
