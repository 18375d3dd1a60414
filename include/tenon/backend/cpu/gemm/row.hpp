// Matrix product of one row (GEMV), whose right operand has its steps of k next to each other: a dense layer for a
// batch of one.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/cpu/gemm/plan.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// Lanes are columns, as everywhere: a sum over lanes would be another order. Small blocks of b are transposed in
// registers; several groups of columns take turns, which hides the latency of a chain.
inline constexpr int row_groups = 4;
// Rows of b a power of two apart compete for the same places of the nearest cache: with wide vectors this many steps of
// them are copied first, with others several segments are read side by side, which take 0.6 of the time.
inline constexpr bool row_by_segments = simd_bytes < 64;
inline constexpr long row_copied_steps = 64, row_gap = 16;
// This many steps ahead of its use b is fetched: two cache lines.
template <class T>
inline constexpr long row_ahead = 32 * steps_per_unit<T>;

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
    if constexpr (std::is_same_v<A, float>) {
      Simd<float, 8> both;
      asm("vinsertf128 {$1, %2, %t1, %0|%0, %t1, %2, 1}" : "=x"(both.lanes) : "x"(low.lanes), "xm"(high.lanes));
      return both;
    } else
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
  return p.rows == 1 && p.a_col == 1 && p.b_row == 1 && p.b_col != 1 && by_pieces<T> &&
         p.columns >= piece_lanes<ProductSum<T>>;
}

#if TENON_DEFINES
// Adds k steps to Groups * piece_lanes sums: those of group g continue the chains of the columns from g * group on, a
// chain being over a[p] * b[column * b_column + p]. By segments, groups are segments of the same columns.
// `after`: what will be read after those, else null.
template <class T, int Groups, bool by_segments = false>
[[gnu::noinline]] void add_row_product(const T* a, const T* b, long b_column, long k, long group, const T* after,
                                       ProductSum<T>* sums) {
  constexpr int side = piece_lanes<ProductSum<T>>, unit = steps_per_unit<T>, quarter = side / 4;
  constexpr long ahead = row_ahead<T>, segment = gemm_segment<T>;
  using V = Simd<ProductSum<T>, side>;
  using Operand = Simd<Packed<T>, side>;
  const auto factor = [&](long p) __attribute__((always_inline)) {
    if constexpr (unit == 2) return Operand(Bfloat16Pair(a[p].bits) | Bfloat16Pair(a[p + 1].bits) << 16);
    else return Operand(a[p]);
  };
  long row = b_column, row_3 = 3 * b_column;
  asm("" : "+r"(row), "+r"(row_3));
  V sum[Groups];
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) sum[g] = V::load(sums + g * side);
  long p = 0;
  for (; p + 4 * unit <= k; p += 4 * unit) {
    Operand f0 = factor(p), f1 = factor(p + unit), f2 = factor(p + 2 * unit), f3 = factor(p + 3 * unit);
    const T* from = b + p;
    // This many rows are more streams than a processor follows by itself. A quarter of them is fetched in each quarter
    // of a cache line.
    const T* next = !by_segments || p + ahead < k ? from + ahead : after + (p + ahead - k);
    next += p / unit % 16 / 4 * (by_segments ? quarter : Groups * quarter) * row;
#pragma GCC unroll 8
    for (int s = 0; s < Groups * quarter; ++s) {
      __builtin_prefetch(by_segments ? next + s % Groups * segment : next);
      if (!by_segments || s % Groups == Groups - 1) next += row;
    }
#pragma GCC unroll 4
    for (int g = 0; g < Groups; ++g, from += by_segments ? segment : group * b_column) {
      const T* other = from + 4 * row;
      // else the compiler keeps an address per row, which are more than it has registers
      asm("" : "+r"(from), "+r"(other));
      if (by_segments && g > 0) {
        const long q = p + g * segment;
        f0 = factor(q), f1 = factor(q + unit), f2 = factor(q + 2 * unit), f3 = factor(q + 3 * unit);
      }
      Operand square[4];
      load_pieces_transposed(from, other, row, row_3, square);
      sum[g] = fmadd(f3, square[3], fmadd(f2, square[2], fmadd(f1, square[1], fmadd(f0, square[0], sum[g]))));
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < Groups; ++g) sum[g].store(sums + g * side);
  for (; !by_segments && p < k; p += unit)
    for (long s = 0; s < long{Groups} * side; ++s)
      for (int q = unit - 1; q >= 0; --q)
        if (p + q < k)
          sums[s] = fmadd(widened(a[p + q]), widened(b[(s / side * group + s % side) * b_column + p + q]), sums[s]);
}

