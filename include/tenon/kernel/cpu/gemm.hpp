// Matrix product with any transposition: C = A * B, every element one chain of fmadd over ascending k.
#pragma once
#include <cstddef>

#include <tenon/kernel/cpu/pack.hpp>
#include <tenon/kernel/cpu/tile.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// C[m,n] = A[m,k] * B[k,n]; A(i,p) = a[i * a_row + p * a_col], B(p,j) = b[p * b_row + j * b_col], C(i,j) = c[i * c_row + j].
/// C(i,j) is the chain fmadd(A(i,p), B(p,j), sum) for p = 0 .. k-1 from +0 in Accumulator<T>, rounded once to T.
/// T: float16, bfloat16, float, double, integers (which wrap around). C must not overlap A or B.
template <class T>
struct Gemm {
  long m, n, k;
  const T* a;
  long a_row, a_col;
  const T* b;
  long b_row, b_col;
  T* c;
  long c_row;
};

namespace detail {
inline constexpr long gemm_row_chunk = 2L * tile_rows, gemm_rows = 12 * gemm_row_chunk, gemm_columns = 256;
template <class A>
inline constexpr long gemm_depth = 1024 / sizeof(A);  // steps of k between two visits to the sums

// The product as it is computed: C or its transpose, in chunks of rows and columns. Only whole chunks go to a thread.
template <class T>
struct GemmPlan {
  bool swapped;
  long rows, columns, k;
  const T* a;
  long a_row, a_col;
  const T* b;
  long b_row, b_col;
  long row_chunks, column_chunks;
};

// Costs in vector steps: lanes that hold no column are computed too, packing across the rows costs a third per element.
constexpr long gemm_cost(long rows, long columns, long k, long width, bool rows_are_contiguous) {
  const long packed = rows_are_contiguous ? columns * k / width * 2 : columns * k / 3;
  return rows * (ceil_div(columns, width) * k + ceil_div(columns, width)) + (rows_are_contiguous && rows <= gemm_row_chunk ? 0 : packed);
}

template <class T>
constexpr GemmPlan<T> gemm_plan(const Gemm<T>& g) {
  constexpr long width = simd_width<Compute<T>>;
  const long straight = gemm_cost(g.m, g.n, g.k, width, g.b_col == 1);
  const long transposed = gemm_cost(g.n, g.m, g.k, width, g.a_row == 1) + g.m * g.n / 2;
  GemmPlan<T> p;
  if (transposed < straight) p = {true, g.n, g.m, g.k, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, 0, 0};
  else p = {false, g.m, g.n, g.k, g.a, g.a_row, g.a_col, g.b, g.b_row, g.b_col, 0, 0};
  p.row_chunks = ceil_div(p.rows, gemm_row_chunk);
  p.column_chunks = ceil_div(p.columns, gemm_columns);
  return p;
}

constexpr long at_most(long a, long b) { return a < b ? a : b; }

// Bytes of the four parts of the workspace: taps, packed A, packed B, sums.
struct GemmScratch {
  std::size_t a, b, sums, total;
};
template <class A>
constexpr GemmScratch gemm_scratch(long rows, long columns, long k) {
  const long depth = at_most(k, gemm_depth<A>), width = round_up(at_most(columns, gemm_columns), tile_columns<A>(1));
  const long height = round_up(at_most(rows, gemm_rows), packed_rows);
  GemmScratch s{};
  s.a = std::size_t(round_up(depth * long(sizeof(Tap)), 64));
  s.b = s.a + std::size_t(round_up(ceil_div(height, tile_rows) * packed_rows * depth * long(sizeof(A)), 64));
  s.sums = s.b + std::size_t(round_up(width * depth * long(sizeof(A)), 64));
  s.total = s.sums + std::size_t(height * width) * sizeof(A);
  return s;
}
}  // namespace detail

