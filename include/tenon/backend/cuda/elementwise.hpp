// Element-wise operators and chains of them, from the same functions of one element as on the CPU.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/index.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/backend/cuda/step/parts.hpp>

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

/// Where operand K has the elements of a group of neighbours of the result: at the same places; in a single number; in
/// one element, or in as many neighbours, of an operand that is repeated; anywhere.
enum class ReadAs { whole, number, one, row, places };
/// Of an operand that is repeated: element i of the result has element i / inner % period.
struct Repeated {
  long inner = 1, period = 0;
  template <ReadAs how>
  __device__ long at(long i) const {
    if (i >> 32) return (how == ReadAs::one ? i / inner : i) % period;
    const unsigned j = unsigned(i);  // a division of 64 bits takes several times as long
    return long((how == ReadAs::one ? j / unsigned(inner) : j) % unsigned(period));
  }
};
template <class C, int K>
constexpr Repeated repeated_operand() {
  const Affine place = broadcast_from(C::result, C::operand(K));
  int axes = place.rank;
  const bool inner = axes > 0 && place.stride[axes - 1] == 0;
  axes -= inner;
  if (axes < 1 || axes > 2 || place.stride[axes - 1] != 1 || (axes == 2 && place.stride[0] != 0)) return {};
  if (place.extent[axes - 1] < 0) return {};
  return {inner ? place.extent[place.rank - 1] : 1, place.extent[axes - 1]};
}
template <class C, int K>
constexpr ReadAs read_as() {
  constexpr int together = together_of<typename C::Result>;
  constexpr Repeated repeated = repeated_operand<C, K>();
  if (C::operand(K).same_shape(C::result)) return ReadAs::whole;
  if (C::operand(K).count(1) == 1 && !C::operand(K).batched()) return ReadAs::number;
  if (repeated.period == 0 || repeated.period >> 32 || repeated.inner >> 32) return ReadAs::places;
  if (repeated.inner > 1) return repeated.inner % together == 0 ? ReadAs::one : ReadAs::places;
  return repeated.period % together == 0 ? ReadAs::row : ReadAs::places;
}

namespace detail {
/// Stores the function of C of a group of neighbours.
template <class C, int together, class... V>
__device__ void store_function(const Arguments& a, long first, long left, const V&... v) {
  const auto at = []<class E>(const E& value, int i) {
    if constexpr (requires { value.element; }) return value.element[i];
    else return value;
  };
  using T = typename C::Result;
  Neighbours<T, together> result;
#pragma unroll
  for (int i = 0; i < together; ++i) result.element[i] = element_of<C>(at(v, i)...);
  store_neighbours(result, a.template result<T>(), first, left);
}
}  // namespace detail

/// result[i] = f(operand 0 [i], ...). A thread computes as many neighbours as 16 bytes hold. C has no shapes: calls
/// that differ in them alone share the kernel.
template <class C, ReadAs... how>
struct Elementwise {
  using T = typename C::Result;
  static constexpr int threads = 256, together = together_of<T>;

  long count;
  Repeated repeated[sizeof...(how)];

  __device__ void block(const Arguments& a) const {
    const long first = thread_of_grid() * together, left = count - first;
    if (left <= 0) return;
    [&]<int... K>(std::integer_sequence<int, K...>) {
      detail::store_function<C, together>(a, first, left, load<K, how>(a, first, left)...);
    }(std::make_integer_sequence<int, int(sizeof...(how))>());
  }

 private:
  template <int K, ReadAs as>
  __device__ auto load(const Arguments& a, long first, long left) const {
    const auto* const from = a.template operand<typename C::template Operand<K>>(K);
    if constexpr (as == ReadAs::number) return *from;
    else if constexpr (as == ReadAs::whole) return load_neighbours<together>(from, first, left);
    else if constexpr (as == ReadAs::one) return from[repeated[K].template at<as>(first)];
    else return load_neighbours<together>(from, repeated[K].template at<as>(first), together);
  }
};
/// The same with operands whose elements are anywhere, at places that are known of each shape.
template <class C>
struct ElementwiseAtPlaces {
  using T = typename C::Result;
  static constexpr int threads = 256, together = together_of<T>;

  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = result_count<C>(a.n) - first;
    if (left <= 0) return;
    [&]<int... K>(std::integer_sequence<int, K...>) {
      detail::store_function<C, together>(a, first, left, load<K>(a, first, left)...);
    }(std::make_integer_sequence<int, C::operands>());
  }

 private:
  template <int K>
  __device__ static auto load(const Arguments& a, long first, long left) {
    using E = typename C::template Operand<K>;
    const E* const from = a.template operand<E>(K);
    constexpr ReadAs as = read_as<C, K>();
    if constexpr (as == ReadAs::number) return *from;
    else if constexpr (as == ReadAs::whole) return load_neighbours<together>(from, first, left);
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
};

struct ElementwiseLaunch : Whole {
  template <class C>
  static void run(const Arguments& a, long, long) {
    [&]<int... K>(std::integer_sequence<int, K...>) {
      if constexpr (((read_as<C, K>() == ReadAs::places) || ...)) launch_blocks<ElementwiseAtPlaces<C>>(a);
      else {
        using Body = Elementwise<WithoutShapes<C>, read_as<C, K>()...>;
        const long count = result_count<C>(a.n);
        launch_blocks(Body{count, {repeated_operand<C, K>()...}}, a, blocks_for(count, Body::together * Body::threads));
      }
    }(std::make_integer_sequence<int, C::operands>());
  }
};
struct ElementwiseKernel : ElementwiseLaunch {
  static constexpr KernelFacts facts{.in_place = true};
  using Chain = ops::Fused;
};

}  // namespace kernel::cuda

/// Every operator with an eval, ours or a user's.
template <class Op>
requires(Op::elementwise && requires { typename Op::Function; })
struct Kernel<Cuda, Op> : kernel::cuda::ElementwiseKernel {};
template <>
struct Kernel<Cuda, ops::Fused> : kernel::cuda::ElementwiseKernel {};

}  // namespace tenon
TENON_EXACT_END
