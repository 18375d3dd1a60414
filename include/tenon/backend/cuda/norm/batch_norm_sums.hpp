// Batch normalization: statistics of a batch, and sums for the gradients, per channel.
#pragma once
#include <tuple>

#include <tenon/backend/cpu/norm/batch_norm.hpp>
#include <tenon/backend/cuda/reduce/channel_sums.hpp>
#include <tenon/backend/cuda/reduce/columns.hpp>
#include <tenon/backend/cuda/reduce/rows.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Adds element i of the batch to sum s.
template <int s, class Terms>
__device__ void add_element(const Terms& terms, typename Terms::A& total, long i) {
  typename Terms::A value[Terms::inputs];
#pragma unroll
  for (int k = 0; k < Terms::inputs; ++k) value[k] = static_cast<typename Terms::A>(terms.input(k)[i]);
  terms.template add<s>(total, value);
}
/// The sums of a channel: `Terms` has inputs of the batch, [n, channels, spatial], add<s>(total, value) that adds an
/// element of each to sum s, and what columns.hpp asks of columns but the rows.
template <class Terms>
struct OfSamples : Terms {
  using C = typename Terms::C;
  static constexpr long columns = ChannelLayout<C>::channels;
  using Terms::Terms;
  TENON_DEVICE static long rows(long n) { return ChannelLayout<C>::samples(n); }
  template <int s>
  __device__ void add(typename Terms::A& total, long row) const {
    add_element<s>(*static_cast<const Terms*>(this), total, row * columns + this->channel);
  }
};

// Planes: first the sums of each, [sum][plane] in the workspace, then those of the samples.
template <class C>
TENON_DEVICE long planes_of(long n) {
  return ChannelLayout<C>::samples(n) * ChannelLayout<C>::channels;
}
/// The sums of 8 pixels of a plane, which begins at element `plane`, from pixel `begin`.
template <class Terms>
__device__ void add_chain(const Terms& terms, long plane, long begin, float (&total)[Terms::sums]) {
  constexpr long spatial = ChannelLayout<typename Terms::C>::spatial;
  constexpr int quad = int(lane_chain) / 2;
#pragma unroll
  for (float& sum : total) sum = 0;
  const long left = spatial - begin;
  if (left <= 0) return;
  Neighbours<float, quad> pixels[Terms::inputs][2];
#pragma unroll
  for (int k = 0; k < Terms::inputs; ++k) {
    pixels[k][0] = load_neighbours<quad>(terms.input(k), plane + begin, left);
    pixels[k][1] = load_neighbours<quad>(terms.input(k), plane + begin + (left > quad ? quad : 0),
                                         left > quad ? left - quad : left);
  }
  [&]<int... s>(std::integer_sequence<int, s...>) {
#pragma unroll
    for (int q = 0; q < int(lane_chain); ++q) {
      float value[Terms::inputs];
#pragma unroll
      for (int k = 0; k < Terms::inputs; ++k) value[k] = pixels[k][q / quad].element[q % quad];
      if (q < left) (terms.template add<s>(total[s], value), ...);
    }
  }(std::make_integer_sequence<int, Terms::sums>());
}
/// Float32 images: chains of 8 pixels as a tree, a warp per plane. Missing chains are +0, which no sum shows at last.
template <class Terms>
struct ImagePlanes {
  using C = typename Terms::C;
  static constexpr int threads = 128, planes = threads / warp;
  static long blocks(long n) { return blocks_for(planes_of<C>(n), planes); }
  __device__ static void block(const Arguments& a) {
    if (Terms::skipped(a)) return;
    constexpr long spatial = ChannelLayout<C>::spatial;
    const long all = planes_of<C>(a.n), own = thread_of_grid() / warp, plane = own < all ? own : all - 1;
    const Terms terms(a, plane % ChannelLayout<C>::channels);
    const int lane = int(threadIdx.x) % warp;
    Tree<float> tree[Terms::sums];
    float total[Terms::sums];
    for (long first = 0; first < spatial || first == 0; first += warp * lane_chain) {
      if (first > 0)
#pragma unroll
        for (int s = 0; s < Terms::sums; ++s) tree[s].add(total[s], Add());
      add_chain(terms, plane * spatial, first + lane * lane_chain, total);
#pragma unroll
      for (int step = 1; step < warp; step *= 2)
#pragma unroll
        for (int s = 0; s < Terms::sums; ++s) total[s] += __shfl_xor_sync(~0u, total[s], step);
    }
#pragma unroll
    for (int s = 0; s < Terms::sums; ++s) {
      const float sum = tree[s].finish(total[s], Add());
      if (own < all && lane == 0) reinterpret_cast<float*>(a.workspace)[s * all + plane] = sum;
    }
  }
};
/// The samples of images: a block per channel.
template <class Terms>
struct ImageSamples {
  using C = typename Terms::C;
  static constexpr int threads = samples_at_once;
  static long blocks(long) { return ChannelLayout<C>::channels; }
  __device__ static void block(const Arguments& a) {
    if (Terms::skipped(a)) {
      if (threadIdx.x == 0) Terms(a, blockIdx.x).skip();
      return;
    }
    constexpr long channels = ChannelLayout<C>::channels;
    const long planes = planes_of<C>(a.n);
    float total[Terms::sums];
#pragma unroll
    for (int s = 0; s < Terms::sums; ++s) {
      const float* const sums = reinterpret_cast<const float*>(a.workspace) + s * planes + blockIdx.x;
      total[s] = sum_over_samples(ChannelLayout<C>::samples(a.n), [=](long sample) { return sums[sample * channels]; });
    }
    if (threadIdx.x == 0) Terms(a, blockIdx.x).store(total);
  }
};

