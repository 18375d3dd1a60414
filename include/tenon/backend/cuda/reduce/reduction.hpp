// The kernel of every ops::Reduction, and of the derivatives of means and products.
#pragma once
#include <tenon/backend/cpu/reduce/others_product.hpp>
#include <tenon/backend/cuda/index.hpp>
#include <tenon/backend/cuda/reduce/reduce.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ReduceMax;
struct ReduceMin;
struct ReduceMeanGrad;
}

namespace kernel::cuda {

template <class Op>
struct CombineBy {
  template <class A>
  TENON_DEVICE static constexpr A initial() {
    return Op::template start<A>();
  }
  template <class A>
  TENON_DEVICE A operator()(A a, A b) const {
    return Op::combine(a, b);
  }
};
struct FinishByOperator {
  template <class C, class A>
  __device__ static typename C::Result of(A total, long n) {
    const long results = result_count<C>(n), count = operand_count<C, 0>(n) / (results ? results : 1);
    if constexpr (requires { C::Op::divisor(count); }) {
      if constexpr (std::is_floating_point_v<A>)
        return static_cast<typename C::Result>(total / static_cast<A>(C::Op::divisor(count)));
      else return static_cast<typename C::Result>(total);
    } else return static_cast<typename C::Result>(C::Op::finish(total, count));
  }
};

/// The first of the largest elements, or of the smallest, is the same however they are grouped.
template <class Op>
inline constexpr bool groups_do_not_matter = std::is_same_v<Op, ops::ReduceMax> || std::is_same_v<Op, ops::ReduceMin>;

template <class C>
constexpr auto reduction_of() {
  using Op = typename C::Op;
  using A = decltype(Op::template accumulator<typename C::Result>());
  using X = typename decltype(Op::template element<typename C::Result>())::type;
  constexpr unsigned mask = unsigned(C::config().mask);
  if constexpr (requires { Op::divisor(1l); }) return Reduced<C, mask, A, Add, FinishByOperator, true, X>();
  else return Reduced<C, mask, A, CombineBy<Op>, FinishByOperator, groups_do_not_matter<Op>>();
}

/// dy / count repeated along the reduced axes.
struct MeanGradient {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    using T = typename C::Result;
    constexpr Affine place = broadcast_from(C::result, C::operand(0));
    const Compute<T> count = static_cast<Compute<T>>(result_count<C>(a.n) / operand_count<C, 0>(a.n));
    const T gradient = a.operand<T>(0)[place.offset(i, a.n)];
    a.result<T>()[i] = static_cast<T>(static_cast<Compute<T>>(gradient) / count);
  }
};

/// A thread per product, as on the CPU. Products of the elements before each are in the workspace.
template <class C>
struct OthersProduct {
  static constexpr int threads = 64;
  static long blocks(long n) { return blocks_for(operand_count<C, 1>(n), threads); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    using A = Accumulator<T>;
    constexpr TensorType type = C::result;
    constexpr unsigned mask = unsigned(C::config().mask);
    const long products = operand_count<C, 1>(a.n), kept = thread_of_grid();
    if (kept >= products) return;
    const long count = result_count<C>(a.n) / products, start = masked_offset(type, ~mask, a.n, kept);
    const T *const x = a.operand<T>(0), *const dy = a.operand<T>(1);
    A* const before = reinterpret_cast<A*>(a.workspace);
    A product = 1;
    for (long i = 0; i < count; ++i) {
      before[i * products + kept] = product;
      product *= static_cast<A>(x[start + masked_offset(type, mask, a.n, i)]);
    }
    A behind = static_cast<A>(dy[kept]);
    for (long i = count; i-- > 0;) {
      const long at = start + masked_offset(type, mask, a.n, i);
      a.result<T>()[at] = static_cast<T>(before[i * products + kept] * behind);
      behind *= static_cast<A>(x[at]);
    }
  }
};

}  // namespace kernel::cuda

template <class Op>
requires requires {
  typename Op::Combine;
  Op::template accumulator<float>();
}
struct Kernel<Cuda, Op> : kernel::cuda::Whole {
  template <class Call>
  using Reduction = decltype(kernel::cuda::reduction_of<Call>());
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::reduce_workspace<Reduction<Call>>(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    kernel::cuda::reduce_there<Reduction<Call>>(a);
  }
};
template <>
struct Kernel<Cuda, ops::ReduceMeanGrad> : kernel::cuda::Elements<kernel::cuda::MeanGradient> {};
template <>
struct Kernel<Cuda, ops::ReduceProdGrad> : kernel::cuda::Launches<kernel::cuda::OthersProduct> {
  template <class Call>
  static constexpr long workspace(long n) {
    return Call::result.count(n) * long(sizeof(Accumulator<typename Call::Result>));
  }
};

}  // namespace tenon
TENON_EXACT_END
