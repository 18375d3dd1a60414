// Shows how far a training is.
#pragma once
#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include <tenon/train/callback/callback.hpp>
#include <tenon/train/clock.hpp>

namespace tenon::inline TENON_ABI {

/// On a terminal a bar per epoch, redrawn at most ten times a second:
///   epoch 2/10 [=========>          ]  893/1875  1.73 ms/step  ETA 0:27  loss 0.0931
/// Elsewhere, as in a log file, one line per epoch:
///   epoch 2/10: 1875 steps, 1.73 ms/step, 3.2 s, loss 0.0512
///
/// ms/step is the mean of the epoch, ETA the time to the end of the training at that pace, loss that of the last step.
/// Evaluations show nothing.
class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* to = stdout) : to_(to), terminal_(::isatty(::fileno(to)) == 1) {}

  void epoch_begin(RunInfo&) {
    start_ = detail::now();
    drawn_ = start_ - period;
  }
  void step_end(RunInfo& run) {
    if (!terminal_ || !run.training) return;
    const double now = detail::now();
    if (now - drawn_ < period) return;
    drawn_ = now;
    draw(run, now);
  }
  void epoch_end(RunInfo& run) {
    const double now = detail::now();
    if (terminal_) {
      draw(run, now);
      std::fputc('\n', to_);
    } else {
      std::fprintf(to_, "epoch %ld/%ld: %ld steps, %.2f ms/step, %.1f s, loss %.4f\n", run.cur_epoch_num, run.epoch_num, run.step_in_epoch(), milliseconds_per_step(run, now),
                   now - start_, run.loss());
    }
    std::fflush(to_);
  }

 private:
  static constexpr double period = 0.1;  // seconds between two drawings
  static constexpr int width = 20;

  double milliseconds_per_step(const RunInfo& run, double now) const { return (now - start_) * 1000 / static_cast<double>(std::max(run.step_in_epoch(), 1L)); }

  void draw(const RunInfo& run, double now) {
    const long done = run.step_in_epoch(), total = std::max(run.batch_num, 1L);
    char bar[width + 1];
    for (int i = 0; i < width; ++i) bar[i] = i < done * width / total ? '=' : ' ';
    if (done < total) bar[done * width / total] = '>';
    bar[width] = '\0';
    const double pace = milliseconds_per_step(run, now);
    const long left = (run.epoch_num - run.cur_epoch_num) * total + total - done;
    const long seconds = static_cast<long>(pace * static_cast<double>(left) / 1000 + 0.5);
    char eta[32];
    if (seconds >= 3600) std::snprintf(eta, sizeof eta, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else std::snprintf(eta, sizeof eta, "%ld:%02ld", seconds / 60, seconds % 60);
    // "\x1b[K" clears what a longer line has left behind.
    std::fprintf(to_, "\repoch %ld/%ld [%s] %4ld/%ld  %.2f ms/step  ETA %s  loss %.4f\x1b[K", run.cur_epoch_num, run.epoch_num, bar, done, total, pace, eta, run.loss());
    std::fflush(to_);
  }

  std::FILE* to_;
  bool terminal_;
  double start_ = 0, drawn_ = 0;
};

}  // namespace tenon