/// All of this by a block per channel, for some Terms one after the other, which then find the images in the cache. A
/// plane has as many lanes as it has chains, or a warp.
template <class First, class... Others>
struct ImageChannels {
  using C = typename First::C;
  static constexpr long spatial = ChannelLayout<C>::spatial;
  static constexpr int of_plane = [] {
    int some = 1;
    while (some < warp && some * lane_chain < spatial) some *= 2;
    return some;
  }();
  static constexpr int threads = of_plane == warp ? 512 : 256;
  static long blocks(long) { return ChannelLayout<C>::channels; }
  __device__ static void block(const Arguments& a) {
    sum_up<First>(a);
    (sum_after_barrier<Others>(a), ...);
  }

 private:
  template <class Terms>
  __device__ static void sum_after_barrier(const Arguments& a) {
    __syncthreads();
    sum_up<Terms>(a);
  }
  template <class Terms>
  __device__ static void sum_up(const Arguments& a) {
    const long channel = blockIdx.x;
    if (Terms::skipped(a)) {
      if (threadIdx.x == 0) Terms(a, channel).skip();
      return;
    }
    constexpr long channels = ChannelLayout<C>::channels;
    const long samples = ChannelLayout<C>::samples(a.n), all = samples * channels;
    const Terms terms(a, channel);
    float* const sums = reinterpret_cast<float*>(a.workspace) + channel;
    for (long first = 0; first < samples; first += threads / of_plane) {
      const long own = first + int(threadIdx.x) / of_plane, sample = own < samples ? own : samples - 1;
      float total[Terms::sums];
      sum_plane(terms, (sample * channels + channel) * ChannelLayout<C>::spatial, total);
#pragma unroll
      for (int s = 0; s < Terms::sums; ++s)
        if (own < samples && int(threadIdx.x) % of_plane == 0) sums[s * all + sample * channels] = total[s];
    }
    __syncthreads();
    float total[Terms::sums];
#pragma unroll
    for (int s = 0; s < Terms::sums; ++s)
      total[s] = sum_over_samples(samples, [=](long sample) { return sums[s * all + sample * channels]; });
    if (threadIdx.x == 0) terms.store(total);
  }
  template <class Terms>
  __device__ static void sum_plane(const Terms& terms, long plane, float (&total)[Terms::sums]) {
    constexpr int lanes_of_plane = of_plane, lane_of_plane = of_plane - 1;
    constexpr long pixels = ChannelLayout<C>::spatial, piece = long(warp) * lane_chain;
    const int lane = int(threadIdx.x) & lane_of_plane;
    Tree<float> tree[Terms::sums];
#pragma unroll 4
    for (long first = 0; first < pixels || first == 0; first += piece) {
      if (first > 0)
#pragma unroll
        for (int s = 0; s < Terms::sums; ++s) tree[s].add(total[s], Add());
      add_chain(terms, plane, first + lane * lane_chain, total);
#pragma unroll
      for (int step = 1; step < lanes_of_plane; step *= 2)
#pragma unroll
        for (int s = 0; s < Terms::sums; ++s) total[s] += __shfl_xor_sync(~0u, total[s], step);
    }
#pragma unroll
    for (int s = 0; s < Terms::sums; ++s) total[s] = tree[s].finish(total[s], Add());
  }
};

