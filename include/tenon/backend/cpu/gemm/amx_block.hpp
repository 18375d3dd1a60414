// One block of a matrix product of bfloat16 by AMX: packing, and the walk of the tiles.
#pragma once
#include <tenon/backend/cpu/gemm/amx.hpp>
#include <tenon/backend/cpu/gemm/pack_operand.hpp>

#if defined(TENON_HAS_AMX)
TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// The product as C's transpose, and a part of it: the rows of one are the columns of the other.
template <class T>
constexpr GemmPlan<T> turned(const GemmPlan<T>& p) {
  return {!p.swapped, p.by_rows, p.columns, p.rows, p.k, p.b, p.b_col, p.b_row, p.a, p.a_col, p.a_row, 0, 0, 0};
}
constexpr GemmPart turned(const GemmPart& p) { return {p.column0, p.columns, p.row0, p.rows, p.items}; }

// What copying costs beside the tiles. Rows of A whose steps lie side by side are read as they are; what is transposed
// costs more.
template <class T>
constexpr long copy_cost(const GemmPlan<T>& plan, const GemmPart& part) {
  const long a = plan.a_col == 1 ? 0 : plan.a_row == 1 ? 2 : 16, b = plan.b_col == 1 ? 1 : plan.b_row == 1 ? 4 : 16;
  return (part.rows * a + part.columns * b) * plan.k + (plan.swapped ? 4 : 1) * part.rows * part.columns;
}

// Packs `steps` <= 32 steps of 16 rows that lie side by side, as a tile: the pairs of each row, zeros after them.
inline void pack_tile(const bfloat16* from, long step, long steps, Bfloat16Pair* to) {
  constexpr int side = int(amx_side);
  Simd<Bfloat16Pair, side> square[side];
  for (int p = 0; p < side; ++p) {
    const bfloat16* const first = from + 2 * p * step;
    square[p] = 2 * p < steps ? load_pairs<side>(first, 2 * p + 1 < steps ? first + step : nullptr)
                              : Simd<Bfloat16Pair, side>(0u);
  }
  transpose_lanes(square);
#pragma GCC unroll 16
  for (int i = 0; i < side; ++i) square[i].store(to + i * side);
}

template <class T>
class GemmAmxBlock {
  static constexpr long unit = steps_per_unit<T>, group_units = amx_steps / unit;

 public:
  GemmAmxBlock(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, const GemmPart& part)
      : plan_(plan),
        part_(part),
        g_(g),
        a_(plan.a + part.row0 * plan.a_row),
        b_(plan.b + part.column0 * plan.b_col),
        sums_row_(round_up(part.columns, amx_side)),
        at_(gemm_scratch(plan, workspace)),
        block_by_block_(plan.at_once()) {}

  void run() {
    AmxTiles tiles;
    const long units = plan_.units(), depth = plan_.depth();
    long first = 0;
    do {
      steps(tiles, first, at_most(units - first, depth));
      first += depth;
    } while (first < units);
    if (!block_by_block_) rows_done(0, part_.rows);
  }

