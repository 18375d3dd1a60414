// What ProgressBar shows, as texts of numbers: lines, rows of a table, curves. Nothing here looks at a terminal.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>
#include <tenon/core/math/min_max.hpp>
#if TENON_DEFINES
#include <cstdio>

#include <tenon/core/error.hpp>
#include <tenon/core/float/real_text.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// What a terminal can do.
struct ProgressStyle {
  int columns = 80;
  bool utf8 = false, color = false;
};

/// Losses of any number of steps as means of few runs of steps, all of one length but the last.
class LossCurve {
 public:
  static constexpr int most = 64;
  [[gnu::cold]] void add(double loss);
  int size() const { return full_ + (in_last_ > 0); }
  float operator[](int i) const { return mean_[i]; }

 private:
  float mean_[most]{};
  int full_ = 0;
  long length_ = 1, in_last_ = 0;
  double sum_ = 0;
};

/// Where a training is.
struct ProgressNow {
  long epoch = 0, epochs = 0, step = 0, steps = 0;
  double milliseconds = 0;  // per step
  long seconds_left = 0;
  double loss = 0;
  bool evaluating = false;
};

/// Four digits after the point, or, of what is very large or small, four digits. "nan", "inf".
[[gnu::cold]] std::string progress_number(double x);
/// "0:27", "1:03:09". Of an epoch: "3.2 s" below a minute.
[[gnu::cold]] std::string progress_duration(long seconds);
[[gnu::cold]] std::string epoch_duration(double seconds);
/// "1.73 ms/step", "2.10 s/step".
[[gnu::cold]] std::string progress_pace(double milliseconds);
/// The curve in up to `cells` characters, from its smallest value to its largest one; x marks runs that are not finite.
[[gnu::cold]] std::string sparkline(const LossCurve& curve, int cells, bool utf8);
/// The line that is redrawn, shorter than the terminal is wide. Where there is little room the curve gives way, then
/// the bar, then the end of the line.
[[gnu::cold]] std::string progress_line(const ProgressNow& now, const LossCurve& curve, const ProgressStyle& style);
/// Adds a column to a table, two blanks and then its name to the head, its value to a row.
[[gnu::cold]] void add_column(std::string& head, std::string& row, std::string_view name, std::string_view value,
                              int narrowest = 7);
/// How many columns of a terminal a line takes.
[[gnu::cold]] int shown_width(std::string_view line);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void LossCurve::add(double loss) {
  sum_ += loss;
  mean_[full_] = static_cast<float>(sum_ / static_cast<double>(++in_last_));
  if (in_last_ < length_) return;
  in_last_ = 0, sum_ = 0;
  if (++full_ < most) return;
  for (int i = 0; i < most / 2; ++i) mean_[i] = (mean_[2 * i] + mean_[2 * i + 1]) / 2;
  full_ = most / 2, length_ *= 2;
}

inline bool is_finite_loss(double x) { return x - x == 0; }

[[gnu::noinline]] TENON_INLINE std::string progress_number(double x) {
  if (x != x) return "nan";
  const double size = x < 0 ? -x : x;
  return size == 0 || (size >= 1e-3 && size < 1e5) ? in_fixed_digits(x, 4) : in_digits(x, 4);
}
[[gnu::noinline]] TENON_INLINE std::string progress_duration(long seconds) {
  char shown[64];
  if (seconds >= 3600)
    std::snprintf(shown, sizeof shown, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
  else std::snprintf(shown, sizeof shown, "%ld:%02ld", seconds / 60, seconds % 60);
  return shown;
}
[[gnu::noinline]] TENON_INLINE std::string epoch_duration(double seconds) {
  return seconds < 60 ? text(in_fixed_digits(seconds, 1), " s") : progress_duration(static_cast<long>(seconds + 0.5));
}
[[gnu::noinline]] TENON_INLINE std::string progress_pace(double milliseconds) {
  const bool slow = milliseconds >= 1000;
  return in_fixed_digits(slow ? milliseconds / 1000 : milliseconds, 2).append(slow ? " s/step" : " ms/step");
}

[[gnu::noinline]] TENON_INLINE int shown_width(std::string_view line) {
  int width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') i = math::min(line.find('m', i), line.size());
    else width += (line[i] & 0xc0) != 0x80;  // other bytes continue a character of UTF-8
  }
  return width;
}

