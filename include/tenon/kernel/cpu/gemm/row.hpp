// Matrix product of one row (GEMV), whose right operand has its steps of k next to each other: a dense layer for a
// batch of one.
#pragma once
#include <tenon/kernel/cpu/gemm/pack.hpp>
#include <tenon/kernel/cpu/gemm/plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Lanes are columns, as everywhere: a sum over lanes would be another order. Small blocks of b are transposed in
// registers; several groups of columns take turns, which hides the latency of a chain.
inline constexpr int row_groups = 4;
// Rows of b a power of two apart compete for the same places of the nearest cache: so many steps of them are copied
// first.
inline constexpr long row_copied_steps = 64, row_gap = 16;

// Units of four bytes, elements or pairs, are transposed in pieces of 16 bytes: a piece goes to its place while it is
// loaded, and what is left to do inside of pieces needs the cheapest shuffles only.
template <class T>
inline constexpr bool by_pieces = (std::is_same_v<T, ProductSum<T>> && sizeof(T) == 4) || steps_per_unit<T> == 2;
template <class A>
inline constexpr int piece_lanes = simd_width<A> < 8 ? 4 : 8;

// Two pieces (of a vector of four only the first) as one vector.
template <class T>
[[gnu::always_inline]] inline auto load_pieces(const T* first, [[maybe_unused]] const T* second) {
  using A = Packed<T>;
  if constexpr (piece_lanes<A> == 4) return load_lanes<4, A>(first);
  else {
    const auto low = load_lanes<4, A>(first), high = load_lanes<4, A>(second);
#if defined(__AVX__) && !defined(__clang__)  // g++ would shuffle two registers
    if constexpr (std::is_same_v<A, float>)
      return Simd<float, 8>(__builtin_ia32_vinsertf128_ps256(__builtin_ia32_ps256_ps(low.lanes), high.lanes, 1));
    else
#endif
      return joined(low, high);
  }
}

// Four units of piece_lanes rows: lane j of square[p] = unit p of from[j * row]. `other` is from + 4 * row, row_3 is 3
// * row.
template <class T>
[[gnu::always_inline]] inline void load_pieces_transposed(const T* from, const T* other, long row, long row_3,
                                                          Simd<Packed<T>, piece_lanes<Packed<T>>> (&square)[4]) {
  using A = Packed<T>;
  constexpr int width = piece_lanes<A>;
  constexpr auto low = [](int lane) { return lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width; };
  constexpr auto high = [](int lane) { return lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width + 2; };
  constexpr auto low_pair = [](int lane) { return lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width; };
  constexpr auto high_pair = [](int lane) { return lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width + 2; };
  using V = Simd<A, width>;
  using tenon::detail::Order, tenon::detail::shuffled;
  const V r0 = load_pieces(from, other), r1 = load_pieces(from + row, other + row),
          r2 = load_pieces(from + 2 * row, other + 2 * row), r3 = load_pieces(from + row_3, other + row_3);
  const V a = shuffled<V>(r0, r1, Order<width, low>()), b = shuffled<V>(r2, r3, Order<width, low>());
  const V c = shuffled<V>(r0, r1, Order<width, high>()), d = shuffled<V>(r2, r3, Order<width, high>());
  square[0] = shuffled<V>(a, b, Order<width, low_pair>());
  square[1] = shuffled<V>(a, b, Order<width, high_pair>());
  square[2] = shuffled<V>(c, d, Order<width, low_pair>());
  square[3] = shuffled<V>(c, d, Order<width, high_pair>());
}

/// Is this a product of one row, b with its steps next to each other, and at least one group of columns?
template <class T>
constexpr bool is_row_product(const GemmPlan<T>& p) {
  return p.rows == 1 && p.b_row == 1 && p.b_col != 1 && by_pieces<T> && p.columns >= piece_lanes<ProductSum<T>>;
}

