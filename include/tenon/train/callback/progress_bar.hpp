// Shows the progress of a training.
#pragma once
#include <cstdio>
#include <string>

#include <tenon/core/math/min_max.hpp>
#include <tenon/train/callback/callback.hpp>
#include <tenon/train/callback/progress_view.hpp>
#if TENON_DEFINES
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include <tenon/train/eval_result.hpp>
#include <tenon/train/step/clock.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// On a terminal a row per epoch, and below it a line that is redrawn at most ten times a second:
///
///     epoch     time  ms/step     loss            eval_loss  accuracy
///         1    3.2 s     1.73   0.3172  █▅▃▂▂▁▁▁     0.2101    0.9312
///   epoch 2/10 ━━━━────  893/1875  1.73 ms/step  ETA 0:27  loss 0.0931  █▆▄▃▂▂▁▁
///
/// Elsewhere, as in a log file, one line per epoch:
///
///   epoch 2/10: 1875 steps, 1.73 ms/step, 3.2 s, loss 0.0512, eval_loss 0.0710, accuracy 0.9713
///
/// ms/step and loss are means over the epoch so far, ETA is the time to the end of the training at that pace, without
/// evaluations. Curves are the losses of the epoch in a row, of the training in the line below, which never wraps. For
/// an epoch that waited for its data for a twentieth of its time or more, the output contains "12 % waiting for data":
/// add a prefetch to the data set, or more workers (dataset/operation/prefetch.hpp).
///
/// It writes to stdout, where LossMonitor and TimeMonitor write, so that their lines stay in order. Colors follow
/// NO_COLOR and TERM, blocks LC_ALL, LC_CTYPE, and LANG, the width that of the terminal, else COLUMNS, else 80.
class ProgressBar {
 public:
  static constexpr bool writes = true;

  explicit ProgressBar(std::FILE* to = stdout);

  void on_train_begin(RunInfo&);
  void epoch_begin(RunInfo&);
  void step_end(RunInfo& run);
  void epoch_end(RunInfo& run);

 private:
  double mean_loss() const { return steps_ ? losses_ / static_cast<double>(steps_) : 0; }
  double milliseconds_per_step() const;
  bool waits_long() const;
  std::string waiting() const;
  int columns() const;
  void draw(const RunInfo& run);
  void show(const std::string& line, bool stays);
  void show_row(const RunInfo& run);

  std::FILE* to_;
  bool terminal_, escapes_;
  detail::ProgressStyle style_;
  double start_ = 0, last_ = 0, drawn_ = 0, losses_ = 0, waited_ = 0;
  long steps_ = 0;
  int shown_ = 0;  // columns of the line that is redrawn
  std::string head_{};
  detail::LossCurve training_{}, epoch_{};
};

#if TENON_DEFINES
namespace detail {
inline constexpr double progress_period = 0.1;  // seconds between two drawings

/// A variable of the environment, "" if it is not set.
[[gnu::cold, gnu::noinline]] inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
/// By the locale that the user has chosen; the program may not have asked for it.
[[gnu::cold, gnu::noinline]] inline bool has_utf8() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale.empty()) locale = lower_case(variable(name));
  return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
}
/// Whether this is the number of nn::Loss, which is "eval_loss", too: a second "loss" beside that of the training.
inline bool is_told_twice(const EvalResult& all, std::string_view name, double value) {
  const double* const eval_loss = name.compare("loss") == 0 ? all.find("eval_loss") : nullptr;
  return eval_loss && (*eval_loss == value || value != value);
}
}  // namespace detail

TENON_INLINE_CONSTRUCTOR ProgressBar::ProgressBar(std::FILE* to) : to_(to), terminal_(::isatty(::fileno(to)) == 1) {
  const std::string kind = detail::variable("TERM");
  escapes_ = !kind.empty() && kind.compare("dumb") != 0;
  style_ = {.utf8 = detail::has_utf8(), .color = escapes_ && detail::variable("NO_COLOR").empty()};
}