/// Number of independent parts of the product: the unit in which threads divide it. A thread should take neighbouring parts.
template <class T>
constexpr long gemm_items(const Gemm<T>& g) {
  const auto plan = detail::gemm_plan(g);
  return plan.row_chunks * plan.column_chunks;
}

/// Bytes of scratch that one thread needs, at most about 1 MB. Align it to 64 bytes.
template <class T>
constexpr std::size_t gemm_workspace(long m, long n, long k) {
  const std::size_t straight = detail::gemm_scratch<Compute<T>>(m, n, k).total, transposed = detail::gemm_scratch<Compute<T>>(n, m, k).total;
  return straight > transposed ? straight : transposed;
}

namespace detail {
// One block of the plan's rows and columns, all of k.
template <class T>
class GemmBlock {
  using A = Compute<T>;

 public:
  GemmBlock(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, long row0, long rows, long column0, long columns)
      : plan_(plan), row0_(row0), rows_(rows), column0_(column0), columns_(columns), row_blocks_(ceil_div(rows, tile_rows)) {
    const GemmScratch scratch = gemm_scratch<A>(plan.rows, plan.columns, plan.k);
    char* const base = static_cast<char*>(workspace);
    taps_ = reinterpret_cast<Tap*>(base);
    packed_a_ = reinterpret_cast<A*>(base + scratch.a);
    packed_b_ = reinterpret_cast<A*>(base + scratch.b);
    width_ = tile_columns<A>(rows);
    sums_ = reinterpret_cast<A*>(base + scratch.sums);
    sums_row_ = round_up(columns, width_);
    if constexpr (std::is_same_v<A, T>) {
      if (!plan.swapped) sums_ = g.c + row0 * g.c_row + column0, sums_row_ = g.c_row;
    }
    in_place_ = std::is_same_v<A, T> && !plan.swapped;
    constexpr long far = 1l << 30;
    pack_a_ = !std::is_same_v<A, T> || columns > 3 * width_ || plan.a_row * tile_rows > far || plan.a_col * gemm_depth<A> > far;
    pack_b_ = !std::is_same_v<A, T> || plan.b_col != 1 || row_blocks_ > 2 || plan.b_row * gemm_depth<A> > far;
  }

  void run(const Gemm<T>& g) {
    // The panel of a single row is used once: it stays in the nearest cache if it is short.
    const long depth = rows_ == 1 ? gemm_depth<A> / 4 : gemm_depth<A>;
    long first = 0;
    do {
      steps(first, at_most(plan_.k - first, depth));
      first += depth;
    } while (first < plan_.k);
    if (in_place_) return;
    if (plan_.swapped) copy_matrix(sums_, 1, sums_row_, g.c + column0_ * g.c_row + row0_, g.c_row, columns_, rows_, 0);
    else copy_matrix(sums_, sums_row_, 1, g.c + row0_ * g.c_row + column0_, g.c_row, rows_, columns_, 0);
  }

 private:
  void steps(long first, long depth) {
    const T* const a = plan_.a + row0_ * plan_.a_row + first * plan_.a_col;
    if (pack_a_)
      for (long block = 0; block < row_blocks_; ++block) {
        const long i = border(rows_, row_blocks_, block), rows = border(rows_, row_blocks_, block + 1) - i;
        copy_matrix(a + i * plan_.a_row, plan_.a_col, plan_.a_row, packed_a_ + block * packed_rows * depth, packed_rows, depth, rows, packed_rows);
      }
    long spacing = -1;  // of the taps in b
    for (long j = 0, width; j < columns_; j += width) {
      const long left = columns_ - j;
      width = width_;
      if (!pack_b_ && left < width) width = filled_columns<A>(left);  // whole vectors in place
      const long columns = at_most(width, left);
      const bool packed = pack_b_ || columns < width;
      const T* const b = plan_.b + first * plan_.b_row + (column0_ + j) * plan_.b_col;
      if (packed) copy_matrix(b, plan_.b_row, plan_.b_col, packed_b_, width, depth, columns, columns > simd_width<A> ? width : round_up(columns, tile_step<A>));
      if (const long needed = packed ? width : plan_.b_row; needed != spacing) fill_taps(depth, spacing = needed);
      const A* operand = packed_b_;
      if constexpr (std::is_same_v<A, T>) operand = packed ? packed_b_ : b;
      column(a, operand, j, columns, width, depth, first > 0);
    }
  }

