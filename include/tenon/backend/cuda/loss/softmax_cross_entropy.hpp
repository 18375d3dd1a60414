// Softmax and cross entropy of a row of logits, and the gradient.
#pragma once
#include <tenon/backend/cuda/attention/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct SoftmaxCrossEntropy;
struct SoftmaxCrossEntropyGrad;
}  // namespace ops

namespace kernel::cuda {

/// Rows of the logits of C.
template <class C>
struct LogitRows {
  using Team = RowTeam<C::operand(0).last()>;
  static constexpr int threads = Team::threads;
  static constexpr bool sparse = C::operand(1).rank < C::operand(0).rank;
  // as many as losses, or as gradients of these: rows may have no class
  TENON_DEVICE static long rows(long n) {
    if constexpr (C::operands == 2) return result_count<C>(n);
    else return operand_count<C, 2>(n);
  }
  static long blocks(long n) { return Team::blocks(rows(n)); }
};

template <class C>
struct CrossEntropy : LogitRows<C> {
  using Rows = LogitRows<C>;
  __device__ static void block(const Arguments& a) { of_row(a, typename Rows::Team(Rows::rows(a.n), 0)); }
  __device__ static void of_row(const Arguments& a, const typename Rows::Team& team) {
    using T = typename C::Result;
    using A = Compute<T>;
    using L = typename C::template Operand<1>;
    const long row = team.row(), classes = team.count();
    const T* const logits = a.operand<T>(0) + row * classes;
    const RowValues<typename Rows::Team, T> x(team, logits);
    const A most = team.template largest<A>(x);
    const A total = math::log(team.template sum<A>([&](int k, long i) { return math::exp(x(k, i) - most); }));
    A loss;
    if constexpr (Rows::sparse) {
      const long label = static_cast<long>(a.operand<L>(1)[row]);
      const A of_label = label >= 0 && label < classes ? static_cast<A>(logits[label]) : A(0);
      loss = total - (of_label - most);
    } else {
      const L* const label = a.operand<L>(1) + row * classes;
      loss = team.template sum<A>([&](int k, long i) { return static_cast<A>(label[i]) * (total - (x(k, i) - most)); });
    }
    if (team.is_first()) a.result<T>()[row] = static_cast<T>(loss);
  }
};

template <class C>
struct CrossEntropyGrad : LogitRows<C> {
  using Rows = LogitRows<C>;
  __device__ static void block(const Arguments& a) { of_row(a, typename Rows::Team(Rows::rows(a.n), 0)); }
  __device__ static void of_row(const Arguments& a, const typename Rows::Team& team) {
    using T = typename C::Result;
    using A = Compute<T>;
    using L = typename C::template Operand<1>;
    const long row = team.row(), classes = team.count();
    RowValues<typename Rows::Team, T> x(team, a.operand<T>(0) + row * classes);
    const L* const label = a.operand<L>(1) + (Rows::sparse ? row : row * classes);
    T* const dx = a.result<T>() + row * classes;
    const A gradient = static_cast<A>(a.operand<T>(2)[row]), most = team.template largest<A>(x);
    const A sum = team.template sum<A>([&](int k, long i) {
      const A power = math::exp(x(k, i) - most);
      if constexpr (Rows::Team::kept) x.value[k] = power;
      return power;
    });
    const auto share = [&](int k, long i) {
      if constexpr (Rows::Team::kept) return x.value[k] / sum;
      else return math::exp(x(k, i) - most) / sum;
    };
    [[maybe_unused]] A weight = 1;  // a distribution that does not add up to 1 scales its softmax
    if constexpr (!Rows::sparse) weight = team.template sum<A>([&](int, long i) { return static_cast<A>(label[i]); });
    team.each([&](int k, long i) {
      A slope;
      if constexpr (!Rows::sparse) slope = (share(k, i) * weight - static_cast<A>(label[i])) * gradient;
      else if (static_cast<long>(*label) == i) slope = (share(k, i) - A(1)) * gradient;
      else slope = share(k, i) * gradient;
      if (team.exists()) dx[i] = static_cast<T>(slope);
    });
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::SoftmaxCrossEntropy> : kernel::cuda::Launches<kernel::cuda::CrossEntropy> {};
template <>
struct Kernel<Cuda, ops::SoftmaxCrossEntropyGrad> : kernel::cuda::Launches<kernel::cuda::CrossEntropyGrad> {};

}  // namespace tenon
TENON_EXACT_END
