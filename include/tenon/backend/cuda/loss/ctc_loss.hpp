// Connectionist temporal classification: a block per sample, its threads share the states of a frame.
#pragma once
#include <tenon/backend/cpu/loss/ctc_loss.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

inline constexpr int ctc_threads = 128;

/// Calls f(i) for i = 0 .. count - 1, a thread for each; all are done when it returns.
template <class F>
__device__ void each_in_block(long count, F f) {
  for (long i = threadIdx.x; i < count; i += ctc_threads) f(i);
  __syncthreads();
}

template <class C>
struct CtcLosses {
  using T = typename C::Result;
  static constexpr int threads = ctc_threads;
  static constexpr long states = ctc_states<C>, scratch = 2 * states;
  static long blocks(long n) { return result_count<C>(n); }
  __device__ static void block(const Arguments& a) {
    constexpr bool zero_infinity = C::config().zero_infinity != 0;
    const auto sample = ctc_sample<C>(a, blockIdx.x);
    double* const paths = reinterpret_cast<double*>(a.workspace) + blockIdx.x * scratch;
    double loss = std::numeric_limits<double>::quiet_NaN();
    if (ctc_lengths_fit<C>(sample)) {
      double *before = paths, *now = paths + states;
      for (long frame = 0; frame < sample.frames; ++frame) {
        each_in_block(sample.states(), [&](long s) { now[s] = ctc_paths_to(sample, frame, s, before); });
        double* const last = before;
        before = now, now = last;
      }
      if (threadIdx.x == 0) loss = 0 - ctc_total(sample, before);
    }
    if (zero_infinity && loss == std::numeric_limits<double>::infinity()) loss = 0;
    if (threadIdx.x == 0) a.result<T>()[blockIdx.x] = static_cast<T>(static_cast<Compute<T>>(loss));
  }
};

template <class C>
struct CtcGradients {
  using T = typename C::Result;
  static constexpr int threads = ctc_threads;
  static constexpr long states = ctc_states<C>, frames = C::result[1], classes = C::result[2];
  /// Of a sample: paths to each state of each frame, paths from the states of a frame and of the one after, what
  /// states have of a frame, and classes; for each state the next one of the same class.
  static constexpr long scratch = (frames + 4) * states + classes;
  static long blocks(long n) { return operand_count<C, 4>(n); }
  __device__ static void block(const Arguments& a) {
    const auto sample = ctc_sample<C>(a, blockIdx.x);
    const bool fit = ctc_lengths_fit<C>(sample);
    T* const dx = a.result<T>() + blockIdx.x * frames * classes;
    const T rest = static_cast<T>(fit ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    const long own = fit ? sample.frames * classes : 0;
    each_in_block(frames * classes - own, [&](long i) { dx[own + i] = rest; });
    if (own > 0) fill(a, sample, reinterpret_cast<double*>(a.workspace) + blockIdx.x * scratch, dx);
  }

 private:
  static constexpr double none = -1, begins = 0.5;  // of next: a class's first state is marked

  template <class Sample>
  __device__ static void fill(const Arguments& a, const Sample& sample, double* to, T* dx) {
    constexpr bool zero_infinity = C::config().zero_infinity != 0;
    const long count = sample.states();
    double *const from = to + frames * states, *const after = from + states, *const parts = after + states,
                  *const next = parts + states, *const share = next + states;
    for (long frame = 0; frame < sample.frames; ++frame)
      each_in_block(count, [&](long s) {
        to[frame * states + s] = ctc_paths_to(sample, frame, s, to + (frame - (frame > 0)) * states);
      });
    const double total = ctc_total(sample, to + (sample.frames - 1) * states);
    const bool impossible = total == kernel::detail::log_of_zero;
    const double unknown = zero_infinity ? 0 : std::numeric_limits<double>::quiet_NaN();
    const double dy = static_cast<double>(a.operand<T>(4)[blockIdx.x]);
    each_in_block(count, [&](long s) { next[s] = next_of_class(sample, s); });
    for (long frame = sample.frames; frame-- > 0;) {
      if (frame + 1 < sample.frames)
        each_in_block(count, [&](long s) { after[s] = from[s] + sample.log_prob(frame + 1, s); });
      each_in_block(classes, [&](long k) { share[k] = 0; });
      each_in_block(count, [&](long s) {
        from[s] = frame + 1 < sample.frames ? ctc_paths_from(sample, s, after) : ctc_paths_at_end(sample, s);
        parts[s] = math::float64::exp(to[frame * states + s] + from[s] - total);
      });
      each_in_block(count, [&](long s) {
        if (!is_first(next[s])) return;
        double sum = 0;
        for (long state = s; state >= 0; state = following(next[state])) sum += parts[state];
        share[sample.label(s)] = sum;
      });
      each_in_block(classes, [&](long k) {
        const double slope = math::float64::exp(static_cast<double>(sample.log_probs[frame * classes + k])) - share[k];
        dx[frame * classes + k] = static_cast<T>(static_cast<Compute<T>>(impossible ? unknown : slope * dy));
      });
    }
  }
  // The next state of the same class, or -1; and half more if no state before has this class.
  template <class Sample>
  __device__ static double next_of_class(const Sample& sample, long s) {
    double next = none;
    for (long other = sample.states(); --other > s;)
      if (sample.label(other) == sample.label(s)) next = double(other);
    for (long other = 0; other < s; ++other)
      if (sample.label(other) == sample.label(s)) return next;
    return next + begins;
  }
  __device__ static bool is_first(double next) { return next != math::floor(next); }
  __device__ static long following(double next) { return long(math::floor(next)); }
};

template <template <class> class Body>
struct CtcKernel : Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return Call::operand(0).size(0, n) * Body<Call>::scratch * long(sizeof(double));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<Body<Call>>(a);
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::CtcLoss> : kernel::cuda::CtcKernel<kernel::cuda::CtcLosses> {};
template <>
struct Kernel<Cuda, ops::CtcLossGrad> : kernel::cuda::CtcKernel<kernel::cuda::CtcGradients> {};

}  // namespace tenon
TENON_EXACT_END