#if TENON_DEFINES
// Adds k steps to Groups * piece_lanes sums: those of group g continue the chains of the columns from g * group on, a
// chain being over a[p * a_step] * b[column * b_column + p].
template <class T, int Groups>
[[gnu::noinline]] void add_row_product(const T* a, long a_step, const T* b, long b_column, long k, long group,
                                       ProductSum<T>* sums) {
  constexpr int side = piece_lanes<ProductSum<T>>, unit = steps_per_unit<T>, fetched = Groups * side / 4;
  constexpr long ahead = 32 * unit;
  using V = Simd<ProductSum<T>, side>;
  using Operand = Simd<Packed<T>, side>;
  const auto factor = [&](long p) __attribute__((always_inline)) {
    if constexpr (unit == 2)
      return Operand(Bfloat16Pair(a[p * a_step].bits) | Bfloat16Pair(a[(p + 1) * a_step].bits) << 16);
    else return Operand(a[p * a_step]);
  };
  long row = b_column, row_3 = 3 * b_column;
  asm("" : "+r"(row), "+r"(row_3));
  V sum[Groups];
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) sum[g] = V::load(sums + g * side);
  long p = 0;
  for (; p + 4 * unit <= k; p += 4 * unit) {
    const Operand f0 = factor(p), f1 = factor(p + unit), f2 = factor(p + 2 * unit), f3 = factor(p + 3 * unit);
    const T* from = b + p;
    // So many rows are more streams than a processor follows by itself. A quarter of them is fetched in each quarter of
    // a cache line.
    const T* next = from + ahead + p / unit % 16 / 4 * fetched * row;
#pragma GCC unroll 8
    for (int s = 0; s < fetched; ++s, next += row) __builtin_prefetch(next);
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g, from += group * b_column) {
      const T* other = from + 4 * row;
      // else the compiler keeps an address per row, which are more than it has registers
      asm("" : "+r"(from), "+r"(other));
      Operand square[4];
      load_pieces_transposed(from, other, row, row_3, square);
      sum[g] = fmadd(f3, square[3], fmadd(f2, square[2], fmadd(f1, square[1], fmadd(f0, square[0], sum[g]))));
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) sum[g].store(sums + g * side);
  for (; p < k; p += unit)
    for (long s = 0; s < long{Groups} * side; ++s)
      for (int q = unit - 1; q >= 0; --q)
        if (p + q < k)
          sums[s] = fmadd(widened(a[(p + q) * a_step]), widened(b[(s / side * group + s % side) * b_column + p + q]),
                          sums[s]);
}

// The same for row_groups groups side by side whose rows compete.
template <class T>
void add_row_product_copied(const T* a, long a_step, const T* b, long b_column, long k, ProductSum<T>* sums) {
  constexpr int rows = row_groups * piece_lanes<ProductSum<T>>;
  constexpr long copied_steps = row_copied_steps * steps_per_unit<T>,
                 copied_row = copied_steps + row_gap * steps_per_unit<T>;
  T copied[rows * copied_row];
  for (long p = 0; p < k; p += copied_steps) {
    const long steps = at_most(copied_steps, k - p);
    for (int s = 0; s < rows; ++s) {
      const T* const from = b + s * b_column + p;
      for (long q = 0; q < copied_steps; q += 64 / long(sizeof(T)))
        __builtin_prefetch(from + 2 * copied_steps + q, 0, 2);
      if constexpr (is_half<T>) __builtin_memcpy(copied + s * copied_row, from, std::size_t(steps) * sizeof(T));
      else copy_row(from, copied + s * copied_row, steps);
    }
    add_row_product<T, row_groups>(a + p * a_step, a_step, copied, copied_row, steps, piece_lanes<ProductSum<T>>, sums);
  }
}

/// c[j * c_step] = sum of segments over a[p * a_step] * b[j * b_column + p], for at least piece_lanes columns.
template <class T>
[[gnu::noinline]] void row_product(const T* a, long a_step, const T* b, long b_column, long k, long columns, T* c,
                                   long c_step) {
  using A = ProductSum<T>;
  constexpr int side = piece_lanes<A>, wide = row_groups * side;
  // 32 rows find no place if they are 4 KB apart, 16 do if they are 2 KB apart.
  const bool compete = b_column * long(sizeof(T)) % 4096 == 0,
             half = !compete && b_column * long(sizeof(T)) % 2048 == 0;
  for (long j = 0, width; j < columns; j += width) {
    const long left = columns - j, groups = left > 2L * side && columns >= wide && !half ? row_groups : 2;
    // of fewer columns some are computed twice: the same bits
    const long group = columns < 2L * side ? columns - side : side;
    width = (groups - 1) * group + side;
    const long from = at_most(j, columns - width);
    const T* const own = b + from * b_column;
    A sums[wide], segment[wide];
    for (long p = 0; p == 0 || p < k; p += gemm_segment<T>) {
      const long steps = at_most(gemm_segment<T>, k - p);
      A* const to = p == 0 ? sums : segment;
      clear(to, wide);
      if (groups == 2) add_row_product<T, 2>(a + p * a_step, a_step, own + p, b_column, steps, group, to);
      else if (compete) add_row_product_copied(a + p * a_step, a_step, own + p, b_column, steps, to);
      else add_row_product<T, row_groups>(a + p * a_step, a_step, own + p, b_column, steps, group, to);
      for (int s = 0; p > 0 && s < wide; ++s) sums[s] += segment[s];
    }
    for (long s = 0; s < groups * side; ++s) c[(from + s / side * group + s % side) * c_step] = narrowed<T>(sums[s]);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel::detail
TENON_EXACT_END
