// Gather, rows of a table by number, and scatter-add, the sum of rows with one number.
#pragma once
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Row of the table for a number that may count from the end; -1 if there is none.
template <class I>
TENON_DEVICE inline long table_row(I number, long rows) {
  const long row = long(number) < 0 ? long(number) + rows : long(number);
  return row >= 0 && row < rows ? row : -1;
}

/// result[i] = table[index[i]], zeros where there is no such row; rows i = begin .. end - 1 of `length` elements.
template <class T, class I>
inline void gather(const T* table, long rows, long length, const I* index, T* result, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const long row = table_row(index[i], rows);
    T* const to = result + i * length;
    if (row < 0) __builtin_memset(static_cast<void*>(to), 0, std::size_t(length) * sizeof(T));
    else __builtin_memcpy(static_cast<void*>(to), table + row * length, std::size_t(length) * sizeof(T));
  }
}

/// result[row] = sum of values[i] over ascending i with index[i] = row, for rows begin .. end - 1. Sums are carried in
/// A; if that is not T, `sums` has room for `sum_rows` rows.
template <class A, class T, class I>
inline void scatter_add(const I* index, long indices, const T* values, long rows, long length, T* result, long begin,
                        long end, A* sums, long sum_rows) {
  constexpr bool in_place = std::is_same_v<A, T>;
  if constexpr (in_place) sum_rows = end - begin;
  for (long first = begin; first < end; first += sum_rows) {
    const long last = first + sum_rows < end ? first + sum_rows : end;
    A* target;
    if constexpr (in_place) target = result + first * length;
    else target = sums;
    for (long k = 0; k < (last - first) * length; ++k) target[k] = A(0);
    for (long i = 0; i < indices; ++i) {
      const long row = table_row(index[i], rows);
      if (row < first || row >= last) continue;
      A* const to = target + (row - first) * length;
      const T* const from = values + i * length;
      store_unrolled(to, length, [to, from](long k) { return static_cast<A>(to[k] + static_cast<A>(from[k])); });
    }
    if constexpr (!in_place)
      for (long k = 0; k < (last - first) * length; ++k) result[first * length + k] = static_cast<T>(target[k]);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct Gather;
struct GatherGrad;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::Gather> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr TensorType table = Call::operand(0);
    kernel::gather(a.operand<T>(0), table[0], table.span(1, table.rank),
                   a.operand<typename Call::template Operand<1>>(1), a.result<T>(), begin, end);
  }
};

template <>
struct Kernel<Cpu, ops::GatherGrad> {
  template <class Call>
  using Sum =
      std::conditional_t<is_floating(Call::result.dtype), Accumulator<typename Call::Result>, typename Call::Result>;
  template <class Call>
  static constexpr long length = Call::result.span(1, Call::result.rank);
  template <class Call>
  static constexpr long sum_rows = length<Call> > 16384 ? 1 : 16384 / (length<Call> ? length<Call> : 1);
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(1).count(n) / (Call::result[0] + 1) + length<Call>;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return std::is_same_v<Sum<Call>, typename Call::Result> ? 0
                                                            : sum_rows<Call> * length<Call> * long(sizeof(Sum<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using I = typename Call::template Operand<0>;
    kernel::scatter_add(a.operand<I>(0), Call::operand(0).count(a.n), a.operand<T>(1), Call::result[0], length<Call>,
                        a.result<T>(), begin, end, reinterpret_cast<Sum<Call>*>(a.workspace), sum_rows<Call>);
  }
};

}  // namespace tenon
