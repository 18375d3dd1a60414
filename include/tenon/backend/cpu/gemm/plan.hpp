// How a matrix product is cut: C or its transpose, into parts for threads, blocks for caches, and the scratch of one
// block.
#pragma once
#include <cstddef>

#include <tenon/backend/cpu/gemm/amx.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cpu/gemm/workspace_parts.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// C[m,n] = A[m,k] * B[k,n]; A(i,p) = a[i * a_row + p * a_col], B(p,j) = b[p * b_row + j * b_col], C(i,j) = c[i * c_row
/// + j]. C(i,j) is the sum of segments of p = 0 .. k-1, one after the other in Accumulator<T>, rounded once to T. A
/// segment, the last one may be shorter, is gemm_segment<T> steps, and its sum the chain fmadd(A(i,p), B(p,j), sum)
/// from +0. Of bfloat16, p runs in pairs whose second comes first, 1, 0, 3, 2, ..., with a zero as the partner of an
/// odd last one. Where amx_permitted(), products of bfloat16 have another order, whatever their shape: p runs in groups
/// of 32, the last one filled up with zeros, and to the sum is added what an instruction makes of a group: a chain of
/// the even p from +0, plus one of the odd p. T: float16, bfloat16, float, double, integers (which wrap around). C must
/// not overlap A or B.
template <class T>
struct Gemm {
  long m, n, k;
  const T* a;
  long a_row, a_col;
  const T* b;
  long b_row, b_col;
  T* c;
  long c_row;
  bool plus_zero = false;  // + 0 at last, so that no element is -0: where may_add_zeros<T>, of two rows and columns
};
/// The product of row-major matrices a [m, k] and b [k, n], each of them stored transposed if it says so; their
/// addresses are still missing.
template <class T>
constexpr Gemm<T> gemm_of(long m, long n, long k, bool a_transposed, bool b_transposed) {
  return {m,
          n,
          k,
          nullptr,
          a_transposed ? 1 : k,
          a_transposed ? m : 1,
          nullptr,
          b_transposed ? 1 : n,
          b_transposed ? k : 1,
          nullptr,
          n};
}

/// Steps of k in one segment: 256, of double 128, of bfloat16 512.
template <class T>
inline constexpr long gemm_segment = segment_units<ProductSum<T>> * steps_per_unit<T>;

namespace detail {
// Products that AMX computes if the system permits it.
template <class T>
inline constexpr bool by_amx = has_amx && std::is_same_v<T, bfloat16>;
// Columns per panel of packed B.
template <class A>
inline constexpr long gemm_panel = tile_columns<A>(2);

/// What products are cut and chosen by. A wrong number costs time, no bit. `benchmarks/refit.py product` measures what
/// each loses. Costs are in steps: a step multiplies a vector of columns.
struct ProductCosts {
  // Vectors of B that are packed along its rows take packing steps each. Per step: elements of B that are packed across
  // its rows; of C that are transposed; of A whose steps are lines of their own, if it is packed, or if these lines
  // compete for so few places, or lie on this many pages, that the next rows do not find them again (on Zen 4: 0.1 to
  // 0.8 steps each).
  long packing = 2, packing_across = 3, transposing = 2, scattered = 2;
  // Lines that are a multiple of crowded_bytes apart have an eighth of a way of the nearest cache for them, a way being
  // 4 KB (32 KB in 8 ways, 48 KB in 12). Addresses of pages that are near: 64 of 4 KB.
  long crowded_bytes = 4096 / 8, near_pages_bytes = 64 * 4096;
  // A is packed although no element changes where it passes more than this many panels. B stays as it is where the
  // nearest caches hold all of it.
  long few_panels = 12, near_bytes = 64 << 10;
  // The caches are used so: a packed block of B (half a MB) stays in the second level while all rows pass, a packed
  // tile of A (8 KB) stays in the first while all panels of the block pass, and a panel streams from the second level.
  // Bytes of a block's row, whatever the type: Pairs of bfloat16 compute twice as fast, and all their sums take
  // scratch: a narrower block leaves room for more rows of them, so that it is packed less often.
  long width_bytes = 2112, pairs_width_bytes = 1536;
  // A that lies ready in pairs costs nothing to be read again: then a block has few columns and many units of steps,
  // several segments, and is packed for more rows.
  long deep_units = 1024, deep_columns = 144;
  // Of products whose sizes the compiler knows: elements of B of one row that is unrolled; elements of B and of A, and
  // multiplications, of tiles over the operands as they lie; elements of C where the number of steps is unknown.
  long row_elements = 128, right_elements = 32768, left_elements = 8192, multiplications = 524288, results = 256;
};
inline constexpr ProductCosts product_costs{};
// Steps of k between two visits to the sums, which are there to add a segment.
template <class A>
inline constexpr long gemm_depth = segment_units<A>;
template <class T>
inline constexpr long gemm_columns =
    (steps_per_unit<T> > 1 ? product_costs.pairs_width_bytes : product_costs.width_bytes) / sizeof(ProductSum<T>) /
    gemm_panel<ProductSum<T>> * gemm_panel<ProductSum<T>>;
// Tiles of A that are packed together, and elements between two panels of B.
inline constexpr long gemm_group = 4;
template <class A>
inline constexpr long gemm_gap = 64 / sizeof(A);
// A way of the nearest cache.
inline constexpr long gemm_competing_bytes = 4096;
// Rows of one item, and of one block. Sums that do not fit into C, because it has another type or order, take scratch.
inline constexpr long gemm_row_chunk = 2L * tile_rows, gemm_most_rows = 64 * gemm_row_chunk;
template <class T>
inline constexpr long gemm_rows_aside = (steps_per_unit<T> > 1 ? 16 : 8) * gemm_row_chunk;

constexpr long at_most(long a, long b) { return a < b ? a : b; }
// Columns that scratch has room for, and rows of sums aside: the more, the fewer columns there are.
template <class T>
constexpr long gemm_width(long columns, long most_columns = gemm_columns<T>) {
  return round_up(at_most(columns, most_columns), gemm_panel<ProductSum<T>>);
}
template <class T>
constexpr long gemm_most_aside(long columns, long most_columns = gemm_columns<T>) {
  return at_most(gemm_most_rows, gemm_rows_aside<T> * most_columns /
                                     gemm_width<T>(columns > 1 ? columns : 1, most_columns) / gemm_row_chunk *
                                     gemm_row_chunk);
}

// The product as it is computed: C or its transpose, in chunks of rows and columns. Only whole chunks go to a thread.
template <class T>
struct GemmPlan {
  bool swapped, by_rows;  // by_rows: sums of a few rows are handed out as soon as they are complete, there is no C
  long rows, columns, k;
  const T* a;
  long a_row, a_col;
  const T* b;
  long b_row, b_col;
  long row_chunks, column_chunks, chunk_columns;
  const ProductCosts* costs = &product_costs;