  void fill_taps(long depth, long spacing) {
    const auto a = std::int32_t(pack_a_ ? packed_rows : plan_.a_col), b = std::int32_t(spacing);
    for (std::int32_t p = 0; p < depth; ++p) taps_[p] = {p * a, p * b};
  }

  // All rows of one panel of columns.
  void column(const T* a, const A* b, long j, long columns, long width, long depth, bool resume) {
    std::int32_t row[tile_rows];
    for (int i = 0; i < tile_rows; ++i) row[i] = std::int32_t(pack_a_ ? i : i * plan_.a_row);
    for (long block = 0; block < row_blocks_; ++block) {
      const long i = border(rows_, row_blocks_, block), rows = border(rows_, row_blocks_, block + 1) - i;
      const A* operand = packed_a_ + block * packed_rows * depth;
      if constexpr (std::is_same_v<A, T>) operand = pack_a_ ? operand : a + i * plan_.a_row;
      const Tile<A> tile{taps_, depth, operand, row, b, sums_ + i * sums_row_ + j, sums_row_, resume};
      if (in_place_ && columns < width) partial(tile, int(rows), columns);
      else run_tile(tile, int(rows), columns);
    }
  }

  // A tile that is wider than what is left of C: computed aside.
  static void partial(Tile<A> tile, int rows, long columns) {
    constexpr long widest = tile_columns<A>(1);
    A aside[widest > tile_rows * tile_columns<A>(2) ? widest : tile_rows * tile_columns<A>(2)];
    A* const out = tile.out;
    const long width = rows == 1 ? widest : tile_columns<A>(2);
    if (tile.resume) copy_matrix(out, tile.out_row, 1, aside, width, rows, columns, width);
    const long out_row = tile.out_row;
    tile.out = aside, tile.out_row = width;
    run_tile(tile, rows, columns);
    copy_matrix(aside, width, 1, out, out_row, rows, columns, 0);
  }

  const GemmPlan<T>& plan_;
  long row0_, rows_, column0_, columns_, row_blocks_;
  Tap* taps_;
  A *packed_a_, *packed_b_, *sums_;
  long sums_row_, width_;
  bool in_place_, pack_a_, pack_b_;
};

template <class T>
[[gnu::noinline]] void gemm_block(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, long row0, long rows, long column0, long columns) {
  GemmBlock<T>(plan, g, workspace, row0, rows, column0, columns).run(g);
}
}  // namespace detail

/// Computes the parts [begin, end) of gemm_items(g). After a block of C is complete, finish(row0, rows, column0, columns) is called,
/// so that a bias or an activation can be applied while the block is in the cache; each element is in exactly one block.
template <class T, class Finish>
void gemm(const Gemm<T>& g, long begin, long end, void* workspace, Finish&& finish) {
  using namespace detail;
  const GemmPlan<T> plan = gemm_plan(g);
  for (long item = begin; item < end;) {
    const long chunk = item % plan.row_chunks, column0 = item / plan.row_chunks * gemm_columns;
    const long run = at_most(at_most(end - item, plan.row_chunks - chunk), gemm_rows / gemm_row_chunk);
    const long row0 = chunk * gemm_row_chunk, rows = at_most(run * gemm_row_chunk, plan.rows - row0), columns = at_most(gemm_columns, plan.columns - column0);
    gemm_block(plan, g, workspace, row0, rows, column0, columns);
    if (plan.swapped) finish(column0, columns, row0, rows);
    else finish(row0, rows, column0, columns);
    item += run;
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END
