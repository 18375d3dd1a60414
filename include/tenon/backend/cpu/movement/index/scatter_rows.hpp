// Rows by number: their places from several numbers, their sums, other rows in their place.
#pragma once
#include <tenon/backend/cpu/movement/index/gather_elements.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct FlatNumber;
struct UnsortedSegmentSum;
struct UpdateRows;
enum class RowUpdate : int;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::UnsortedSegmentSum> : Kernel<Cpu, ops::GatherGrad> {};

template <>
struct Kernel<Cpu, ops::FlatNumber> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using I = typename Call::Result;
    constexpr I extent = I(Call::config().extent);
    const I* const number = a.operand<I>(Call::operands - 1);
    kernel::store_unrolled(a.result<I>() + begin, end - begin, [&](long i) {
      const I own = kernel::known_row(number[begin + i], extent);
      if constexpr (Call::operands == 1) return own;
      else return static_cast<I>(a.operand<I>(0)[begin + i] * extent + own);
    });
  }
};

template <>
struct Kernel<Cpu, ops::UpdateRows> {
  template <class Call>
  static constexpr long length = Call::result.span(1, Call::result.rank);
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(0).count(n) / (Call::result[0] + 1) + length<Call>;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long size = length<Call>;
    constexpr int update = int(Call::config().update);
    T* const y = a.result<T>();
    std::memcpy(static_cast<void*>(y + begin * size), a.operand<T>(2) + begin * size,
                std::size_t((end - begin) * size) * sizeof(T));
    for (long i = 0; i < Call::operand(0).count(a.n); ++i) {
      const long row = kernel::table_row(a.operand<typename Call::template Operand<0>>(0)[i], Call::result[0]);
      if (row < begin || row >= end) continue;
      const T* const from = a.operand<T>(1) + i * size;
      for (long k = 0; k < size; ++k) y[row * size + k] = kernel::updated<update>(y[row * size + k], from[k]);
    }
  }
};

}  // namespace tenon
