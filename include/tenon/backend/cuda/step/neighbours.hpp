// Elements that a thread loads and stores with one instruction: what 16 bytes hold.
#pragma once
#include <bit>

#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

template <class E, int count>
struct alignas(sizeof(E) * count) Neighbours {
  E element[count];
};
/// How many elements of T have 16 bytes.
template <class T>
inline constexpr int together_of = 16 / int(sizeof(T)) > 1 ? 16 / int(sizeof(T)) : 1;

template <int count>
struct alignas(4 * count) Words {
  std::uint32_t word[count];
};

/// Element `first` of `from` and those after it, of which there are `left`. Beyond the last one, that one.
template <int count, class E>
__device__ Neighbours<E, count> load_neighbours(const E* from, long first, long left) {
  Neighbours<E, count> own;
  from += first;
  if (left >= count && reinterpret_cast<std::uintptr_t>(from) % sizeof own == 0) {
    // nvcc loads small elements by fours
    if constexpr (sizeof(E) < 4 && sizeof own > 4 * sizeof(E))
      return std::bit_cast<Neighbours<E, count>>(*reinterpret_cast<const Words<int(sizeof own) / 4>*>(from));
    else return *reinterpret_cast<const Neighbours<E, count>*>(from);
  }
#pragma unroll
  for (int i = 0; i < count; ++i) own.element[i] = from[i < left ? i : left - 1];
  return own;
}
template <class E, int count>
__device__ void store_neighbours(const Neighbours<E, count>& own, E* to, long first, long left) {
  to += first;
  if (left >= count && reinterpret_cast<std::uintptr_t>(to) % sizeof own == 0)
    *reinterpret_cast<Neighbours<E, count>*>(to) = own;
  else {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (i < left) to[i] = own.element[i];
  }
}

/// Base of a body in which `Value::value<Call>(a, i)` is element i of the result.
template <class Value, class C>
struct PerValue {
  using T = typename C::Result;
  static constexpr int threads = 256, together = together_of<T>;
  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = result_count<C>(a.n) - first;
    if (left <= 0) return;
    Neighbours<T, together> own;
#pragma unroll
    for (int i = 0; i < together; ++i) own.element[i] = Value::template value<C>(a, first + (i < left ? i : left - 1));
    store_neighbours(own, a.template result<T>(), first, left);
  }
};
/// Base of a kernel with such a body: `struct Kernel<Cuda, ops::X> : Values<Kernel<Cuda, ops::X>>`.
template <class Value>
struct Values : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<PerValue<Value, Call>>(a);
  }
};

}  // namespace tenon::kernel::cuda
