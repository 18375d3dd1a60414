// Batch normalization: elements, sums for the gradients, the gradient of the input, moving statistics.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/norm/batch_norm_statistics.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct BatchNorm;
struct BatchNormSums;
struct BatchNormInputGrad;
struct UpdateMoving;
struct BatchNormScale;
}  // namespace ops

namespace kernel {
// What the statistics, operand 1, and gamma say of a channel.
template <class Call, int Gamma>
struct Normalization {
  using A = typename Call::template Operand<1>;
  using Row = typename Call::Op::Row;
  static constexpr long channels = Call::operand(1)[1];
  const A *mean, *variance, *gamma;
  TENON_DEVICE explicit Normalization(const Arguments& a)
      : mean(a.operand<A>(1) + Row::mean * channels),
        variance(a.operand<A>(1) + Row::variance * channels),
        gamma(a.operand<A>(Gamma)) {}
  TENON_DEVICE A deviation(long c) const {
    constexpr A epsilon = A(Call::config().epsilon);
    return math::sqrt(variance[c] + epsilon);
  }
  TENON_DEVICE A scale(long c) const { return gamma[c] / deviation(c); }
};
// What the gradient of one element needs of its channel.
template <class Call>
struct NormGradientTerms {
  using A = typename Call::template Operand<1>;
  A mean, scale, mean_dy, slope;  // slope: mean(dy xhat) / sqrt(variance + epsilon)

  TENON_DEVICE NormGradientTerms(const Arguments& a, long c) {
    using Layout = ChannelLayout<Call>;
    const Normalization<Call, 3> of(a);
    const A elements = static_cast<A>(Layout::samples(a.n) * Layout::spatial);
    mean = of.mean[c], scale = of.scale(c);
    mean_dy = a.operand<A>(5)[c] / elements;
    slope = a.operand<A>(4)[c] / elements / of.deviation(c);
    if (a.operand<A>(1)[Call::Op::Row::unbiased_variance * Layout::channels + c] < 0) mean_dy = slope = 0;  // frozen
  }
  TENON_DEVICE A operator()(auto x, auto dy) const {
    return scale * (static_cast<A>(dy) - mean_dy - (static_cast<A>(x) - mean) * slope);
  }
};
/// Base of the kernel of Op if it works on planes, by run_planes<Call>(a, begin, end, elements of a plane). A unit of
/// work is a plane, or a whole row where planes have one element.
template <class Op>
struct RunsPlanes {
  template <class Call>
  static constexpr long items(long n) {
    using Layout = ChannelLayout<Call>;
    return Layout::spatial == 1 ? Layout::samples(n) : Layout::samples(n) * Layout::channels;
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return plane_nchw16n_work<Call>(n);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    Kernel<Cpu, Op>::template run_planes<Call>(a, begin, end, ChannelLayout<Call>::spatial * block_samples);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::BatchNorm> : kernel::RunsPlanes<ops::BatchNorm> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .cheap = true, .nchw16n = Nchw16n::follows};
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_planes(const Arguments& a, long begin, long end, long plane);
};
template <class Call>
void Kernel<Cpu, ops::BatchNorm>::run(const Arguments& a, long begin, long end) {
  using Layout = kernel::ChannelLayout<Call>;
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  constexpr long channels = Layout::channels;
  if constexpr (Layout::spatial == 1) {
    const kernel::Normalization<Call, 2> of(a);
    const A* const beta = a.operand<A>(3);
    for (long first = 0; first < channels; first += kernel::column_block) {
      const long count = channels - first < kernel::column_block ? channels - first : kernel::column_block;
      A scale[kernel::column_block];
      for (long c = 0; c < count; ++c) scale[c] = of.scale(first + c);
      for (long row = begin; row < end; ++row) {
        const T* x = a.operand<T>(0) + row * channels + first;
        T* y = a.result<T>() + row * channels + first;
        for (long c = 0; c < count; ++c)
          y[c] = static_cast<T>((static_cast<A>(x[c]) - of.mean[first + c]) * scale[c] + beta[first + c]);
        if constexpr (Call::steps > 0) kernel::apply_steps<Call, true>(a, row * channels + first, count, first);
      }
    }
  } else {
    run_planes<Call>(a, begin, end, Layout::spatial);
  }
}
template <class Call>
void Kernel<Cpu, ops::BatchNorm>::run_planes(const Arguments& a, long begin, long end, long size) {
  using T = typename Call::Result;
  using A = typename Call::template Operand<1>;
  constexpr long channels = kernel::ChannelLayout<Call>::channels;
  const kernel::Normalization<Call, 2> of(a);
  for (long plane = begin; plane < end; ++plane) {
    const long c = plane % channels;
    const A average = of.mean[c], scale = of.scale(c), shift = a.operand<A>(3)[c];
    for (long at = plane * size; at < (plane + 1) * size; at += kernel::norm_piece) {
      const long left = (plane + 1) * size - at, count = left < kernel::norm_piece ? left : kernel::norm_piece;
      kernel::map_unrolled<true>(
          a.result<T>() + at, count, [=](auto x) { return (static_cast<A>(x) - average) * scale + shift; },
          a.operand<T>(0) + at);
      if constexpr (Call::steps > 0) kernel::apply_steps<Call, false>(a, at, count, c);
    }
  }
}

template <>
struct Kernel<Cpu, ops::BatchNormSums> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {Call::result[0], Call::operand(0).count(n) / Call::result[0] * 2 + 1, unread<Call>};
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {kernel::channel_nchw16n_work<Call>(n).items, kernel::channel_nchw16n_work<Call>(n).cost, unread<Call>};
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, false);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    fill<Call>(a, begin, end, true);
  }

 private:
  // Bytes for the sums of dy where no node reads them.
  template <class Call>
  static constexpr long unread = has_result<Call, 1> ? 0 : Call::result.bytes(1);
  template <class Call>
  static void fill(const Arguments& a, long begin, long end, bool in_nchw16n) {
    using Layout = kernel::ChannelLayout<Call>;
    using A = typename Call::Result;
    using Row = typename Call::Op::Row;
    const A* const mean = a.operand<A>(1) + Row::mean * Layout::channels;
    const A* const variance = a.operand<A>(1) + Row::variance * Layout::channels;
    A *const to_gamma = a.result<A>(), *to_beta = reinterpret_cast<A*>(a.workspace);
    if constexpr (has_result<Call, 1>) to_beta = result_of<Call, 1>(a);
    if constexpr (Layout::images)
      kernel::image_gradient_sums(Layout::batch(a.n, in_nchw16n), a.operand<float>(0), a.operand<float>(2), mean,
                                  to_beta, to_gamma, begin, end);
    else sums<Call>(a, begin, end, mean, to_beta, to_gamma);
    for (long c = begin; c < end; ++c) to_gamma[c] = to_gamma[c] / math::sqrt(variance[c] + A(Call::config().epsilon));
  }
  template <class Call, class A>
  static void sums(const Arguments& a, long begin, long end, const A* mean, A* to_beta, A* to_gamma) {
    using Layout = kernel::ChannelLayout<Call>;
    using T = typename Call::template Operand<0>;
    const long samples = Layout::samples(a.n);
    const T *x = a.operand<T>(0), *dy = a.operand<T>(2);
    if constexpr (Layout::spatial == 1) {
      for (long first = begin; first < end; first += kernel::column_block) {
        const long count = end - first < kernel::column_block ? end - first : kernel::column_block;
        const auto gradient = [=](long r, long c) { return static_cast<A>(dy[r * Layout::channels + first + c]); };
        kernel::column_sums<A>(samples, count, {to_beta + first, to_gamma + first}, gradient, [=](long r, long c) {
          return gradient(r, c) * (static_cast<A>(x[r * Layout::channels + first + c]) - mean[first + c]);
        });
      }
    } else {
      for (long c = begin; c < end; ++c) {
        kernel::LongSum<A, 2> total;
        for (long sample = 0; sample < samples; ++sample) {
          const long plane = (sample * Layout::channels + c) * Layout::spatial;
          const auto sums = kernel::lane_sums<A>(
              Layout::spatial, [](auto, auto gradient) { return static_cast<A>(gradient); },
              [average = mean[c]](auto value, auto gradient) {
                return static_cast<A>(gradient) * (static_cast<A>(value) - average);
              },
              x + plane, dy + plane);
          total.add({sums.first, sums.second});
        }
        const A* const sums = total.finish();
        to_beta[c] = sums[0], to_gamma[c] = sums[1];
      }
    }
  }
};

