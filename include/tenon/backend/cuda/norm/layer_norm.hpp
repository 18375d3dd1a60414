// Layer normalization and its gradients: a team of threads per row.
#pragma once
#include <tenon/backend/cpu/norm/layer_norm.hpp>
#include <tenon/backend/cuda/attention/softmax.hpp>
#include <tenon/backend/cuda/reduce/columns.hpp>
#include <tenon/backend/cuda/reduce/narrow_columns.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The rows of C that are normalized, and the parts of its kernels that are the same.
template <class C>
struct LayerNormRows {
  static constexpr long width = C::operand(1).count(1);
  using Team = RowTeam<width>;
  static constexpr int threads = Team::threads;
  TENON_DEVICE static long rows(long n) { return width ? operand_count<C, 0>(n) / width : 0; }
  static long blocks(long n) { return Team::blocks(rows(n)); }
};

/// As norm_moments, in all threads of a row.
template <class A, class Team, class Values>
__device__ NormMoments<A> moments_of_row(const Team& team, const Values& x, A epsilon) {
  const A count = static_cast<A>(team.count());
  const A mean = team.template sum<A>([&](int k, long i) { return static_cast<A>(x(k, i)); }) / count;
  const A distances = team.template sum<A>([&](int k, long i) { return static_cast<A>(x(k, i)) - mean; });
  const A squares = team.template sum_by<A>([&](A& total, int k, long i) {
    const A distance = static_cast<A>(x(k, i)) - mean;
    total = fmadd(distance, distance, total);
  });
  const Moments<A> moments = corrected_moments(mean, distances, squares, count);
  return {moments.mean, A(1) / math::sqrt(moments.deviation / count + epsilon)};
}

template <class C>
struct NormalizedRows : LayerNormRows<C> {
  using Rows = LayerNormRows<C>;
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    using A = typename C::template Operand<1>;
    constexpr A epsilon = A(C::config().epsilon);
    const typename Rows::Team team(Rows::rows(a.n), 0);
    const RowValues<typename Rows::Team, T> x(team, a.operand<T>(0) + team.row() * Rows::width);
    const NormMoments<A> m = moments_of_row<A>(team, x, epsilon);
    T* const y = a.result<T>() + team.row() * Rows::width;
    const A *const gamma = a.operand<A>(1), *const beta = a.operand<A>(2);
    team.each([&](int k, long i) {
      const A value = (static_cast<A>(x(k, i)) - m.mean) * m.inverse * gamma[i] + beta[i];
      if (team.exists()) y[i] = static_cast<T>(value);
    });
  }
};
template <class C>
struct MomentsOfRows : LayerNormRows<C> {
  using Rows = LayerNormRows<C>;
  __device__ static void block(const Arguments& a) {
    using T = typename C::template Operand<0>;
    using A = typename C::Result;
    constexpr A epsilon = A(C::config().epsilon);
    const typename Rows::Team team(Rows::rows(a.n), 0);
    const RowValues<typename Rows::Team, T> x(team, a.operand<T>(0) + team.row() * Rows::width);
    const NormMoments<A> m = moments_of_row<A>(team, x, epsilon);
    A* const to = a.result<A>() + 2 * team.row();
    if (team.is_first()) to[0] = m.mean, to[1] = m.inverse;
  }
};
template <class C>
struct LayerNormSlopes : LayerNormRows<C> {
  using Rows = LayerNormRows<C>;
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    using A = typename C::template Operand<1>;
    constexpr long width = Rows::width;
    const typename Rows::Team team(Rows::rows(a.n), 0);
    const long row = team.row();
    const RowValues<typename Rows::Team, T> x(team, a.operand<T>(0) + row * width),
        dy(team, a.operand<T>(3) + row * width);
    const A* const gamma = a.operand<A>(1);
    const A mean = a.operand<A>(2)[2 * row], inverse = a.operand<A>(2)[2 * row + 1];
    const A first = team.template sum<A>([&](int k, long i) { return static_cast<A>(dy(k, i)) * gamma[i]; });
    const A second = team.template sum<A>(
        [&](int k, long i) { return static_cast<A>(dy(k, i)) * gamma[i] * (static_cast<A>(x(k, i)) - mean); });
    const A average = first / A(width), slope = second / A(width) * inverse * inverse;
    T* const dx = a.result<T>() + row * width;
    team.each([&](int k, long i) {
      const A value =
          inverse * (static_cast<A>(dy(k, i)) * gamma[i] - average - (static_cast<A>(x(k, i)) - mean) * slope);
      if (team.exists()) dx[i] = static_cast<T>(value);
    });
  }
};