/// Planes of other types: each a row, in the order of lane_sum; samples in chains of 32.
template <class Terms>
struct OtherPlanes {
  using C = typename Terms::C;
  using Team = RowTeam<ChannelLayout<C>::spatial>;
  static constexpr int threads = Team::threads;
  static long blocks(long n) { return Team::blocks(planes_of<C>(n)); }
  __device__ static void block(const Arguments& a) {
    if (Terms::skipped(a)) return;
    const Team team(planes_of<C>(a.n), 0);
    const Terms terms(a, team.row() % ChannelLayout<C>::channels);
    [&]<int... s>(std::integer_sequence<int, s...>) {
      ((sum_up<s>(a, team, terms)), ...);
    }(std::make_integer_sequence<int, Terms::sums>());
  }

 private:
  template <int s>
  __device__ static void sum_up(const Arguments& a, const Team& team, const Terms& terms) {
    using A = typename Terms::A;
    const long start = team.row() * team.count();
    const A total = team.template sum_by<A>([&](A& sum, int, long i) { add_element<s>(terms, sum, start + i); });
    if (team.is_first()) reinterpret_cast<A*>(a.workspace)[s * planes_of<C>(a.n) + team.row()] = total;
  }
};
template <class Terms>
struct OtherSamples {
  using C = typename Terms::C;
  static constexpr int threads = 128;
  static long blocks(long) { return blocks_for(ChannelLayout<C>::channels, threads); }
  __device__ static void block(const Arguments& a) {
    using A = typename Terms::A;
    constexpr long channels = ChannelLayout<C>::channels;
    const long c = thread_of_grid(), samples = ChannelLayout<C>::samples(a.n);
    if (c >= channels) return;
    if (Terms::skipped(a)) return Terms(a, c).skip();
    A total[Terms::sums];
#pragma unroll
    for (int s = 0; s < Terms::sums; ++s) {
      const A* const sums = reinterpret_cast<const A*>(a.workspace) + s * planes_of<C>(a.n) + c;
      Tree<A> tree;
      A chain = 0;
      for (long sample = 0, in_chain = 0; sample < samples; ++sample) {
        chain += sums[sample * channels];
        if (++in_chain == sum_chain) tree.add(chain, Add()), chain = 0, in_chain = 0;
      }
      total[s] = tree.finish(chain, Add()) + 0;
    }
    Terms(a, c).store(total);
  }
};

/// Sums up each of `Terms` for all channels.
template <class... Terms>
void sum_per_channel(const Arguments& a) {
  using Layout = ChannelLayout<typename std::tuple_element_t<0, std::tuple<Terms...>>::C>;
  constexpr long many_channels = 32;  // a multiprocessor has a channel
  if constexpr (Layout::images && Layout::channels >= many_channels) {
    launch_blocks<ImageChannels<Terms...>>(a);
  } else if constexpr (Layout::images) {
    ((launch_blocks<ImagePlanes<Terms>>(a), launch_blocks<ImageSamples<Terms>>(a)), ...);
  } else if constexpr (Layout::spatial == 1) {
    (sum_columns<OfSamples<Terms>>(a), ...);
  } else {
    ((launch_blocks<OtherPlanes<Terms>>(a), launch_blocks<OtherSamples<Terms>>(a)), ...);
  }
}
template <class Terms>
constexpr long bytes_per_channel(long n) {
  using Layout = ChannelLayout<typename Terms::C>;
  if constexpr (!Layout::images && Layout::spatial == 1) return ColumnTiles<OfSamples<Terms>>::bytes(n);
  else return Terms::sums * Layout::samples(n) * Layout::channels * long(sizeof(typename Terms::A));
}

/// What the statistics of C have in common: rows of the result, and whether they are frozen.
template <class Call>
struct StatisticTerms {
  using C = Call;
  using A = typename C::Result;
  using T = typename C::template Operand<0>;
  using Row = typename C::Op::Row;
  const Arguments& a;
  long channel;