template <>
struct Kernel<Cpu, ops::BatchNormInputGrad> : kernel::RunsPlanes<ops::BatchNormInputGrad> {
  static constexpr KernelFacts facts{.in_place = true, .nchw16n = Nchw16n::follows};
  template <class Call>
  static void run(const Arguments& a, long begin, long end);
  template <class Call>
  static void run_planes(const Arguments& a, long begin, long end, long plane);
};
template <class Call>
void Kernel<Cpu, ops::BatchNormInputGrad>::run(const Arguments& a, long begin, long end) {
  using Layout = kernel::ChannelLayout<Call>;
  using T = typename Call::Result;
  if constexpr (Layout::spatial == 1) {
    const T *const x = a.operand<T>(0), *const dy = a.operand<T>(2);
    for (long c = 0; c < Layout::channels; ++c) {
      const kernel::NormGradientTerms<Call> element(a, c);
      for (long i = begin * Layout::channels + c; i < end * Layout::channels; i += Layout::channels)
        a.result<T>()[i] = static_cast<T>(element(x[i], dy[i]));
    }
  } else {
    run_planes<Call>(a, begin, end, Layout::spatial);
  }
}
template <class Call>
void Kernel<Cpu, ops::BatchNormInputGrad>::run_planes(const Arguments& a, long begin, long end, long size) {
  using T = typename Call::Result;
  for (long plane = begin; plane < end; ++plane)
    kernel::map_unrolled<true, true>(a.result<T>() + plane * size, size,
                                     kernel::NormGradientTerms<Call>(a, plane % kernel::ChannelLayout<Call>::channels),
                                     a.operand<T>(0) + plane * size, a.operand<T>(2) + plane * size);
}

template <>
struct Kernel<Cpu, ops::UpdateMoving> {
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const T keep = T(Call::config().momentum), take = T(1) - keep;
    const T* batch = a.operand<T>(1) + Call::config().row * Call::result[0];
    const T* unbiased = a.operand<T>(1) + Call::Op::Row::unbiased_variance * Call::result[0];
    for (long c = begin; c < end; ++c)
      if (!(unbiased[c] < 0)) a.changed<T>(0)[c] = keep * a.changed<T>(0)[c] + take * batch[c];
  }
};

template <>
struct Kernel<Cpu, ops::BatchNormScale> {
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long c = begin; c < end; ++c)
      a.result<T>()[c] = a.operand<T>(0)[c] / math::sqrt(a.operand<T>(1)[c] + T(Call::config().epsilon));
  }
};

}  // namespace tenon
TENON_EXACT_END