TENON_INLINE void ProgressBar::on_train_begin(RunInfo&) {
  head_.clear();
  training_ = {};
}
TENON_INLINE void ProgressBar::epoch_begin(RunInfo&) {
  start_ = last_ = detail::now();
  drawn_ = start_ - detail::progress_period;
  losses_ = waited_ = 0;
  steps_ = 0;
  epoch_ = {};
}
TENON_INLINE void ProgressBar::step_end(RunInfo& run) {
  if (!run.training && !run.in_fit) return;
  const double now = detail::now();
  if (run.training) {
    const double loss = run.loss();
    losses_ += loss;
    training_.add(loss), epoch_.add(loss);
    ++steps_;
    waited_ += run.data_seconds;
    last_ = now;
  }
  if (!terminal_ || now - drawn_ < detail::progress_period) return;
  drawn_ = now;
  draw(run);
}
TENON_INLINE void ProgressBar::epoch_end(RunInfo& run) {
  if (terminal_) return show_row(run);
  std::string line = text("epoch ", run.cur_epoch_num, "/", run.epoch_num, ": ", steps_, " steps, ",
                          detail::progress_pace(milliseconds_per_step()), ", ", detail::epoch_duration(last_ - start_),
                          ", loss ", detail::progress_number(mean_loss()));
  if (waits_long()) line += text(", ", waiting());
  if (run.eval_results)
    for (const auto& [name, value] : *run.eval_results)
      if (!detail::is_told_twice(*run.eval_results, name, value))
        line.append(", ").append(name).append(" ").append(detail::progress_number(value));
  std::fputs(text(line, "\n").c_str(), to_);
  std::fflush(to_);
}

TENON_INLINE bool ProgressBar::waits_long() const { return waited_ >= 0.05 * (last_ - start_) && waited_ > 0; }
[[gnu::cold]] TENON_INLINE std::string ProgressBar::waiting() const {
  return text(static_cast<long>(100 * waited_ / (last_ - start_) + 0.5), " % waiting for data");
}
TENON_INLINE double ProgressBar::milliseconds_per_step() const {
  return (last_ - start_) * 1000 / static_cast<double>(math::max(steps_, 1L));
}

// Asked for each drawing: a window may change its size.
TENON_INLINE int ProgressBar::columns() const {
  winsize size{};
  if (::ioctl(::fileno(to_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int said = std::atoi(detail::variable("COLUMNS").c_str());
  return said > 0 ? said : 80;
}
[[gnu::cold]] TENON_INLINE void ProgressBar::draw(const RunInfo& run) {
  style_.columns = columns();
  detail::ProgressNow now{.epoch = run.cur_epoch_num,
                          .epochs = run.epoch_num,
                          .step = run.step_in_epoch(),
                          .steps = math::max(run.batch_num, run.step_in_epoch()),
                          .milliseconds = milliseconds_per_step(),
                          .loss = mean_loss(),
                          .evaluating = !run.training};
  // in double: a training "until it is stopped" may have more steps than a long counts
  const double left = static_cast<double>(now.epochs - now.epoch) * static_cast<double>(now.steps) +
                      static_cast<double>(now.steps - now.step);
  now.seconds_left = static_cast<long>(math::min(now.milliseconds * left / 1000 + 0.5, 1e15));
  show(detail::progress_line(now, training_, style_), false);
}
[[gnu::cold]] TENON_INLINE void ProgressBar::show(const std::string& line, bool stays) {
  const int width = detail::shown_width(line);
  // what a longer line has left
  const std::string rest = escapes_ ? "\x1b[K" : std::string(std::size_t(math::max(shown_ - width, 0)), ' ');
  std::fputs(text("\r", line, rest, stays ? "\n" : "").c_str(), to_);
  std::fflush(to_);
  shown_ = stays ? 0 : width;
}
[[gnu::cold]] TENON_INLINE void ProgressBar::show_row(const RunInfo& run) {
  constexpr int curve_cells = 8;
  std::string head, row, curve = detail::sparkline(epoch_, curve_cells, style_.utf8);
  curve.append(std::size_t(curve_cells - detail::shown_width(curve)), ' ');
  detail::add_column(head, row, "epoch", text(run.cur_epoch_num), 3);
  detail::add_column(head, row, "time", detail::epoch_duration(last_ - start_));
  detail::add_column(head, row, "ms/step", detail::in_fixed_digits(milliseconds_per_step(), 2));
  detail::add_column(head, row, "loss", detail::progress_number(mean_loss()));
  detail::add_column(head, row, "", curve);
  if (run.eval_results)
    for (const auto& [name, value] : *run.eval_results)
      if (!detail::is_told_twice(*run.eval_results, name, value))
        detail::add_column(head, row, name, detail::progress_number(value));
  // an epoch without an evaluation has no numbers for the last columns
  if (waits_long()) row += text("  ", waiting());
  if (head.size() > head_.size()) show(style_.color ? text("\x1b[1m", head, "\x1b[0m") : head, true), head_ = head;
  show(row, true);
}
#endif  // TENON_DEFINES

}  // namespace tenon