  __device__ StatisticTerms(const Arguments& arguments, long c) : a(arguments), channel(c) {}
  __device__ A& row(int r) const { return a.result<A>()[r * ChannelLayout<C>::channels + channel]; }
  __device__ static bool skipped([[maybe_unused]] const Arguments& a) {
    if constexpr (C::operands > 1) return *a.operand<float>(3) != 0;
    else return false;
  }
  __device__ long elements() const { return ChannelLayout<C>::samples(a.n) * ChannelLayout<C>::spatial; }
  __device__ void skip() const {}
  static constexpr int inputs = 1;
  __device__ const T* input(int) const { return a.operand<T>(0); }
};
/// First the mean, rounded on the way.
template <class C>
struct MeanTerms : StatisticTerms<C> {
  using A = typename StatisticTerms<C>::A;
  using Row = typename StatisticTerms<C>::Row;
  static constexpr int sums = 1;
  using StatisticTerms<C>::StatisticTerms;
  template <int>
  __device__ void add(A& total, const A* value) const {
    total += *value;
  }
  __device__ void store(const A (&total)[sums]) const {
    this->row(Row::mean) = total[0] / static_cast<A>(this->elements());
  }
};
/// Then the distances from it, and their squares.
template <class C>
struct DistanceTerms : StatisticTerms<C> {
  using A = typename StatisticTerms<C>::A;
  using Row = typename StatisticTerms<C>::Row;
  static constexpr int sums = 2;
  A mean;
  __device__ DistanceTerms(const Arguments& a, long c) : StatisticTerms<C>(a, c) { mean = this->row(Row::mean); }
  template <int s>
  __device__ void add(A& total, const A* value) const {
    const A distance = *value - mean;
    if constexpr (s == 0) total += distance;
    else if constexpr (ChannelLayout<C>::images) total = fmadd(distance, distance, total);
    else total += distance * distance;
  }
  __device__ void store(const A (&total)[sums]) const {
    const long count = this->elements();
    const Moments<A> moments = corrected_moments(mean, total[0], total[1], static_cast<A>(count));
    this->row(Row::mean) = moments.mean;
    this->row(Row::unbiased_variance) = moments.deviation / static_cast<A>(count > 1 ? count - 1 : 1);
    this->row(Row::variance) = moments.deviation / static_cast<A>(count);
  }
  /// Frozen statistics are the moving ones.
  __device__ void skip() const {
    if constexpr (C::operands > 1) {
      this->row(Row::mean) = this->a.template operand<A>(1)[this->channel];
      this->row(Row::variance) = this->a.template operand<A>(2)[this->channel];
      this->row(Row::unbiased_variance) = A(-1);
    }
  }
};
/// Sums of dy, and of dy (x - mean).
template <class Call>
struct GradientTerms {
  using C = Call;
  using A = typename C::Result;
  using T = typename C::template Operand<0>;
  using Row = typename C::Op::Row;
  static constexpr int sums = 2, inputs = 2;  // x and dy
  const Arguments& a;
  long channel;
  A mean;

  __device__ const T* input(int k) const { return a.operand<T>(2 * k); }
  __device__ GradientTerms(const Arguments& arguments, long c) : a(arguments), channel(c), mean(row(Row::mean)) {}
  __device__ static bool skipped(const Arguments&) { return false; }
  __device__ void skip() const {}
  __device__ A row(int r) const { return a.operand<A>(1)[r * ChannelLayout<C>::channels + channel]; }
  template <int s>
  __device__ void add(A& total, const A* value) const {
    if constexpr (s == 0) total += value[1];
    else total += value[1] * (value[0] - mean);
  }
  __device__ void store(const A (&total)[sums]) const {
    constexpr A epsilon = A(C::config().epsilon);
    if constexpr (has_result<C, 1>) result_of<C, 1>(a)[channel] = total[0];
    a.result<A>()[channel] = total[1] / math::sqrt(row(Row::variance) + epsilon);
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::BatchNormStatistics> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::bytes_per_channel<kernel::cuda::DistanceTerms<Call>>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    kernel::cuda::sum_per_channel<kernel::cuda::MeanTerms<Call>, kernel::cuda::DistanceTerms<Call>>(a);
  }
};
template <>
struct Kernel<Cuda, ops::BatchNormSums> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::bytes_per_channel<kernel::cuda::GradientTerms<Call>>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    kernel::cuda::sum_per_channel<kernel::cuda::GradientTerms<Call>>(a);
  }
};

}  // namespace tenon
TENON_EXACT_END
