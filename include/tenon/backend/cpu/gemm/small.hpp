// Matrix products that the compiler knows to be small: tiles straight over the operands, no plan, no packing.
#pragma once
#include <tenon/backend/cpu/gemm/row.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

namespace detail {
/// Lanes of the vectors that cover `columns` columns; 1 if there are too few for a vector. Vectors stand side by side,
/// except that the last one ends with the last column: what it shares with the one before it is computed twice, with
/// the same bits.
template <class T>
constexpr int small_width(int columns) {
  int width = simd_width<T>;
  while (width > columns) width /= 2;
  return width < 4 ? 1 : width;
}
/// Vectors in one tile: at most tile_vectors, in tiles that are as even as possible.
constexpr int small_tile_vectors(int vectors) { return int(ceil_div(vectors, ceil_div(vectors, tile_vectors))); }

/// A tile of C: chains over k steps of a[i * a_row + p * a_col] * b[p * b_row + j], which are stored or added. Its last
/// vector begins at column `last`.
template <class T, int Width, int Rows, int Vectors>
[[gnu::always_inline]] inline void small_tile(const T* a, long a_row, long a_col, const T* b, long b_row, long last,
                                              long k, T* c, long c_row, bool add = false) {
  using V = Simd<T, Width>;
  const auto column = [=](int j) __attribute__((always_inline)) { return j < Vectors - 1 ? j * Width : last; };
  const auto place = [=](int i, int j) __attribute__((always_inline)) { return c + i * c_row + column(j); };
  RegisterTile<V, Rows, Vectors> sums;
  sums.begin();
#pragma GCC unroll 4
  for (long p = 0; p < k; ++p)
    sums.multiply([=](int i) __attribute__((always_inline)) { return V(a[i * a_row + p * a_col]); },
                  [=](int j) __attribute__((always_inline)) { return V::load(b + p * b_row + column(j)); });
  if (add) sums.add_to(place);  // before anything is stored: the last vector may share columns with the one before it
  sums.store(place);
}
template <class T, int Width, int Rows, int Vectors>
[[gnu::noinline]] void run_small_tile(const T* a, long a_row, long a_col, const T* b, long b_row, long last, long k,
                                      T* c, long c_row) {
  constexpr long segment = gemm_segment<T>;
  for (bool add = false;; add = true) {
    small_tile<T, Width, Rows, Vectors>(a, a_row, a_col, b, b_row, last, at_most(k, segment), c, c_row, add);
    if ((k -= segment) <= 0) return;
    a += segment * a_col, b += segment * b_row;
  }
}

/// Rows of C, all n columns.
template <class T, int Rows, int n>
inline void small_rows(const T* a, long a_row, long a_col, const T* b, long b_row, long k, T* c, long c_row) {
  constexpr int width = small_width<T>(n), vectors = int(ceil_div(n, width)), whole = small_tile_vectors(vectors),
                rest = vectors % whole;
  int j = 0;
  for (; j + whole * width < n; j += whole * width)
    run_small_tile<T, width, Rows, whole>(a, a_row, a_col, b + j, b_row, (whole - 1) * width, k, c + j, c_row);
  run_small_tile<T, width, Rows, rest ? rest : whole>(a, a_row, a_col, b + j, b_row, n - width - j, k, c + j, c_row);
}

/// One row of C for constant sizes, as unrolled code: the right operand is [k, n], or [n, k] if it is transposed.
template <class T, int n, int k, bool transposed>
[[gnu::always_inline]] inline void tiny_row(const T* a, long a_col, const T* b, T* c) {
  constexpr int width = transposed ? 1 : small_width<T>(n);
  if constexpr (width > 1) {
    for (int j = 0; j < n; j += width) {
      const int from = j + width <= n ? j : n - width;
      small_tile<T, width, 1, 1>(a, 0, a_col, b + from, n, 0, k, c + from, 0);
    }
  } else if constexpr (by_pieces<T> && k % 4 == 0 && n >= piece_lanes<T>) {
    constexpr int side = piece_lanes<T>;
    for (int j = 0; j < n; j += side) {
      const int from = j + side <= n ? j : n - side;
      Simd<T, side> sum(T(0)), square[4];
      for (int p = 0; p < k; p += 4) {
        load_pieces_transposed(b + from * k + p, b + (from + 4) * k + p, k, 3 * k, square);
#pragma GCC unroll 4
        for (int q = 0; q < 4; ++q) sum = fmadd(Simd<T, side>(a[(p + q) * a_col]), square[q], sum);
      }
      sum.store(c + from);
    }
  } else {
    T sum[n]{};
#pragma GCC unroll 16
    for (int p = 0; p < k; ++p)
#pragma GCC unroll 16
      for (int j = 0; j < n; ++j) sum[j] = fmadd(a[p * a_col], transposed ? b[j * k + p] : b[p * n + j], sum[j]);
    for (int j = 0; j < n; ++j) c[j] = sum[j];
  }
}
}  // namespace detail

/// A product C[m,n] = A[m,k] B[k,n] of constant sizes, 0 where m or k depends on the batch. B is stored without gaps,
/// as [n, k] if transposed. Every element is the sum of Gemm.
template <class T, int m, int n, int k, bool transposed>
struct SmallProduct {
  static constexpr detail::ProductCosts costs = detail::product_costs;
  static constexpr bool computes = std::is_floating_point_v<T> && std::is_same_v<T, ProductSum<T>>;
  static constexpr bool wide = !transposed && detail::small_width<T>(n) > 1;
  /// Rows are independent, cheap, and as many as there are: unrolled code for each.
  static constexpr bool by_rows = computes && m < 2 && k > 0 && n* k <= costs.row_elements;
  /// Tiles over all of C: its operands stay in the nearest caches, and it is too small to be shared between threads. An
  /// unknown k may be large, then A and B stream past few tiles.
  static constexpr bool near = long{n} * k <= costs.right_elements && long{m} * k <= costs.left_elements &&
                               long{m} * n * k <= costs.multiplications;
  static constexpr bool by_tiles = computes && !by_rows && m > 0 && wide && (k > 0 ? near : m * n <= costs.results);

  static void rows(const Gemm<T>& g, long begin, long end) {
    for (long i = begin; i < end; ++i)
      detail::tiny_row<T, n, k, transposed>(g.a + i * g.a_row, g.a_col, g.b, g.c + i * g.c_row);
  }
  static void tiles(const Gemm<T>& g) {
    constexpr int blocks = int(ceil_div(m, tile_rows)), most = int(ceil_div(m, blocks)),
                  large = blocks - (most * blocks - m);
    const T* a = g.a;
    T* c = g.c;
    for (int block = 0; block < large; ++block, a += most * g.a_row, c += most * g.c_row)
      detail::small_rows<T, most, n>(a, g.a_row, g.a_col, g.b, g.b_row, g.k, c, g.c_row);
    if constexpr (large < blocks)
      for (int block = large; block < blocks; ++block, a += (most - 1) * g.a_row, c += (most - 1) * g.c_row)
        detail::small_rows<T, most - 1, n>(a, g.a_row, g.a_col, g.b, g.b_row, g.k, c, g.c_row);
  }
};

}  // namespace tenon::kernel
TENON_EXACT_END