 private:
  static const char* bytes(const void* from) { return static_cast<const char*>(from); }
  static const std::uint16_t* bits(const void* from) { return static_cast<const std::uint16_t*>(from); }
  static std::uint16_t* bits(void* to) { return static_cast<std::uint16_t*>(to); }
  // `depth` pairs of steps from number `first` on: whole groups, the last one filled up with zeros.
  void steps(AmxTiles& tiles, long first, long depth) {
    const long taken = at_most(depth * unit, plan_.k - first * unit), groups = ceil_div(depth, group_units),
               whole = taken / amx_steps;
    const long panel = amx_square * groups * group_units;
    pack_b(b_ + first * unit * plan_.b_row, depth, taken, groups, panel);
    for (long i = 0, rows; i < part_.rows; i += rows) {
      rows = at_most(part_.rows - i, amx_square);
      const T* const a = a_ + i * plan_.a_row + first * unit * plan_.a_col;
      constexpr long b_row = amx_square * 4;
      AmxProduct p{bytes(a), plan_.a_row * long(sizeof(T)), 64,      groups,        nullptr,  nullptr,
                   b_row,    b_row * group_units,           nullptr, sums_row_ * 4, first > 0};
      if (plan_.a_col != 1) {
        pack_a(a, rows, taken, groups);
        p.a = bytes(at_.a), p.a_row = 64, p.a_group = 64 * rows;
      } else if (whole < groups) {  // only the end of the rows
        pack_a(a + whole * amx_steps, rows, taken - whole * amx_steps, 1);
        p.groups = whole, p.last = bytes(at_.a);
      }
      for (long j = 0; j < part_.columns; j += amx_square) {
        p.b = bytes(at_.b + j / amx_square * panel);
        p.out = reinterpret_cast<char*>(at_.sums + (block_by_block_ ? 0 : i * sums_row_) + j);
        tiles.multiply(p, rows, part_.columns - j);
      }
      if (block_by_block_) rows_done(i, rows);
    }
  }
  void rows_done(long i, long rows) const {
    if (plan_.swapped)
      return copy_matrix(at_.sums, 1, sums_row_, g_.c + part_.column0 * g_.c_row + part_.row0 + i, g_.c_row,
                         part_.columns, rows, 0);
    for (long r = 0; r < rows; ++r)
      round_sums(at_.sums + r * sums_row_, g_.c + (part_.row0 + i + r) * g_.c_row + part_.column0, part_.columns);
  }

  // Group after group, each of them a tile of this many rows.
  void pack_a(const T* a, long rows, long taken, long groups) const {
    const long by_tiles = plan_.a_row == 1 ? rows / amx_side * amx_side : 0;
    for (long group = 0; group < groups; ++group) {
      const T* const from = a + group * amx_steps * plan_.a_col;
      const long steps = at_most(taken - group * amx_steps, amx_steps);
      Packed<T>* const to = at_.a + group * rows * amx_side;
      for (long i = 0; i < by_tiles; i += amx_side) pack_tile(from + i, plan_.a_col, steps, to + i * amx_side);
      copy_matrix(bits(from + by_tiles * plan_.a_row), plan_.a_row, plan_.a_col, bits(to + by_tiles * amx_side),
                  amx_steps, rows - by_tiles, steps, amx_steps);
    }
  }
  // Panels of 32 columns.
  void pack_b(const T* b, long depth, long taken, long groups, long panel) {
    Strip<T> strips[ceil_div(gemm_columns<T>, amx_square)];
    long count = 0;
    for (long j = 0; j < part_.columns; j += amx_square, ++count) {
      const long columns = at_most(part_.columns - j, amx_square);
      strips[count] = {b + j * plan_.b_col, columns, round_up(columns, amx_side)};
      clear(at_.b + count * panel + amx_square * depth, amx_square * (groups * group_units - depth));
    }
    pack_strips(strips, count, plan_.b_row, plan_.b_col, taken, at_.b, amx_square, panel);
  }

  const GemmPlan<T>& plan_;
  const GemmPart& part_;
  const Gemm<T>& g_;
  const T *a_, *b_;
  long sums_row_;
  const GemmScratch<T> at_;
  bool block_by_block_;
};

// A part of the product, as it is planned or turned, whichever is cheaper; turned, it may be more than one block.
template <class T>
[[gnu::noinline]] void gemm_amx_block(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace,
                                      const GemmPart& part) {
  const GemmPlan<T> other = turned(plan);
  const GemmPart whole = turned(part);
  if (copy_cost(plan, part) <= copy_cost(other, whole)) return GemmAmxBlock<T>(plan, g, workspace, part).run();
  const long most_rows = other.most_rows(), most_columns = other.block_columns();
  for (long i = 0; i < whole.rows; i += most_rows)
    for (long j = 0; j < whole.columns; j += most_columns) {
      const GemmPart block{whole.row0 + i, at_most(most_rows, whole.rows - i), whole.column0 + j,
                           at_most(most_columns, whole.columns - j), 0};
      GemmAmxBlock<T>(other, g, workspace, block).run();
    }
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
#endif
