// Batch normalization of elements, the gradient of the input, moving statistics.
#pragma once
#include <tenon/backend/cpu/norm/batch_norm.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/norm/batch_norm_sums.hpp>
#include <tenon/backend/cuda/step/parts.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// Elements with what a channel has in common. A thread computes as many neighbours of one channel as 16 bytes hold.
template <class C, class Channel>
struct PerChannel {
  using T = typename C::Result;
  static constexpr long spatial = ChannelLayout<C>::spatial, channels = ChannelLayout<C>::channels;
  static constexpr int threads = 256, together = spatial % together_of<T> == 0 ? together_of<T> : 1;
  static long blocks(long n) { return blocks_for(result_count<C>(n), threads * together); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together;
    if (first >= result_count<C>(a.n)) return;
    const long c = first / spatial % channels;
    const Channel channel(a, c);
    Neighbours<T, together> value[Channel::inputs], result;
#pragma unroll
    for (int k = 0; k < Channel::inputs; ++k)
      value[k] = load_neighbours<together>(a.operand<T>(2 * k), first, together);
#pragma unroll
    for (int i = 0; i < together; ++i) {
      T own[Channel::inputs];
#pragma unroll
      for (int k = 0; k < Channel::inputs; ++k) own[k] = value[k].element[i];
      result.element[i] = static_cast<T>(channel(own));
    }
    store_results<C>(a, first, c, result);
  }
};

template <class C>
struct Normalized {
  using T = typename C::Result;
  using A = typename C::template Operand<1>;
  static constexpr int inputs = 1;  // x
  A mean, scale, shift;
  __device__ Normalized(const Arguments& a, long c) {
    const Normalization<C, 2> of(a);
    mean = of.mean[c], scale = of.scale(c), shift = a.operand<A>(3)[c];
  }
  __device__ A operator()(const T* x) const { return (static_cast<A>(*x) - mean) * scale + shift; }
};
template <class C>
using NormalizedElements = PerChannel<C, Normalized<C>>;

template <class C>
struct NormGradient {
  using T = typename C::Result;
  static constexpr int inputs = 2;  // x and dy
  NormGradientTerms<C> terms;
  __device__ NormGradient(const Arguments& a, long c) : terms(a, c) {}
  __device__ auto operator()(const T* value) const { return terms(value[0], value[1]); }
};
template <class C>
using NormGradientElements = PerChannel<C, NormGradient<C>>;

/// The moving statistics of a row of those of a batch, whose frozen ones have a negative variance.
template <class T>
struct MoveStatistics {
  struct Part {
    T* moving;
    const T *row, *unbiased_variance;
    long channels;
    T keep;
  };
  static constexpr int threads = 256;
  static long blocks(const Part& part) { return blocks_for(part.channels, threads); }
  __device__ static void block(const Part& part, long block) {
    const long c = block * threads + threadIdx.x;
    if (c >= part.channels) return;
    const T keep = part.keep, take = T(1) - keep;
    T& moving = part.moving[c];
    if (!(part.unbiased_variance[c] < 0)) moving = keep * moving + take * part.row[c];
  }
};
struct ScaleOfChannel {
  template <class C>
  __device__ static void at(const Arguments& a, long c) {
    using T = typename C::Result;
    constexpr T epsilon = T(C::config().epsilon);
    a.result<T>()[c] = a.operand<T>(0)[c] / math::sqrt(a.operand<T>(1)[c] + epsilon);
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::BatchNorm> : kernel::cuda::Launches<kernel::cuda::NormalizedElements> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .cheap = true};
};
template <>
struct Kernel<Cuda, ops::BatchNormInputGrad> : kernel::cuda::Launches<kernel::cuda::NormGradientElements> {
  static constexpr KernelFacts facts{.in_place = true};
};
template <>
struct Kernel<Cuda, ops::UpdateMoving> : kernel::cuda::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr long channels = Call::result[0];
    const T* const statistics = a.operand<T>(1);
    kernel::cuda::launch_part<kernel::cuda::MoveStatistics<T>>(
        {a.changed<T>(0), statistics + Call::config().row * channels,
         statistics + Call::Op::Row::unbiased_variance * channels, channels, T(Call::config().momentum)});
  }
};
template <>
struct Kernel<Cuda, ops::BatchNormScale> : kernel::cuda::Elements<kernel::cuda::ScaleOfChannel> {};

}  // namespace tenon
TENON_EXACT_END