/// Sums over rows of dy xhat, or of dy.
template <class C>
struct GammaSums {
  using A = typename C::Result;
  using T = typename C::template Operand<0>;
  static constexpr int sums = 1;
  static constexpr long columns = LayerNormRows<C>::width;
  const Arguments& a;
  long column;

  __device__ static bool skipped(const Arguments&) { return false; }
  __device__ void skip() const {}
  TENON_DEVICE static long rows(long n) { return LayerNormRows<C>::rows(n); }
  __device__ GammaSums(const Arguments& arguments, long c) : a(arguments), column(c) {}
  template <int>
  __device__ void add(A& total, long row) const {
    constexpr bool of_beta = C::config().beta != 0;
    const long i = row * columns + column;
    const A g = static_cast<A>(a.operand<T>(3)[i]);
    if constexpr (of_beta) total += g;
    else {
      const A* const moments = a.operand<A>(2) + 2 * row;
      total += g * ((static_cast<A>(a.operand<T>(0)[i]) - moments[0]) * moments[1]);
    }
  }
  __device__ void store(const A (&total)[sums]) const { a.result<A>()[column] = total[0]; }
};

/// The same for few columns: dy xhat, or dy.
template <class T, class Moment>
struct GammaColumns {
  using A = Moment;
  const T *x, *dy;
  const A* moments;
  A* sums;
  long rows, columns;
  bool of_beta;

  __device__ A chain(long begin, long column) const {
    if (of_beta)
      return sum_of_chain<A>(begin, rows, [&](long row) { return static_cast<A>(dy[row * columns + column]); });
    return sum_of_chain<A>(begin, rows, [&](long row) {
      const long i = row * columns + column;
      const A mean = moments[2 * row], inverse = moments[2 * row + 1];
      return static_cast<A>(dy[i]) * ((static_cast<A>(x[i]) - mean) * inverse);
    });
  }
  __device__ void store(long column, A total) const { sums[column] = total; }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::LayerNorm> : kernel::cuda::Launches<kernel::cuda::NormalizedRows> {};
template <>
struct Kernel<Cuda, ops::LayerNormMoments> : kernel::cuda::Launches<kernel::cuda::MomentsOfRows> {};
template <>
struct Kernel<Cuda, ops::LayerNormInputGrad> : kernel::cuda::Launches<kernel::cuda::LayerNormSlopes> {};
template <>
struct Kernel<Cuda, ops::LayerNormGammaGrad> : kernel::cuda::Whole {
  template <class Call>
  using Columns = kernel::cuda::GammaColumns<typename Call::template Operand<0>, typename Call::Result>;
  template <class Call>
  static constexpr bool is_narrow(long n) {
    using Rows = kernel::cuda::LayerNormRows<Call>;
    return kernel::cuda::SumNarrowColumns<Columns<Call>>::fits(Rows::rows(n), Rows::width);
  }
  template <class Call>
  static constexpr long workspace(long n) {
    return is_narrow<Call>(n) ? 0 : kernel::cuda::ColumnTiles<kernel::cuda::GammaSums<Call>>::bytes(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Rows = kernel::cuda::LayerNormRows<Call>;
    using T = typename Call::template Operand<0>;
    using A = typename Call::Result;
    if (!is_narrow<Call>(a.n)) return kernel::cuda::sum_columns<kernel::cuda::GammaSums<Call>>(a);
    kernel::cuda::launch_part<kernel::cuda::SumNarrowColumns<Columns<Call>>>(
        {a.operand<T>(0), a.operand<T>(3), a.operand<A>(2), a.result<A>(), Rows::rows(a.n), Rows::width,
         Call::config().beta != 0});
  }
};

}  // namespace tenon
TENON_EXACT_END
