// Matrix product of one row (GEMV), whose right operand has its columns next to each other: read in the order in which
// it lies in memory.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/gemm/plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Rows of b that are added at once: this many streams a processor follows by itself, and they find places in the
// nearest cache even if they are a power of two apart. Of four, sums are loaded and stored too often.
inline constexpr int streamed_rows = 8;
// Columns whose sums stay in the nearest cache, those of a segment beside those of all: 8 KB each.
template <class A>
inline constexpr long streamed_columns = 8192 / sizeof(A);

#if TENON_DEFINES
// sums[j] = the chain that continues sums[j] over Rows steps, for at least a vector of columns.
template <int Rows, class T>
[[gnu::noinline]] void add_streamed_rows(const T* a, long a_step, const T* b, long b_row, long columns, T* sums) {
  using V = Simd<T>;
  V factor[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) factor[r] = V(a[r * a_step]);
  const auto chain = [&](long j) __attribute__((always_inline)) {
    V sum = V::load(sums + j);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sum = fmadd(factor[r], V::load(b + r * b_row + j), sum);
    return sum;
  };
  // The last vector may share columns with the one before it: both are computed from the sums as they were.
  const long last = columns - V::width;
  const V end = chain(last);
  for (long j = 0; j < last; j += V::width) chain(j).store(sums + j);
  end.store(sums + last);
}

/// c[j * c_step] = sum of segments over a[p * a_step] * b[p * b_row + j], for at least a vector of columns.
template <class T>
[[gnu::noinline]] void streamed_row(const T* a, long a_step, const T* b, long b_row, long k, long columns, T* c,
                                    long c_step) {
  T sums[streamed_columns<T>], segment[streamed_columns<T>];
  const long strips = ceil_div(columns, streamed_columns<T>);
  for (long strip = 0; strip < strips; ++strip) {
    const long first = columns * strip / strips, width = columns * (strip + 1) / strips - first;
    T* const all = c_step == 1 ? c + first : sums;
    for (long p = 0; p == 0 || p < k; p += gemm_segment<T>) {
      const long end = at_most(p + gemm_segment<T>, k);
      T* const to = p == 0 ? all : segment;
      clear(to, width);
      long q = p;
      for (; q + streamed_rows <= end; q += streamed_rows)
        add_streamed_rows<streamed_rows>(a + q * a_step, a_step, b + q * b_row + first, b_row, width, to);
      for (; q < end; ++q) add_streamed_rows<1>(a + q * a_step, a_step, b + q * b_row + first, b_row, width, to);
      for (long j = 0; p > 0 && j < width; ++j) all[j] += segment[j];
    }
    for (long j = 0; c_step != 1 && j < width; ++j) c[(first + j) * c_step] = sums[j];
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel::detail
TENON_EXACT_END