// The same for row_groups groups side by side whose rows compete.
template <class T>
void add_row_product_copied(const T* a, const T* b, long b_column, long k, ProductSum<T>* sums) {
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
    add_row_product<T, row_groups>(a + p, copied, copied_row, steps, piece_lanes<ProductSum<T>>, nullptr, sums);
  }
}

// Columns of one visit: `groups` groups of them, those of a group side by side, the first ones `group` columns apart.
struct RowVisit {
  int groups;
  long group;
};

// Adds row_groups whole segments to the sums of each group, one segment after the other. A group's rows take the places
// of the nearest cache that are theirs, those of segments are others even if rows are 4 KB apart.
template <class T>
void add_row_segments(const T* a, const T* b, long b_column, const RowVisit& visit, const T* after, ProductSum<T>* sums,
                      bool first) {
  constexpr int side = piece_lanes<ProductSum<T>>;
  for (int g = 0; g < visit.groups; ++g, sums += side) {
    const T* const own = b + g * visit.group * b_column;
    ProductSum<T> segments[row_groups * side];
    clear(segments, row_groups * side);
    add_row_product<T, row_groups, true>(a, own, b_column, gemm_segment<T>, 0,
                                         g + 1 < visit.groups ? own + visit.group * b_column : after, segments);
    for (int s = 0; s < side; ++s) {
      if (first) sums[s] = segments[s];
      else sums[s] += segments[s];
      for (int next = 1; next < row_groups; ++next) sums[s] += segments[next * side + s];
    }
  }
}

/// c[j * c_step] = sum of segments over a[p] * b[j * b_column + p], for at least piece_lanes columns.
template <class T>
[[gnu::noinline]] void row_product(const T* a, const T* b, long b_column, long k, long columns, T* c, long c_step) {
  using A = ProductSum<T>;
  constexpr int side = piece_lanes<A>, wide = row_groups * side;
  constexpr long block = row_groups * gemm_segment<T>;
  const long bytes = b_column * long(sizeof(T));
  const bool compete = bytes % 4096 == 0, by_segments = row_by_segments && compete;
  // 32 rows find no place if they are 4 KB apart, 16 do if they are 2 KB apart; of segments, 16 rows are enough.
  const bool few = bytes % 2048 == 0 && (by_segments || !compete);
  for (long j = 0, width; j < columns; j += width) {
    const long left = columns - j;
    const int groups = left > 2L * side && columns >= wide && !few ? row_groups : 2;
    // of fewer columns some are computed twice: the same bits
    const RowVisit visit{groups, columns < 2L * side ? columns - side : side};
    width = (groups - 1) * visit.group + side;
    const long from = at_most(j, columns - width);
    const T* const own = b + from * b_column;
    A sums[wide], segment[wide];
    for (long p = 0, steps; p == 0 || p < k; p += steps) {
      const bool many = by_segments && p + block <= k;
      steps = many ? block : at_most(gemm_segment<T>, k - p);
      const T* const at = a + p;
      if constexpr (row_by_segments)
        if (many) {
          const T* const after = p + steps < k ? own + p + steps : own + width * b_column;
          add_row_segments(at, own + p, b_column, visit, after, sums, p == 0);
          continue;
        }
      A* const to = p == 0 ? sums : segment;
      clear(to, wide);
      if (groups == 2) add_row_product<T, 2>(at, own + p, b_column, steps, visit.group, nullptr, to);
      else if (!row_by_segments && compete) add_row_product_copied(at, own + p, b_column, steps, to);
      else add_row_product<T, row_groups>(at, own + p, b_column, steps, visit.group, nullptr, to);
      for (int s = 0; p > 0 && s < wide; ++s) sums[s] += segment[s];
    }
    for (long s = 0; s < groups * side; ++s)
      c[(from + s / side * visit.group + s % side) * c_step] = narrowed<T>(sums[s]);
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel::detail
TENON_EXACT_END