  // The sums of unrounded elements are C itself.
  constexpr bool in_place() const { return std::is_same_v<ProductSum<T>, T> && !swapped && !by_rows; }
  constexpr bool deep() const {
    return steps_per_unit<T> > 1 && a_col == 1 && a_row % steps_per_unit<T> == 0 && k % steps_per_unit<T> == 0;
  }
  constexpr long depth() const { return deep() ? product_costs.deep_units : gemm_depth<ProductSum<T>>; }
  constexpr long block_columns() const { return deep() ? product_costs.deep_columns : gemm_columns<T>; }
  // A tile has all its steps at once.
  constexpr bool at_once() const { return units() <= depth(); }
  // Steps of k as they are packed.
  constexpr long units() const { return ceil_div(k, steps_per_unit<T>); }
  // Wide vectors gain less from that (a tenth at 1024 x 1024): their programs stay small instead.
  static constexpr bool may_stream = std::is_floating_point_v<T> && simd_bytes < 64;
  // One row, and b with its columns next to each other, at least a vector of them in each part: b is read once, row by
  // row (row_stream.hpp).
  constexpr bool streams() const {
    return may_stream && rows == 1 && !by_rows && b_col == 1 &&
           columns - (column_chunks - 1) * chunk_columns >= simd_width<T>;
  }
  // Sums of a row of tiles are complete, and stored or handed out, before those of the next one begin.
  constexpr bool row_by_row() const { return !in_place() && !swapped && at_once(); }
  constexpr long most_rows() const {
    return in_place() || row_by_row() ? gemm_most_rows : gemm_most_aside<T>(columns, block_columns());
  }
  // Columns of one part. Rows that are handed out at once should be whole rows, else no processor fetches ahead what is
  // done with them.
  constexpr long most_columns() const {
    return (by_rows && k <= gemm_depth<ProductSum<T>> / 2 ? 2 : 1) * block_columns();
  }
  // Rows of sums that take scratch.
  constexpr long rows_aside() const {
    return in_place() ? 0 : row_by_row() ? (by_amx<T> ? amx_square : tile_rows) : at_most(rows, most_rows());
  }
};

// Is A packed although no element changes? Not for few panels.
template <class A>
constexpr bool gemm_packs_a(long rows, long columns, const ProductCosts& costs) {
  return rows > tile_rows && columns > costs.few_panels * gemm_panel<A>;
}

// The cost of a product in steps: lanes that hold no column are computed too.
template <class A>
constexpr long gemm_cost(long rows, long columns, long k, long a_col, bool b_is_rows, const ProductCosts& costs) {
  constexpr long width = simd_width<A>;
  const long packed = b_is_rows ? columns * k / width * costs.packing : columns * k / costs.packing_across;
  const bool apart = simd_bytes < 64 && a_col != 1 &&
                     (gemm_packs_a<A>(rows, columns, costs) || a_col * long(sizeof(A)) % costs.crowded_bytes == 0 ||
                      at_most(k, gemm_depth<A>) * a_col * long(sizeof(A)) > costs.near_pages_bytes);
  return rows * (ceil_div(columns, width) * k + ceil_div(columns, width)) +
         (b_is_rows && rows <= gemm_row_chunk ? 0 : packed) + (apart ? rows * k / costs.scattered : 0);
}

// Stands for operands without elements, which may be null: beside a null pointer there is no address.
template <class T>
inline constexpr T no_element{};

template <class T>
constexpr GemmPlan<T> gemm_plan(const Gemm<T>& g, bool by_rows = false, const ProductCosts& costs = product_costs) {
  using A = ProductSum<T>;
  constexpr long width = simd_width<A>;
  const long straight = gemm_cost<A>(g.m, g.n, g.k, g.a_col, g.b_col == 1, costs);
  const long transposed = gemm_cost<A>(g.n, g.m, g.k, g.b_row, g.a_row == 1, costs) + g.m * g.n / costs.transposing;
  GemmPlan<T> p;
  if (transposed < straight && !by_rows)
    p = {true, false, g.n, g.m, g.k, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, 0, 0, 0};
  else p = {false, by_rows, g.m, g.n, g.k, g.a, g.a_row, g.a_col, g.b, g.b_row, g.b_col, 0, 0, 0};
  if (g.k == 0) p.a = p.b = &no_element<T>;
  p.costs = &costs;
  p.row_chunks = ceil_div(p.rows, gemm_row_chunk);
  p.column_chunks = ceil_div(p.columns, p.most_columns());
  p.chunk_columns = p.column_chunks > 1 ? round_up(ceil_div(p.columns, p.column_chunks), width) : p.columns;
  return p;
}

// One block of a plan's rows and columns, all of k, and how many items it is.
struct GemmPart {
  long row0, rows, column0, columns, items;
};
// The block that starts at an item, `end` being the last item that may be part of it.
template <class T>
[[gnu::noinline]] constexpr GemmPart gemm_part(const GemmPlan<T>& p, long item, long end) {
  if (p.row_chunks == 1 && p.column_chunks == 1) return {0, p.rows, 0, p.columns, 1};
  if (p.streams()) {  // the longer its rows, the faster they are read
    const long first = item * p.chunk_columns;
    return {0, 1, first, at_most((end - item) * p.chunk_columns, p.columns - first), end - item};
  }
  const long chunk = item % p.row_chunks, column0 = item / p.row_chunks * p.chunk_columns,
             row0 = chunk * gemm_row_chunk;
  const long most = p.most_rows() / gemm_row_chunk, left = at_most(end - item, p.row_chunks - chunk);
  const long run = left <= most ? left : ceil_div(left, ceil_div(left, most));  // even blocks
  return {row0, at_most(run * gemm_row_chunk, p.rows - row0), column0, at_most(p.chunk_columns, p.columns - column0),
          run};
}

// Parts of the workspace.
template <class T>
struct GemmScratch {
  Tap* taps;
  Packed<T>*a, *b;
  ProductSum<T>* sums;
  std::size_t total;
};
template <class T>
constexpr GemmScratch<T> gemm_scratch(long rows, long columns, long k, long rows_aside,
                                      long most_columns = gemm_columns<T>, long most_depth = gemm_depth<ProductSum<T>>,
                                      void* workspace = nullptr) {
  using A = ProductSum<T>;
  long depth = at_most(ceil_div(k, steps_per_unit<T>), most_depth), width = gemm_width<T>(columns, most_columns);
  if (width <= gemm_panel<A>) width = 2 * gemm_panel<A>;  // few columns may take two narrow panels
  if constexpr (by_amx<T>) depth = round_up(depth, amx_side), width = round_up(width, amx_square);
  WorkspaceParts parts(workspace);
  return {parts.take<Tap>(depth),
          parts.take<Packed<T>>(at_most(ceil_div(rows, tile_rows), gemm_group) * packed_rows * depth),
          parts.take<Packed<T>>(width * depth + width / gemm_panel<A> * gemm_gap<A>), parts.take<A>(rows_aside * width),
          parts.bytes()};
}
template <class T>
constexpr GemmScratch<T> gemm_scratch(const GemmPlan<T>& p, void* workspace) {
  return gemm_scratch<T>(p.rows, p.columns, p.k, p.rows_aside(), p.most_columns(), p.depth(), workspace);
}
}  // namespace detail

}  // namespace tenon::kernel
TENON_EXACT_END
