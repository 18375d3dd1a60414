// One block of a matrix product of bfloat16 by AMX: packing, and the walk of the tiles.
#pragma once
#include <tenon/kernel/cpu/amx.hpp>
#include <tenon/kernel/cpu/gemm_pack.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::detail {

// The product as C's transpose, and a part of it: the rows of one are the columns of the other.
template <class T>
constexpr GemmPlan<T> turned(const GemmPlan<T>& p) {
  return {!p.swapped, p.by_rows, p.columns, p.rows, p.k, p.b, p.b_col, p.b_row, p.a, p.a_col, p.a_row, 0, 0, 0};
}
constexpr GemmPart turned(const GemmPart& p) { return {p.column0, p.columns, p.row0, p.rows, p.items}; }

// What copying costs beside the tiles. Rows of A whose steps lie side by side are read as they are; a transposition is dear.
template <class T>
constexpr long copy_cost(const GemmPlan<T>& plan, const GemmPart& part) {
  const long a = plan.a_col != 1 ? 8 : plan.k % amx_steps ? 1 : 0, b = plan.b_col == 1 ? 1 : 4;
  return (part.rows * a + part.columns * b) * plan.k + (plan.swapped ? 4 : 1) * part.rows * part.columns;
}
// Is the block cheaper as a block of the transpose, and is there room for it?
template <class T>
constexpr bool is_better_turned(const GemmPlan<T>& plan, const GemmPart& part) {
  const GemmPlan<T> other = turned(plan);
  return part.rows <= other.block_columns() && part.columns <= other.most_rows() && copy_cost(other, turned(part)) < copy_cost(plan, part);
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
        sums_row_(round_up(part.columns, amx_side)) {
    const GemmScratch scratch = gemm_scratch<T>(plan.rows, plan.columns, plan.k, plan.rows_aside(), plan.most_columns(), plan.depth());
    char* const base = static_cast<char*>(workspace);
    packed_a_ = reinterpret_cast<std::uint16_t*>(base + scratch.a);
    packed_b_ = reinterpret_cast<Packed<T>*>(base + scratch.b);
    sums_ = reinterpret_cast<float*>(base + scratch.sums);
    pack_a_ = plan.a_col != 1 || plan.k % amx_steps != 0;
    block_by_block_ = plan.row_by_row();
  }

  void run() {
    AmxTiles tiles;
    const long units = plan_.units(), depth = plan_.depth();
    long first = 0;
    do {
      steps(tiles, first, at_most(units - first, depth));
      first += depth;
    } while (first < units);
    if (block_by_block_) return;
    if (plan_.swapped) copy_matrix(sums_, 1, sums_row_, g_.c + part_.column0 * g_.c_row + part_.row0, g_.c_row, part_.columns, part_.rows, 0);
    else rows_done(0, part_.rows);
  }

 private:
  static const char* bytes(const void* from) { return static_cast<const char*>(from); }
  // `depth` pairs of steps from number `first` on: whole groups, the last one filled up with zeros.
  void steps(AmxTiles& tiles, long first, long depth) {
    const long taken = at_most(depth * unit, plan_.k - first * unit), groups = ceil_div(depth, group_units);
    const long panel = amx_square * groups * group_units;
    pack_b(b_ + first * unit * plan_.b_row, depth, taken, groups, panel);
    for (long i = 0, rows; i < part_.rows; i += rows) {
      rows = at_most(part_.rows - i, amx_square);
      const T* const a = a_ + i * plan_.a_row + first * unit * plan_.a_col;
      if (pack_a_) pack_a(a, rows, taken, groups);
      constexpr long b_row = amx_square * 4;
      AmxProduct p{bytes(a), plan_.a_row * long(sizeof(T)), 64, nullptr, b_row, b_row * group_units, nullptr, sums_row_ * 4, groups, first > 0};
      if (pack_a_) p.a = bytes(packed_a_), p.a_row = 64, p.a_group = 64 * rows;
      for (long j = 0; j < part_.columns; j += amx_square) {
        p.b = bytes(packed_b_ + j / amx_square * panel);
        p.out = reinterpret_cast<char*>(sums_ + (block_by_block_ ? 0 : i * sums_row_) + j);
        tiles.multiply(p, rows, part_.columns - j);
      }
      if (block_by_block_) rows_done(i, rows);
    }
  }
  void rows_done(long i, long rows) const {
    for (long r = 0; r < rows; ++r) round_sums(sums_ + r * sums_row_, g_.c + (part_.row0 + i + r) * g_.c_row + part_.column0, part_.columns);
  }

  // Group after group, each of them a tile of so many rows.
  void pack_a(const T* a, long rows, long taken, long groups) const {
    const auto* const bits = reinterpret_cast<const std::uint16_t*>(a);
    for (long group = 0, p = 0; group < groups; ++group, p += amx_steps)
      copy_matrix(bits + p * plan_.a_col, plan_.a_row, plan_.a_col, packed_a_ + p * rows, amx_steps, rows, at_most(taken - p, amx_steps), amx_steps);
  }
  // Panels of 32 columns.
  void pack_b(const T* b, long depth, long taken, long groups, long panel) {
    Strip<T> strips[ceil_div(gemm_columns<T>, amx_square)];
    long count = 0;
    for (long j = 0; j < part_.columns; j += amx_square, ++count) {
      const long columns = at_most(part_.columns - j, amx_square);
      strips[count] = {b + j * plan_.b_col, columns, round_up(columns, amx_side)};
      clear(packed_b_ + count * panel + amx_square * depth, amx_square * (groups * group_units - depth));
    }
    pack_strips(strips, count, plan_.b_row, plan_.b_col, taken, packed_b_, amx_square, panel);
  }

  const GemmPlan<T>& plan_;
  const GemmPart& part_;
  const Gemm<T>& g_;
  const T *a_, *b_;
  long sums_row_;
  std::uint16_t* packed_a_;
  Packed<T>* packed_b_;
  float* sums_;
  bool pack_a_, block_by_block_;
};

template <class T>
[[gnu::noinline]] void gemm_amx_block(const GemmPlan<T>& plan, const Gemm<T>& g, void* workspace, const GemmPart& part) {
  if (is_better_turned(plan, part)) GemmAmxBlock<T>(turned(plan), g, workspace, turned(part)).run();
  else GemmAmxBlock<T>(plan, g, workspace, part).run();
}

}  // namespace tenon::kernel::detail
TENON_EXACT_END
