// Element-wise operators and chains of them, from the same functions of one element as on the CPU.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/index.hpp>
#include <tenon/backend/cuda/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The function of one element of C: that of its kernel, its operator's, or the fused steps.
template <class C, class... V>
__device__ typename C::Result element_of(V... v) {
  using T = typename C::Result;
  if constexpr (C::steps > 0) return static_cast<T>(FusedFunction<T, typename C::Joined>()(v...));
  else if constexpr (requires { Kernel<Cuda, typename C::Op>::template element<T>(v...); })
    return Kernel<Cuda, typename C::Op>::template element<T>(v...);
  else if constexpr (requires { requires tenon::detail::is_set(C::Op::copies); })
    return (v, ...);  // a NaN of 16 bits stays as it is
  else return static_cast<T>(C::Op::evaluate(v...));
}

/// result[i] = f(operand 0 [i], ...). A thread computes as many neighbours as 16 bytes hold.
template <class C>
struct Elementwise {
  using T = typename C::Result;
  static constexpr int threads = 256, together = together_of<T>;

  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = result_count<C>(a.n) - first;
    if (left <= 0) return;
    [&]<int... K>(std::integer_sequence<int, K...>) {
      apply(a, first, left, load<K>(a, first, left)...);
    }(std::make_integer_sequence<int, C::operands>());
  }

 private:
  // An operand that has a row per element of the result, and one that has a single number, need no look-up.
  template <int K>
  static constexpr bool whole = C::operand(K).same_shape(C::result);
  template <int K>
  static constexpr bool number = C::operand(K).count(1) == 1 && !C::operand(K).batched();

  template <int K>
  __device__ static auto load(const Arguments& a, long first, long left) {
    using E = typename C::template Operand<K>;
    const E* const from = a.template operand<E>(K);
    if constexpr (number<K>) return *from;
    else if constexpr (whole<K>) return load_neighbours<together>(from, first, left);
    else {
      constexpr Affine place = broadcast_from(C::result, C::operand(K));
      if constexpr (place.repeats() % together == 0) return from[place.offset(first, a.n)];
      else if constexpr (place.run() % together == 0)
        return load_neighbours<together>(from, place.offset(first, a.n), together);
      else {
        Neighbours<E, together> own;
#pragma unroll
        for (int i = 0; i < together; ++i) own.element[i] = from[place.offset(first + (i < left ? i : left - 1), a.n)];
        return own;
      }
    }
  }
  template <class... V>
  __device__ static void apply(const Arguments& a, long first, long left, const V&... v) {
    const auto at = []<class E>(const E& value, int i) {
      if constexpr (requires { value.element; }) return value.element[i];
      else return value;
    };
    Neighbours<T, together> result;
#pragma unroll
    for (int i = 0; i < together; ++i) result.element[i] = element_of<C>(at(v, i)...);
    store_neighbours(result, a.template result<T>(), first, left);
  }
};

}  // namespace kernel::cuda

/// Every operator with an eval, ours or a user's.
template <class Op>
requires(Op::elementwise && requires { typename Op::Function; })
struct Kernel<Cuda, Op> : kernel::cuda::Launches<kernel::cuda::Elementwise> {
  static constexpr KernelFacts facts{.in_place = true};
  using Chain = ops::Fused;
};
template <>
struct Kernel<Cuda, ops::Fused> : kernel::cuda::Launches<kernel::cuda::Elementwise> {
  static constexpr KernelFacts facts{.in_place = true};
  using Chain = ops::Fused;
};

}  // namespace tenon
TENON_EXACT_END
