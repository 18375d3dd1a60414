// How factors of a product come to shared memory, as [step][line]: some steps of a tile's lines at a time, a stage.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cuda/async_copy.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How a block computes its tile: rows and columns of it, and of a thread's part; steps of a stage; parts that a block
/// has at most, which compute segments of the same tile at the same time; blocks for which a multiprocessor has
/// registers; stages in shared memory. A warp has 4 x 8 threads.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns, int Depth, int Parts = 1, int Resident = 0,
          int Stages = 4>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns, thread_rows = ThreadRows, thread_columns = ThreadColumns,
                       depth = Depth, parts = Parts, resident = Resident, stages = Stages,
                       part_threads = Rows / ThreadRows * (Columns / ThreadColumns), threads = parts * part_threads,
                       warps_across = Columns / (8 * ThreadColumns);
  static_assert(Rows % (4 * ThreadRows) == 0 && Columns % (8 * ThreadColumns) == 0);
  static_assert(Rows * Depth % part_threads == 0 && Columns * Depth % part_threads == 0);
};

/// Lines of a matrix in memory: its rows, whose steps are neighbours, or its columns.
template <class Element, bool rows>
struct MatrixLines {
  static constexpr bool steps_are_neighbours = rows;
  using A = ProductSum<Element>;
  const Element* from;
  int lines, pitch;  // pitch: elements of a row of the matrix

  struct Line {
    const Element* from;
    bool there;
  };
  using Step = long;
  __device__ Line line(long l) const { return {from + (rows ? l * pitch : l), l < lines}; }
  __device__ Step step(long s) const { return rows ? s : s * pitch; }
  __device__ A at(const Line& l, Step step) const { return l.there ? widened(l.from[step]) : A(0); }
};

namespace detail {
/// By way of registers, for factors that are computed or converted: fetch() reads the next stage, store() writes it.
template <class A, int lines, class Tile, class Factor>
struct StagedLines {
  static constexpr bool is_async = false;
  static constexpr int each = lines * Tile::depth / Tile::part_threads, pitch = lines + 4;
  // Neighbouring threads read neighbouring elements: each those of one step, or of one line.
  static constexpr bool by_steps = Factor::steps_are_neighbours;
  static constexpr int own = by_steps ? Tile::depth : lines, others = Tile::part_threads / own;
  static_assert(Tile::part_threads % own == 0);

  const Factor& factor;
  long first;
  int mine, other;
  typename Factor::Line line;
  A value[each];

  __device__ StagedLines(const Factor& from, long first_line, int thread)
      : factor(from),
        first(first_line),
        mine(thread % own),
        other(thread / own),
        line(from.line(first_line + (by_steps ? 0 : mine))) {}
  __device__ void fetch(A*, long step, long end) {
    if constexpr (by_steps) {
      const bool there = step + mine < end;
      const auto at = factor.step(there ? step + mine : step);
#pragma unroll
      for (int i = 0; i < each; ++i) value[i] = there ? factor.at(factor.line(first + other + i * others), at) : A(0);
    } else {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const long s = step + other + i * others;
        value[i] = s < end ? factor.at(line, factor.step(s)) : A(0);
      }
    }
  }
  __device__ void store(A* to) const {
    A* const from = to + (by_steps ? mine * pitch + other : other * pitch + mine);
#pragma unroll
    for (int i = 0; i < each; ++i) from[i * others * (by_steps ? 1 : pitch)] = value[i];
  }
};

/// Straight from a matrix of float32, several stages ahead: fetch() starts copies.
template <int lines, class Tile, bool by_steps>
struct CopiedLines {
  static constexpr bool is_async = true;
  static constexpr int pitch = lines + 4;
  // Of rows, a quarter of a warp reads 8 steps, 32 bytes. Their places in shared memory are in different banks.
  static constexpr int steps_across = 8, lines_down = Tile::part_threads / steps_across;
  // Of columns, a thread reads four neighbours, at once where they are aligned.
  static constexpr int fours = lines / 4, fours_down = Tile::part_threads / fours;
  static_assert(Tile::depth % steps_across == 0 && lines % lines_down == 0 && Tile::part_threads % fours == 0);

  const float* from;
  int left, matrix_pitch, mine, other;  // left: lines from the thread's first one on
  bool by_fours;

  __device__ CopiedLines(const MatrixLines<float, by_steps>& matrix, long first_line, int thread)
      : matrix_pitch(matrix.pitch),
        by_fours(!by_steps && (matrix.pitch | matrix.lines) % 4 == 0 &&
                 reinterpret_cast<std::uintptr_t>(matrix.from) % 16 == 0) {
    if constexpr (by_steps) mine = thread % steps_across, other = thread / steps_across;
    else mine = thread % fours * 4, other = thread / fours;
    const long line = first_line + (by_steps ? other : mine);
    left = int(matrix.lines - line);
    from = matrix.from + (by_steps ? line * matrix.pitch + mine : other * long(matrix.pitch) + line);
  }
  __device__ void fetch(float* to, int step, int end) const {
    if constexpr (by_steps) {
      const float* next = from + step;
#pragma unroll
      for (int line = 0; line < lines; line += lines_down, next += long(lines_down) * matrix_pitch)
#pragma unroll
        for (int s = 0; s < Tile::depth; s += steps_across)
          copy_async(to + (mine + s) * pitch + other + line, next + s, line < left && step + mine + s < end);
    } else {
      const float* next = from + long(step) * matrix_pitch;
#pragma unroll
      for (int s = 0; s < Tile::depth; s += fours_down, next += long(fours_down) * matrix_pitch) {
        if (fours_down > Tile::depth && other >= Tile::depth) continue;
        float* const own = to + (other + s) * pitch + mine;
        const bool there = step + other + s < end;
        if (by_fours) copy_four_async(own, next, there && left > 0);
        else {
#pragma unroll
          for (int i = 0; i < 4; ++i) copy_async(own + i, next + i, there && left > i);
        }
      }
    }
  }
};
}  // namespace detail

namespace detail {
template <class Factor>
inline constexpr bool is_copied = false;
template <bool by_steps>
inline constexpr bool is_copied<MatrixLines<float, by_steps>> = true;

template <bool copied, class A, int lines, class Tile, class Factor>
struct LinesOf {
  using Type = StagedLines<A, lines, Tile, Factor>;
};
template <class A, int lines, class Tile, bool by_steps>
struct LinesOf<true, A, lines, Tile, MatrixLines<float, by_steps>> {
  using Type = CopiedLines<lines, Tile, by_steps>;
};
}  // namespace detail

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
