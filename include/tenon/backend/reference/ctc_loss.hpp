// Connectionist temporal classification: tables of the paths to and from each state, frame by frame, in logarithms.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct CtcLoss;
struct CtcLossGrad;
}  // namespace ops

namespace kernel::reference {

/// log(e^a + e^b)
inline double log_sum(double a, double b) {
  if (std::isinf(a) && a < 0) return b;
  if (std::isinf(b) && b < 0) return a;
  return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

/// The paths of one sample of a call. `to` and `from` include the log-probability of their own frame.
template <class Call>
struct CtcPaths {
  using T = typename Call::template Operand<0>;
  static constexpr long all_frames = Call::operand(0)[1], classes = Call::operand(0)[2], longest = Call::operand(1)[1];
  static constexpr double zero = -std::numeric_limits<double>::infinity();
  const T* x;
  long frames, length, states;
  std::vector<long> label;       // of each state: blank, target[0], blank, target[1], ..., blank
  std::vector<double> to, from;  // [frames, states]
  bool fits;
  double total = zero;  // log of the sum over all paths

  CtcPaths(const Arguments& a, long row)
      : x(a.operand<T>(0) + row * all_frames * classes),
        frames(static_cast<long>(a.operand<typename Call::template Operand<2>>(2)[row])),
        length(static_cast<long>(a.operand<typename Call::template Operand<3>>(3)[row])),
        states(2 * length + 1),
        fits(frames >= 0 && frames <= all_frames && length >= 0 && length <= longest) {
    if (!fits) return;
    label.assign(std::size_t(states), Call::config().blank);
    for (long k = 0; k < length; ++k)
      label[std::size_t(2 * k + 1)] =
          static_cast<long>(a.operand<typename Call::template Operand<1>>(1)[row * longest + k]);
    to.assign(std::size_t(frames * states), zero);
    from = to;
    if (frames == 0) total = length == 0 ? 0 : zero;
    for (long frame = 0; frame < frames; ++frame)
      for (long s = 0; s < states; ++s) at(to, frame, s) = log_prob(frame, s) + arriving(frame, s);
    for (long frame = frames; frame-- > 0;)
      for (long s = 0; s < states; ++s) at(from, frame, s) = log_prob(frame, s) + leaving(frame, s);
    for (long s = std::max(states - 2, 0L); frames > 0 && s < states; ++s)
      total = log_sum(total, at(to, frames - 1, s));
  }
  double& at(std::vector<double>& table, long frame, long s) { return table[std::size_t(frame * states + s)]; }
  double log_prob(long frame, long s) const { return static_cast<double>(x[frame * classes + label[std::size_t(s)]]); }
  /// Whether a path may step from state s to s + 2.
  bool skips(long s) const { return s % 2 && s + 2 < states && label[std::size_t(s)] != label[std::size_t(s + 2)]; }
  double arriving(long frame, long s) {
    if (frame == 0) return s < 2 ? 0 : zero;
    double sum = at(to, frame - 1, s);
    if (s >= 1) sum = log_sum(sum, at(to, frame - 1, s - 1));
    if (s >= 2 && skips(s - 2)) sum = log_sum(sum, at(to, frame - 1, s - 2));
    return sum;
  }
  double leaving(long frame, long s) {
    if (frame == frames - 1) return s >= states - 2 ? 0 : zero;
    double sum = at(from, frame + 1, s);
    if (s + 1 < states) sum = log_sum(sum, at(from, frame + 1, s + 1));
    if (skips(s)) sum = log_sum(sum, at(from, frame + 1, s + 2));
    return sum;
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::CtcLoss> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long row = 0; row < Call::result.count(a.n); ++row) {
      const kernel::reference::CtcPaths<Call> paths(a, row);
      const bool left_out = Call::config().zero_infinity && paths.total == paths.zero;
      const double loss = !paths.fits ? std::numeric_limits<double>::quiet_NaN() : left_out ? 0 : 0 - paths.total;
      a.result<T>()[row] = kernel::reference::rounded<T>(loss);
    }
  }
};

/// (e^x - the share of the paths that have this class at this frame) dy
template <>
struct Kernel<Reference, ops::CtcLossGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr long classes = Call::result[2], elements = Call::result[1] * classes;
    for (long row = 0; row < Call::operand(4).count(a.n); ++row) {
      kernel::reference::CtcPaths<Call> paths(a, row);
      const double dy = static_cast<double>(a.operand<T>(4)[row]);
      for (long i = 0; i < elements; ++i) {
        const long frame = i / classes;
        double dx = 0;
        if (!paths.fits) dx = std::numeric_limits<double>::quiet_NaN();
        else if (frame < paths.frames && paths.total == paths.zero)
          dx = Call::config().zero_infinity ? 0 : std::numeric_limits<double>::quiet_NaN();
        else if (frame < paths.frames) {
          double slope = std::exp(static_cast<double>(paths.x[i]));
          for (long s = 0; s < paths.states; ++s)
            if (paths.label[std::size_t(s)] == i % classes)
              slope -= std::exp(paths.at(paths.to, frame, s) + paths.leaving(frame, s) - paths.total);
          dx = slope * dy;
        }
        a.result<T>()[row * elements + i] = kernel::reference::rounded<T>(dx);
      }
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
