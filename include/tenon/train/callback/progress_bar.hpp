// Shows how far a training is.
#pragma once
#include <cstdio>

#include <tenon/train/callback/callback.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include <tenon/core/float/real_text.hpp>
#include <tenon/train/clock.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// On a terminal a bar per epoch, redrawn at most ten times a second:
///   epoch 2/10 [========>         ]  893/1875  1.73 ms/step  ETA 0:27  loss 0.0931
/// Elsewhere, as in a log file, one line per epoch:
///   epoch 2/10: 1875 steps, 1.73 ms/step, 3.2 s, loss 0.0512
///
/// ms/step and loss are means over the epoch so far, ETA is the time to the end of the training at that pace. The bar
/// is as long as the terminal has room for, up to 20; a line never wraps. Evaluations show nothing.
class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* to = stdout);

  void epoch_begin(RunInfo&);
  void step_end(RunInfo& run);
  void epoch_end(RunInfo& run);

 private:
  double mean_loss() const { return steps_ ? losses_ / static_cast<double>(steps_) : 0; }
  double milliseconds_per_step(const RunInfo& run, double now) const;
  int columns() const;
  void draw(const RunInfo& run, double now);

  std::FILE* to_;
  bool terminal_;
  double start_ = 0, drawn_ = 0, losses_ = 0;
  long steps_ = 0;
};

#if TENON_DEFINES
namespace detail {
inline constexpr double progress_period = 0.1;  // seconds between two drawings
inline constexpr int longest_bar = 20, shortest_bar = 4;

[[gnu::cold]] inline std::string bar(long done, long total, int length) {
  if (length < shortest_bar) return {};
  std::string marks(std::size_t(length), ' ');
  const std::size_t filled = std::size_t(done * length / total);
  std::fill_n(marks.begin(), filled, '=');
  if (done < total) marks[filled] = '>';
  return " [" + marks + "]";
}
[[gnu::cold]] inline std::string duration(long seconds) {
  char shown[32];
  if (seconds >= 3600)
    std::snprintf(shown, sizeof shown, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
  else std::snprintf(shown, sizeof shown, "%ld:%02ld", seconds / 60, seconds % 60);
  return shown;
}
}  // namespace detail

TENON_INLINE_CONSTRUCTOR ProgressBar::ProgressBar(std::FILE* to) : to_(to), terminal_(::isatty(::fileno(to)) == 1) {}

TENON_INLINE void ProgressBar::epoch_begin(RunInfo&) {
  start_ = detail::now();
  drawn_ = start_ - detail::progress_period;
  losses_ = 0;
  steps_ = 0;
}
TENON_INLINE void ProgressBar::step_end(RunInfo& run) {
  if (!run.training) return;
  losses_ += run.loss();
  ++steps_;
  if (!terminal_) return;
  const double now = detail::now();
  if (now - drawn_ < detail::progress_period) return;
  drawn_ = now;
  draw(run, now);
}
TENON_INLINE void ProgressBar::epoch_end(RunInfo& run) {
  const double now = detail::now();
  if (terminal_) {
    draw(run, now);
    std::fputc('\n', to_);
  } else {
    std::fprintf(to_, "epoch %ld/%ld: %ld steps, %s ms/step, %s s, loss %s\n", run.cur_epoch_num, run.epoch_num,
                 run.step_in_epoch(), detail::in_fixed_digits(milliseconds_per_step(run, now), 2).c_str(),
                 detail::in_fixed_digits(now - start_, 1).c_str(), detail::in_fixed_digits(mean_loss(), 4).c_str());
  }
  std::fflush(to_);
}

TENON_INLINE double ProgressBar::milliseconds_per_step(const RunInfo& run, double now) const {
  return (now - start_) * 1000 / static_cast<double>(std::max(run.step_in_epoch(), 1L));
}

// Asked for each drawing: a window may change its size.
TENON_INLINE int ProgressBar::columns() const {
  winsize size{};
  return ::ioctl(::fileno(to_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
[[gnu::cold]] TENON_INLINE void ProgressBar::draw(const RunInfo& run, double now) {
  const long done = run.step_in_epoch(), total = std::max(run.batch_num, 1L);
  const double pace = milliseconds_per_step(run, now);
  const long left = (run.epoch_num - run.cur_epoch_num) * total + total - done;
  const std::string eta = detail::duration(static_cast<long>(pace * static_cast<double>(left) / 1000 + 0.5));
  char before[64], steps[64];
  std::snprintf(before, sizeof before, "epoch %ld/%ld", run.cur_epoch_num, run.epoch_num);
  std::snprintf(steps, sizeof steps, " %4ld/%ld  ", done, total);
  const std::string behind = steps + detail::in_fixed_digits(pace, 2) + " ms/step  ETA " + eta + "  loss " +
                             detail::in_fixed_digits(mean_loss(), 4);
  // A full last column would make some terminals wrap, and "\x1b[K", which clears what a longer line has left, take a
  // letter.
  const int room = columns() - 1, taken = static_cast<int>(std::char_traits<char>::length(before) + behind.size()) + 3;
  std::string line = before + detail::bar(done, total, std::min(detail::longest_bar, room - taken)) + behind;
  line.resize(std::min(line.size(), std::size_t(std::max(room, 0))));
  std::fprintf(to_, "\r%s\x1b[K", line.c_str());
  std::fflush(to_);
}
#endif  // TENON_DEFINES

}  // namespace tenon
