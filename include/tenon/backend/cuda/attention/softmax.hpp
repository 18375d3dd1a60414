// Softmax along an axis, its logarithm, and its derivative.
#pragma once
#include <limits>

#include <tenon/backend/cpu/reduce/axis.hpp>
#include <tenon/backend/cuda/reduce/rows.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Softmax;
struct SoftmaxGrad;
struct LogSoftmax;
}  // namespace ops

namespace kernel::cuda {

/// The axis of C: [outer, count, inner], of which n is a factor of one.
template <class C>
struct AlongAxis {
  static constexpr int axis = normalized_axis(C::config().axis, C::operand(0).rank);
  static constexpr AxisSplit one = axis_split(C::operand(0), axis, 1);
  static constexpr bool batched = C::operand(0).batched();
  static constexpr long inner = one.inner, fixed_count = batched && axis == 0 ? -1 : one.count;
  TENON_DEVICE static constexpr long count(long n) { return fixed_count < 0 ? n * one.count : fixed_count; }
  TENON_DEVICE static constexpr long outer(long n) { return batched && axis > 0 ? n * one.outer : one.outer; }
};

/// The rows of C along its last axis that counts: a team of threads for each.
template <class C, class Work>
struct OnRows {
  using Along = AlongAxis<C>;
  using Team = RowTeam<Along::fixed_count>;
  static constexpr int threads = Team::threads;
  static long blocks(long n) { return Team::blocks(Along::outer(n)); }
  __device__ static void block(const Arguments& a) {
    const Team team(Along::outer(a.n), Along::count(a.n));
    Work::template row<C>(a, team, team.row() * team.count());
  }
};
/// Its columns, of another axis: a thread for each.
template <class C, class Work>
struct OnColumns {
  using Along = AlongAxis<C>;
  static constexpr int threads = 128;
  static long blocks(long n) { return blocks_for(Along::outer(n) * Along::inner, threads); }
  __device__ static void block(const Arguments& a) {
    constexpr long inner = Along::inner;
    const long column = thread_of_grid(), count = Along::count(a.n);
    if (column < Along::outer(a.n) * inner)
      Work::template column<C>(a, column / inner * count * inner + column % inner, count, inner);
  }
};
template <class Work>
struct AxisKernel : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    if (AlongAxis<Call>::count(a.n) == 0) return;
    if constexpr (AlongAxis<Call>::inner == 1) launch_blocks<OnRows<Call, Work>>(a);
    else launch_blocks<OnColumns<Call, Work>>(a);
  }
};

/// The elements of a row, in Compute<T>; in registers where they fit.
template <class Team, class T>
struct RowValues {
  const T* from;
  Compute<T> value[Team::values];
  __device__ RowValues(const Team& team, const T* row) : from(row) {
    if constexpr (Team::kept) team.each([this](int k, long i) { value[k] = static_cast<Compute<T>>(from[i]); });
  }
  __device__ Compute<T> operator()([[maybe_unused]] int k, [[maybe_unused]] long i) const {
    if constexpr (Team::kept) return value[k];
    else return static_cast<Compute<T>>(from[i]);
  }
};

/// y = exp(x - max) / sum, or x - max - log(sum).
template <bool logarithm>
struct SoftmaxWork {
  template <class C, class Team>
  __device__ static void row(const Arguments& a, const Team& team, long start) {
    using T = typename C::Result;
    using A = Compute<T>;
    RowValues<Team, T> x(team, a.operand<T>(0) + start);
    T* const y = a.result<T>() + start;
    const A most = team.template largest<A>(x);
    const A sum = team.template sum<A>([&](int k, long i) {
      const A power = math::exp(x(k, i) - most);
      if constexpr (Team::kept && !logarithm) x.value[k] = power;
      return power;
    });
    const A total = logarithm ? math::log(sum) : sum;
    team.each([&](int k, long i) {
      A result;
      if constexpr (logarithm) result = x(k, i) - most - total;
      else if constexpr (Team::kept) result = x.value[k] / total;
      else result = math::exp(x(k, i) - most) / total;
      if (team.exists()) y[i] = static_cast<T>(result);
    });
  }
  template <class C>
  __device__ static void column(const Arguments& a, long start, long count, long pitch) {
    using T = typename C::Result;
    using A = Compute<T>;
    const T* const x = a.operand<T>(0) + start;
    T* const y = a.result<T>() + start;
    A most = -std::numeric_limits<A>::infinity();
    for (long i = 0; i < count; ++i)
      if (const A value = static_cast<A>(x[i * pitch]); value > most) most = value;
    A sum = sum_of_column<A>(count, [=](long i) { return math::exp(static_cast<A>(x[i * pitch]) - most); });
    if constexpr (logarithm) sum = math::log(sum);
    for (long i = 0; i < count; ++i) {
      const A shifted = static_cast<A>(x[i * pitch]) - most;
      y[i * pitch] = static_cast<T>(logarithm ? shifted - sum : math::exp(shifted) / sum);
    }
  }
};
/// dx = y (dy - sum of y dy).
struct SoftmaxGradWork {
  template <class C, class Team>
  __device__ static void row(const Arguments& a, const Team& team, long start) {
    using T = typename C::Result;
    using A = Compute<T>;
    const RowValues<Team, T> y(team, a.operand<T>(0) + start), dy(team, a.operand<T>(1) + start);
    T* const dx = a.result<T>() + start;
    const A sum = team.template sum<A>([&](int k, long i) { return y(k, i) * dy(k, i); });
    team.each([&](int k, long i) {
      const A slope = y(k, i) * (dy(k, i) - sum);
      if (team.exists()) dx[i] = static_cast<T>(slope);
    });
  }
  template <class C>
  __device__ static void column(const Arguments& a, long start, long count, long pitch) {
    using T = typename C::Result;
    using A = Compute<T>;
    const T *const y = a.operand<T>(0) + start, *const dy = a.operand<T>(1) + start;
    const auto at = [=](const T* from, long i) { return static_cast<A>(from[i * pitch]); };
    const A sum = sum_of_column<A>(count, [=](long i) { return at(y, i) * at(dy, i); });
    for (long i = 0; i < count; ++i) a.result<T>()[start + i * pitch] = static_cast<T>(at(y, i) * (at(dy, i) - sum));
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Softmax> : kernel::cuda::AxisKernel<kernel::cuda::SoftmaxWork<false>> {};
template <>
struct Kernel<Cuda, ops::LogSoftmax> : kernel::cuda::AxisKernel<kernel::cuda::SoftmaxWork<true>> {};
template <>
struct Kernel<Cuda, ops::SoftmaxGrad> : kernel::cuda::AxisKernel<kernel::cuda::SoftmaxGradWork> {};

}  // namespace tenon
TENON_EXACT_END
