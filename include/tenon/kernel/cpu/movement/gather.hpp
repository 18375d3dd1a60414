// Gather, rows of a table by number, and scatter-add, the sum of rows with one number.
#pragma once
#include <tenon/kernel/cpu/elementwise/unrolled.hpp>
#include <tenon/kernel/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Row of the table for a number that may count from the end; -1 if there is none.
template <class I>
inline long table_row(I number, long rows) {
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
