// Matrix product of some rows with a kept right operand (lowering/kept_operand.hpp): a dense layer for a few sequences.
// Its weights lie in panels as tiles read them, so that nothing is packed and nothing transposed.
#pragma once
#include <tenon/backend/cpu/gemm/plan.hpp>
#include <tenon/core/function_ref.hpp>
#if TENON_DEFINES
#include <tenon/backend/cpu/gemm/pack.hpp>
#endif

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// A product of rows, [m, k] times the transpose of b [n, k], in float32.
struct KeptProduct {
  long m, n, k;

  /// More rows pay for packing.
  static constexpr long most_rows = 512;

  /// Columns of a panel: a wide one, if these are whole.
  constexpr long columns() const {
    return simd_width<float> * (ceil_div(n, long{simd_width<float>}) % tile_vectors == 0 ? tile_vectors : 2);
  }
  /// Panels, which threads share.
  constexpr long items() const { return ceil_div(n, columns()); }
  constexpr long bytes() const { return items() * columns() * k * long(sizeof(float)); }
};

/// Writes b as the product wants it, whatever m is.
void keep_panels(const KeptProduct& s, const float* b, float* to);
/// c[i, j] = what gemm() makes of row i and column j, for the columns of panels begin .. end - 1. After a part of them
/// is complete, finish(first row, rows, first column, columns).
void kept_product(const KeptProduct& s, const float* a, const float* kept, float* c, long begin, long end,
                  FunctionRef<long, long, long, long> finish);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void keep_panels(const KeptProduct& s, const float* b, float* to) {
  const long width = s.columns();
  for (long first = 0; first < s.n; first += width, to += width * s.k)
    copy_matrix(b + first * s.k, 1, s.k, to, width, s.k, detail::at_most(s.n - first, width), width);
}
[[gnu::noinline]] TENON_INLINE void kept_product(const KeptProduct& s, const float* a, const float* kept, float* c,
                                                 long begin, long end, FunctionRef<long, long, long, long> finish) {
  constexpr long segment = gemm_segment<float>, group = 8L * tile_rows;
  const long width = s.columns(), steps = detail::at_most(s.k, segment);
  const long first = begin * width, last = detail::at_most(end * width, s.n);
  Tap taps[segment];
  for (long p = 0; p < steps; ++p) taps[p] = {std::int32_t(p), std::int32_t(p * width)};
  std::int32_t row[tile_rows];
  for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(i * s.k);
  float aside[group * tile_columns<float>(2)];
  for (long top = 0; top < s.m; top += group) {
    const long rows = detail::at_most(group, s.m - top), blocks = ceil_div(rows, long{tile_rows});
    for (long column = first; column < last; column += width) {
      const bool whole = column + width <= s.n;
      float* const out = whole ? c + top * s.n + column : aside;
      const long out_row = whole ? s.n : width;
      for (long p = 0; p < s.k; p += segment)
        for (long block = 0; block < blocks; ++block) {
          const long i = border(rows, blocks, block);
          const Tile<float> tile{taps,
                                 detail::at_most(s.k - p, segment),
                                 a + (top + i) * s.k + p,
                                 row,
                                 kept + column * s.k + p * width,
                                 out + i * out_row,
                                 out_row,
                                 false,
                                 p > 0};
          run_tile(tile, int(border(rows, blocks, block + 1) - i), width);
        }
      if (!whole) copy_matrix(aside, width, 1, c + top * s.n + column, s.n, rows, s.n - column, 0);
    }
    if (finish) finish(top, rows, first, last - first);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
