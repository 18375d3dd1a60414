// Copies a strided matrix into rows of the accumulator's type, and such rows back into a strided matrix.
#pragma once
#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// to[i * to_row + j] = from[i * from_row + j] for n elements, widened or rounded once.
template <class From, class To>
[[gnu::always_inline]] inline void copy_row(const From* from, To* to, long n) {
  long j = 0;
  if constexpr (std::is_same_v<From, To>) {
    using V = Simd<To>;
    using Half = Simd<To, packed_rows / 2>;
    for (; j + V::width <= n; j += V::width) V::load(from + j).store(to + j);
    for (; j + Half::width <= n; j += Half::width) Half::load(from + j).store(to + j);
    for (; j < n; ++j) to[j] = from[j];
  } else if constexpr (std::is_same_v<To, Compute<From>>) {
    for (; j < n; ++j) to[j] = widened(from[j]);
  } else {
    for (; j < n; ++j) to[j] = narrowed<To>(from[j]);
  }
}

namespace detail {
// to[j * to_row + i] = from[i * from_row + j] by squares; what is left over at two sides goes one by one.
template <class A>
inline void transpose_copy(const A* from, long from_row, A* to, long to_row, long rows, long columns) {
  constexpr int side = simd_width<A> < packed_rows ? simd_width<A> : packed_rows;
  using V = Simd<A, side>;
  const long whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (long i = 0; i < whole_rows; i += side) {
    for (long j = 0; j < whole_columns; j += side) {
      V square[side];
#pragma GCC unroll 8
      for (int s = 0; s < side; ++s) square[s] = V::load(from + (i + s) * from_row + j);
      transpose(square);
#pragma GCC unroll 8
      for (int s = 0; s < side; ++s) square[s].store(to + (j + s) * to_row + i);
    }
    for (long j = whole_columns; j < columns; ++j)
      for (long s = i; s < i + side; ++s) to[j * to_row + s] = from[s * from_row + j];
  }
  for (long j = 0; j < columns; ++j)
    for (long i = whole_rows; i < rows; ++i) to[j * to_row + i] = from[i * from_row + j];
}
}  // namespace detail

/// to[i * to_row + j] = from[i * from_row + j * from_column] for rows x columns elements, converted; columns up to `padded` become 0.
template <class From, class To>
[[gnu::noinline]] void copy_matrix(const From* from, long from_row, long from_column, To* to, long to_row, long rows, long columns, long padded) {
  if (from_column == 1) {
    for (long i = 0; i < rows; ++i) copy_row(from + i * from_row, to + i * to_row, columns);
  } else {
    if constexpr (std::is_same_v<From, To>) {
      if (from_row == 1) detail::transpose_copy(from, from_column, to, to_row, columns, rows);
    }
    if (!std::is_same_v<From, To> || from_row != 1)
      for (long i = 0; i < rows; ++i)
        for (long j = 0; j < columns; ++j) copy_row(from + i * from_row + j * from_column, to + i * to_row + j, 1);
  }
  if (columns < padded)
    for (long i = 0; i < rows; ++i)
      for (long j = columns; j < padded; ++j) to[i * to_row + j] = To(0);
}

}  // namespace tenon::kernel
TENON_EXACT_END
