// Element-wise operators and chains of them, from the same functions of one element as on the CPU.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The function of one element of C: its operator's, or the fused steps.
template <class C, class... V>
__device__ typename C::Result element_of(V... v) {
  if constexpr (C::steps > 0)
    return static_cast<typename C::Result>(FusedFunction<typename C::Result, typename C::Joined>()(v...));
  else return static_cast<typename C::Result>(C::Op::evaluate(v...));
}

/// result[i] = f(operand 0 [i], ...). A thread computes as many neighbours as 16 bytes hold.
template <class C>
struct Elementwise {
  using T = typename C::Result;
  static constexpr int threads = 256, together = 16 / int(sizeof(T)) > 1 ? 16 / int(sizeof(T)) : 1;
  static constexpr int operands = C::operands;
  template <int K>
  static constexpr bool whole = C::operand(K).same_shape(C::result);
  template <int K>
  static constexpr bool number = C::operand(K).count(1) == 1 && !C::operand(K).batched();
  // A row of one operand per element of the result, and nothing to look up.
  static constexpr bool flat = []<int... K>(std::integer_sequence<int, K...>) {
    return ((whole<K> || number<K>) && ...);
  }(std::make_integer_sequence<int, operands>());

  template <class E>
  struct alignas(sizeof(E) * together) Neighbours {
    E element[together];
  };

  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) { each(a, std::make_integer_sequence<int, operands>()); }

 private:
  template <int... K>
  __device__ static void each(const Arguments& a, std::integer_sequence<int, K...> k) {
    const long count = result_count<C>(a.n), first = thread_of_grid() * together;
    if (first >= count) return;
    if constexpr (flat) {
      if (first + together <= count && (aligned_for<T>(a.buffer[0]) && ... && fits<K>(a)))
        return neighbours(a, first, k);
    }
    const long end = first + together < count ? first + together : count;
    for (long i = first; i < end; ++i) a.template result<T>()[i] = element_of<C>(one<K>(a, i)...);
  }
  template <int... K>
  __device__ static void neighbours(const Arguments& a, long first, std::integer_sequence<int, K...>) {
    const auto load = [&]<int I>(std::integral_constant<int, I>) {
      using E = typename C::template Operand<I>;
      if constexpr (whole<I>) return *reinterpret_cast<const Neighbours<E>*>(a.template operand<E>(I) + first);
      else return *a.template operand<E>(I);
    };
    const auto at = []<class V>(const V& v, int i) {
      if constexpr (requires { v.element; }) return v.element[i];
      else return v;
    };
    const auto apply = [&](const auto&... v) {
      Neighbours<T> result;
#pragma unroll
      for (int i = 0; i < together; ++i) result.element[i] = element_of<C>(at(v, i)...);
      *reinterpret_cast<Neighbours<T>*>(a.template result<T>() + first) = result;
    };
    apply(load(std::integral_constant<int, K>())...);
  }
  template <class E>
  __device__ static bool aligned_for(const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(Neighbours<E>) == 0;
  }
  template <int K>
  __device__ static bool fits(const Arguments& a) {
    if constexpr (whole<K>) return aligned_for<typename C::template Operand<K>>(a.buffer[K + 1]);
    else return true;
  }
  template <int K>
  __device__ static auto one(const Arguments& a, long i) {
    using E = typename C::template Operand<K>;
    constexpr TensorType out = C::result, t = C::operand(K);
    return a.template operand<E>(K)[broadcast_offset(out, t, i)];
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
