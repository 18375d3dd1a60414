// Group normalization and its gradients: a team of threads per group for its moments, per channel for sums.
#pragma once
#include <tenon/backend/cpu/norm/group_norm.hpp>
#include <tenon/backend/cuda/epilogue.hpp>
#include <tenon/backend/cuda/norm/layer_norm.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

template <class C>
struct MomentsOfGroups {
  using Layout = GroupLayout<C>;
  using Team = RowTeam<Layout::size>;
  static constexpr int threads = Team::threads;
  TENON_DEVICE static long rows(long n) { return Layout::samples(n) * Layout::groups; }
  static long blocks(long n) { return Team::blocks(rows(n)); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::template Operand<0>;
    using A = typename C::Result;
    constexpr A epsilon = A(C::config().epsilon);
    const Team team(rows(a.n), 0);
    const RowValues<Team, T> x(team, a.operand<T>(0) + team.row() * Layout::size);
    const NormMoments<A> m = moments_of_row<A>(team, x, epsilon);
    A* const to = a.result<A>() + 2 * team.row();
    if (team.is_first()) to[0] = m.mean, to[1] = m.inverse;
  }
};

/// Sums of dy and of dy xhat over planes.
template <class C>
struct SumsOfPlanes {
  using Layout = GroupLayout<C>;
  using Team = RowTeam<Layout::spatial>;
  static constexpr int threads = Team::threads;
  TENON_DEVICE static long rows(long n) { return Layout::samples(n) * Layout::channels; }
  static long blocks(long n) { return Team::blocks(rows(n)); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::template Operand<0>;
    using A = typename C::Result;
    const Team team(rows(a.n), 0);
    const long start = team.row() * Layout::spatial;
    const RowValues<Team, T> x(team, a.operand<T>(0) + start), dy(team, a.operand<T>(2) + start);
    const GroupPlane<C, 1> of(a, team.row());
    const A first = team.template sum<A>([&](int k, long i) { return static_cast<A>(dy(k, i)); });
    const A second = team.template sum<A>(
        [&](int k, long i) { return static_cast<A>(dy(k, i)) * ((static_cast<A>(x(k, i)) - of.mean) * of.inverse); });
    A* const to = a.result<A>() + 2 * of.sample * Layout::channels + of.channel;
    if (team.is_first()) to[0] = first, to[Layout::channels] = second;
  }
};

/// Elements with what those of a plane have in common. A thread computes as many neighbours as 16 bytes hold.
template <class C, class Terms, int... Inputs>
struct PerPlane {
  using T = typename C::Result;
  static constexpr long spatial = GroupLayout<C>::spatial;
  static constexpr int threads = 256, together = spatial % together_of<T> == 0 ? together_of<T> : 1;
  static long blocks(long n) { return blocks_for(result_count<C>(n), threads * together); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together;
    if (first >= result_count<C>(a.n)) return;
    const Terms terms(a, first / spatial);
    store_results<C>(a, first, terms.channel,
                     results(terms, load_neighbours<together>(a.operand<T>(Inputs), first, together)...));
  }

 private:
  template <class... Values>
  __device__ static Neighbours<T, together> results(const Terms& terms, const Values&... values) {
    Neighbours<T, together> result;
#pragma unroll
    for (int i = 0; i < together; ++i) result.element[i] = static_cast<T>(terms(values.element[i]...));
    return result;
  }
};
template <class C>
using GroupNormElements = PerPlane<C, GroupNormTerms<C>, 0>;
template <class C>
using GroupGradientElements = PerPlane<C, GroupGradientTerms<C>, 0, 4>;

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::GroupNormMoments> : kernel::cuda::Launches<kernel::cuda::MomentsOfGroups> {};
template <>
struct Kernel<Cuda, ops::GroupNorm> : kernel::cuda::Launches<kernel::cuda::GroupNormElements> {
  static constexpr KernelFacts facts{.epilogue = true, .channel_axis = 1, .cheap = true};
};
template <>
struct Kernel<Cuda, ops::GroupNormSums> : kernel::cuda::Launches<kernel::cuda::SumsOfPlanes> {};
template <>
struct Kernel<Cuda, ops::GroupNormInputGrad> : kernel::cuda::Launches<kernel::cuda::GroupGradientElements> {};

}  // namespace tenon
TENON_EXACT_END
