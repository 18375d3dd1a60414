// Argmax and argmin: where the largest or smallest element along an axis is.
#pragma once
#include <tenon/backend/cpu/reduce/argmax.hpp>
#include <tenon/backend/cuda/attention/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// A half warp per row, or a thread per column.
template <class C>
struct BestIndex {
  using Along = AlongAxis<C>;
  using T = typename C::template Operand<0>;
  static constexpr int threads = 128;
  static constexpr bool on_rows = Along::inner == 1;
  static long blocks(long n) { return blocks_for(Along::outer(n) * Along::inner, on_rows ? threads / lanes : threads); }

  struct Best {
    Compute<T> value;
    std::int32_t at;
    // the first of equal ones; a NaN is better than a number
    __device__ void take(Best other) {
      constexpr bool smallest = C::config().smallest != 0;
      const bool equal = other.value == value || (other.value != other.value && value != value);
      if (equal ? other.at < at : is_better<smallest>(other.value, value)) *this = other;
    }
  };
  __device__ static void block(const Arguments& a) {
    constexpr long inner = Along::inner;
    const long count = Along::count(a.n), results = Along::outer(a.n) * inner,
               own = on_rows ? thread_of_grid() / lanes : thread_of_grid(), result = own < results ? own : results - 1;
    const T* const x = a.operand<T>(0) + result / inner * count * inner + result % inner;
    const long first = on_rows && lane_of_row() < count ? lane_of_row() : 0, step = on_rows ? lanes : 1;
    Best best{count == 0 ? Compute<T>(0) : static_cast<Compute<T>>(x[first * inner]), std::int32_t(first)};
    for (long i = first + step; i < count; i += step)
      best.take({static_cast<Compute<T>>(x[i * inner]), std::int32_t(i)});
    if constexpr (on_rows) {
#pragma unroll
      for (int half = lanes / 2; half > 0; half /= 2)
        best.take({static_cast<Compute<T>>(__shfl_down_sync(~0u, best.value, half, lanes)),
                   __shfl_down_sync(~0u, best.at, half, lanes)});
    }
    if (own < results && (!on_rows || lane_of_row() == 0)) a.result<std::int32_t>()[result] = best.at;
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::ArgMax> : kernel::cuda::Launches<kernel::cuda::BestIndex> {};

}  // namespace tenon
TENON_EXACT_END