[[gnu::noinline]] TENON_INLINE std::string sparkline(const LossCurve& curve, int cells, bool utf8) {
  constexpr const char* levels[2][9]{{".", ":", "-", "=", "+", "*", "#", "@", "x"},
                                     {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█", "×"}};
  cells = math::min(cells, curve.size());
  float height[LossCurve::most], least = 0, most = 0;
  bool any = false;
  for (int c = 0; c < cells; ++c) {
    const int begin = c * curve.size() / cells, end = (c + 1) * curve.size() / cells;
    float sum = 0;
    for (int i = begin; i < end; ++i) sum += curve[i];
    height[c] = sum / static_cast<float>(end - begin);
    if (!is_finite_loss(height[c])) continue;
    least = any ? math::min(least, height[c]) : height[c];
    most = any ? math::max(most, height[c]) : height[c];
    any = true;
  }
  std::string line;
  for (int c = 0; c < cells; ++c) {
    const bool finite = is_finite_loss(height[c]);
    const float share = finite && most > least ? (height[c] - least) / (most - least) : 0;
    line += levels[utf8][finite ? static_cast<int>(share * 7 + 0.5f) : 8];
  }
  return line;
}

/// A bar of this many columns.
[[gnu::cold, gnu::noinline]] inline std::string progress_bar_text(long done, long total, int columns,
                                                                  const ProgressStyle& style) {
  const int cells = style.utf8 ? columns : columns - 2;
  const int filled = static_cast<int>(math::min(done, total) * cells / total);
  std::string full, rest;
  if (style.utf8) {
    for (int c = 0; c < filled; ++c) full += "━";
    for (int c = filled; c < cells; ++c) rest += "─";
  } else {
    full = '[';
    full.append(std::size_t(filled), '=');
    rest.assign(std::size_t(cells - filled), ' ');
    if (!rest.empty()) rest[0] = '>';
    rest += ']';
  }
  return style.color ? text("\x1b[32m", full, "\x1b[0m\x1b[2m", rest, "\x1b[0m") : text(full, rest);
}

[[gnu::noinline]] TENON_INLINE std::string progress_line(const ProgressNow& now, const LossCurve& curve,
                                                         const ProgressStyle& style) {
  constexpr int longest_bar = 24, shortest_bar = 6, bar_beside_curve = 12, longest_curve = 16, shortest_curve = 4;
  const long total = math::max(now.steps, 1L);
  const std::string before = text("epoch ", now.epoch, "/", now.epochs), all = text(total);
  std::string steps = text(now.step);
  steps.insert(0, all.size() - math::min(all.size(), steps.size()), ' ');
  std::string behind = text(" ", steps, "/", all);
  if (now.evaluating) behind += "  evaluating";
  else
    behind = text(behind, "  ", progress_pace(now.milliseconds), "  ETA ", progress_duration(now.seconds_left),
                  "  loss ", progress_number(now.loss));
  // a full last column would make some terminals wrap
  const int room = math::max(style.columns - 1, 0), left = room - static_cast<int>(before.size() + behind.size()) - 1;
  if (left < 0) return text(before, behind).substr(0, std::size_t(room));
  int curve_cells = now.evaluating ? 0 : math::min(longest_curve, math::min(left - bar_beside_curve - 2, curve.size()));
  if (curve_cells < shortest_curve) curve_cells = 0;
  const int bar_columns = math::min(longest_bar, left - (curve_cells ? curve_cells + 2 : 0));
  std::string line = before;
  if (bar_columns >= shortest_bar) line = text(line, " ", progress_bar_text(now.step, total, bar_columns, style));
  line += behind;
  if (curve_cells) line = text(line, "  ", sparkline(curve, curve_cells, style.utf8));
  return line;
}

[[gnu::noinline]] TENON_INLINE void add_column(std::string& head, std::string& row, std::string_view name,
                                               std::string_view value, int narrowest) {
  const int shown = shown_width(value),
            width = math::max(narrowest, math::max(static_cast<int>(name.size()), shown)) + 2;
  head.append(std::size_t(width) - name.size(), ' ').append(name);
  row.append(std::size_t(width - shown), ' ').append(value);
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
