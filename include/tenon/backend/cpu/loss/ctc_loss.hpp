// Connectionist temporal classification, one sample at a time: sums over paths in logarithms, forward and backward.
#pragma once
#include <limits>

#include <tenon/core/math/float64.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct CtcLoss;
struct CtcLossGrad;
}  // namespace ops

namespace kernel {

/// One sample. A path is in one of 2 `length` + 1 states per frame: those of even number are the blank, state 2k + 1 is
/// target[k]. All sums are in double: logarithms of paths reach thousands, of which float has no digits left.
template <class T, class I>
struct CtcSample {
  const T* log_probs;  // [frames or more, classes]
  const I* target;
  long frames, classes, length, blank;

  TENON_DEVICE long states() const { return 2 * length + 1; }
  TENON_DEVICE long label(long state) const { return state % 2 ? static_cast<long>(target[state / 2]) : blank; }
  TENON_DEVICE double log_prob(long frame, long state) const {
    return static_cast<double>(log_probs[frame * classes + label(state)]);
  }
  /// Whether a path may continue to `state` from the label two states before it, without a blank between the two.
  TENON_DEVICE bool skips_blank(long state) const {
    return state % 2 && state >= 3 && label(state) != label(state - 2);
  }
};

namespace detail {
inline constexpr double log_of_zero = -std::numeric_limits<double>::infinity();

/// log(e^a + e^b + e^c), without branches, so that a loop over it becomes vector instructions.
[[gnu::always_inline]] TENON_DEVICE inline double log_sum(double a, double b, double c) {
  using math::float64::choose;
  const double larger = choose((b > a) | (b != b), b, a), largest = choose((c > larger) | (c != c), c, larger);
  const double sum =
      math::float64::exp(a - largest) + math::float64::exp(b - largest) + math::float64::exp(c - largest);
  return choose(largest == log_of_zero, largest, largest + math::float64::log(sum));
}
/// States, and classes, that are computed at the same time on a CPU.
inline constexpr int ctc_width = 8;

/// The numbers that a state adds up.
struct CtcTerms {
  double own, neighbour, next;  // of this state, the one before or after it, and the one beyond the blank
};
/// store(s, log_sum of terms(s)) for `count` states from `first` on, of which all terms are read first.
template <class Terms, class Store>
[[gnu::always_inline]] inline void ctc_block(long first, long count, Terms terms, Store store) {
  double a[ctc_width], b[ctc_width], c[ctc_width];
  for (int l = 0; l < ctc_width; ++l) {
    const CtcTerms of = terms(first + (l < count ? l : 0));
    a[l] = of.own, b[l] = of.neighbour, c[l] = of.next;
  }
  for (int l = 0; l < ctc_width; ++l) a[l] = log_sum(a[l], b[l], c[l]);
  for (long l = 0; l < count; ++l) store(first + l, a[l]);
}
/// use(i, e^power(i)) for i = 0 .. count - 1.
template <class Power, class Use>
[[gnu::always_inline]] inline void each_exponential(long count, Power power, Use use) {
  for (long first = 0; first < count; first += ctc_width) {
    double values[ctc_width];
    const long here = count - first < ctc_width ? count - first : ctc_width;
    for (int l = 0; l < ctc_width; ++l) values[l] = power(first + (l < here ? l : 0));
    for (int l = 0; l < ctc_width; ++l) values[l] = math::float64::exp(values[l]);
    for (long l = 0; l < here; ++l) use(first + l, values[l]);
  }
}
}  // namespace detail

/// What leads to a state from the paths to each state at the frame before.
template <class T, class I>
TENON_DEVICE detail::CtcTerms ctc_terms_to(const CtcSample<T, I>& sample, long s, const double* before) {
  using detail::log_of_zero;
  return {before[s], s >= 1 ? before[s - 1] : log_of_zero, sample.skips_blank(s) ? before[s - 2] : log_of_zero};
}
/// From the paths to each state at frame - 1 to those to one at frame. Frame 0 begins in one of the first two.
template <class T, class I>
TENON_DEVICE double ctc_paths_to(const CtcSample<T, I>& sample, long frame, long s, const double* before) {
  double paths = s < 2 ? 0 : detail::log_of_zero;
  if (frame > 0) {
    const detail::CtcTerms of = ctc_terms_to(sample, s, before);
    paths = detail::log_sum(of.own, of.neighbour, of.next);
  }
  return paths + sample.log_prob(frame, s);
}
/// The same for all states. `before` may be `now`: blocks go from the last state to the first.
template <class T, class I>
void ctc_forward(const CtcSample<T, I>& sample, long frame, const double* before, double* now) {
  const long states = sample.states();
  if (frame == 0) {
    for (long s = 0; s < states; ++s) now[s] = ctc_paths_to(sample, 0, s, before);
    return;
  }
  for (long end = states; end > 0; end -= detail::ctc_width) {
    const long first = end > detail::ctc_width ? end - detail::ctc_width : 0;
    detail::ctc_block(
        first, end - first, [&](long s) { return ctc_terms_to(sample, s, before); },
        [&](long s, double paths) { now[s] = paths + sample.log_prob(frame, s); });
  }
}
/// log of the sum over all paths, of which ctc_forward has made those to each state at the last frame.
template <class T, class I>
TENON_DEVICE double ctc_total(const CtcSample<T, I>& sample, const double* last) {
  const long states = sample.states();
  if (sample.frames == 0) return states == 1 ? 0 : detail::log_of_zero;
  return detail::log_sum(last[states - 1], states > 1 ? last[states - 2] : detail::log_of_zero, detail::log_of_zero);
}
template <class T, class I>
[[gnu::noinline]] double ctc_log_probability(const CtcSample<T, I>& sample, double* paths) {
  for (long frame = 0; frame < sample.frames; ++frame) ctc_forward(sample, frame, paths, paths);
  return ctc_total(sample, paths);
}

/// The paths from a state at the last frame to the end. Here and below they leave out the log-probability of the state
/// that they begin in.
template <class T, class I>
TENON_DEVICE double ctc_paths_at_end(const CtcSample<T, I>& sample, long s) {
  return s >= sample.states() - 2 ? 0 : detail::log_of_zero;
}
/// What a state at an earlier frame leads to, from the paths from each state at the frame after, with their
/// log-probabilities.
template <class T, class I>
TENON_DEVICE detail::CtcTerms ctc_terms_from(const CtcSample<T, I>& sample, long s, const double* after) {
  using detail::log_of_zero;
  const long states = sample.states();
  return {after[s], s + 1 < states ? after[s + 1] : log_of_zero,
          s + 2 < states && sample.skips_blank(s + 2) ? after[s + 2] : log_of_zero};
}
template <class T, class I>
TENON_DEVICE double ctc_paths_from(const CtcSample<T, I>& sample, long s, const double* after) {
  const detail::CtcTerms of = ctc_terms_from(sample, s, after);
  return detail::log_sum(of.own, of.neighbour, of.next);
}
/// From the paths from each state at frame + 1 to the end, to those from each state at frame, in place.
template <class T, class I>
void ctc_backward(const CtcSample<T, I>& sample, long frame, double* paths) {
  const long states = sample.states();
  if (frame == sample.frames - 1) {
    for (long s = 0; s < states; ++s) paths[s] = ctc_paths_at_end(sample, s);
    return;
  }
  for (long s = 0; s < states; ++s) paths[s] += sample.log_prob(frame + 1, s);
  for (long first = 0; first < states; first += detail::ctc_width)
    detail::ctc_block(
        first, math::min<long>(detail::ctc_width, states - first),
        [&](long s) { return ctc_terms_from(sample, s, paths); }, [&](long s, double sum) { paths[s] = sum; });
}

/// (e^log_prob - the share of the paths that have this class at this frame) dy, for the frames of the sample. `scratch`
/// has room for (frames + 1) states + classes numbers.
template <class T, class I>
[[gnu::noinline]] void ctc_gradient(const CtcSample<T, I>& sample, bool zero_infinity, double dy, double* scratch,
                                    T* dx) {
  if (sample.frames == 0) return;
  const long states = sample.states(), classes = sample.classes;
  double *const to = scratch, *const from = to + sample.frames * states, *const share = from + states;
  for (long frame = 0; frame < sample.frames; ++frame)
    ctc_forward(sample, frame, to + (frame - (frame > 0)) * states, to + frame * states);
  const double total = ctc_total(sample, from - states);
  const bool impossible = total == detail::log_of_zero;
  const double unknown = zero_infinity ? 0 : std::numeric_limits<double>::quiet_NaN();
  for (long frame = sample.frames; frame-- > 0;) {
    for (long k = 0; k < classes; ++k) share[k] = 0;
    ctc_backward(sample, frame, from);
    detail::each_exponential(
        states, [&](long s) { return to[frame * states + s] + from[s] - total; },
        [&](long s, double part) { share[sample.label(s)] += part; });
    detail::each_exponential(
        classes, [&](long k) { return static_cast<double>(sample.log_probs[frame * classes + k]); },
        [&](long k, double probability) {
          const double slope = (probability - share[k]) * dy;
          dx[frame * classes + k] = static_cast<T>(static_cast<Compute<T>>(impossible ? unknown : slope));
        });
  }
}

/// Sample `row` of a call with log_probs, targets, input_lengths, target_lengths as operands 0 to 3.
template <class Call>
TENON_DEVICE auto ctc_sample(const Arguments& a, long row) {
  using T = typename Call::template Operand<0>;
  using I = typename Call::template Operand<1>;
  constexpr long frames = Call::operand(0)[1], classes = Call::operand(0)[2], longest = Call::operand(1)[1],
                 blank = Call::config().blank;
  return CtcSample<T, I>{a.operand<T>(0) + row * frames * classes,
                         a.operand<I>(1) + row * longest,
                         static_cast<long>(a.operand<typename Call::template Operand<2>>(2)[row]),
                         classes,
                         static_cast<long>(a.operand<typename Call::template Operand<3>>(3)[row]),
                         blank};
}
/// Whether the lengths of a sample are those of a part of its frames and of its target.
template <class Call>
TENON_DEVICE bool ctc_lengths_fit(const auto& sample) {
  constexpr long frames = Call::operand(0)[1], longest = Call::operand(1)[1];
  return sample.frames >= 0 && sample.frames <= frames && sample.length >= 0 && sample.length <= longest;
}
template <class Call>
inline constexpr long ctc_states = 2 * Call::operand(1)[1] + 1;

}  // namespace kernel

template <>
struct Kernel<Cpu, ops::CtcLoss> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::operand(0)[1] * kernel::ctc_states<Call> * 64;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return kernel::ctc_states<Call> * long(sizeof(double));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long row = begin; row < end; ++row) {
      const auto sample = kernel::ctc_sample<Call>(a, row);
      double loss = std::numeric_limits<double>::quiet_NaN();
      if (kernel::ctc_lengths_fit<Call>(sample))
        loss = 0 - kernel::ctc_log_probability(sample, reinterpret_cast<double*>(a.workspace));
      if (Call::config().zero_infinity && loss == std::numeric_limits<double>::infinity()) loss = 0;
      a.result<T>()[row] = static_cast<T>(static_cast<Compute<T>>(loss));
    }
  }
};

template <>
struct Kernel<Cpu, ops::CtcLossGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(4).count(n);
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result[1] * (kernel::ctc_states<Call> * 128 + Call::result[2] * 16);
  }
  template <class Call>
  static constexpr long workspace(long) {
    return ((Call::result[1] + 1) * kernel::ctc_states<Call> + Call::result[2]) * long(sizeof(double));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long elements = Call::result[1] * Call::result[2];
    for (long row = begin; row < end; ++row) {
      const auto sample = kernel::ctc_sample<Call>(a, row);
      const bool fit = kernel::ctc_lengths_fit<Call>(sample);
      T* const dx = a.result<T>() + row * elements;
      const T rest = static_cast<T>(fit ? 0.0f : std::numeric_limits<float>::quiet_NaN());
      for (long i = fit ? sample.frames * sample.classes : 0; i < elements; ++i) dx[i] = rest;
      if (fit)
        kernel::ctc_gradient(sample, Call::config().zero_infinity, static_cast<double>(a.operand<T>(4)[row]),
                             reinterpret_cast<double*>(a.workspace), dx);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
