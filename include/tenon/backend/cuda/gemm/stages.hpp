// How factors of a product come to shared memory, as [step][line]: some steps of a tile's lines at a time, a stage.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cuda/async_copy.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How a block computes its tile: rows and columns of it, and of a thread's part; steps of a stage; parts that a block
/// has at most, which compute segments of the same tile at the same time; blocks for which a multiprocessor has
/// registers; stages in shared memory; steps of a line that a thread reads at once. A warp has 4 x 8 threads.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns, int Depth, int Parts = 1, int Resident = 0,
          int Stages = 4, int Together = 4>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns, thread_rows = ThreadRows, thread_columns = ThreadColumns,
                       depth = Depth, parts = Parts, resident = Resident, stages = Stages, together = Together,
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
/// Neighbours that are read from shared memory at once.
template <class A, int count>
struct alignas(count * sizeof(A) < 16 ? count * sizeof(A) : 16) Factors {
  A value[count];
};

/// Starts to copy four neighbours of which `there` exist: at once if they are aligned, and all or none exist.
__device__ inline void copy_neighbours(float* to, const float* from, int there, bool together) {
  if (together) return copy_four_async(to, from, there > 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) copy_async(to + i, from + i, there > i);
}

/// A stage in shared memory as [step][line]. Threads read a step of some neighbours at once.
template <class A, int lines>
struct LinesOfSteps {
  static constexpr int together = 1, pitch = lines + 4;
  static constexpr int elements(int depth) { return depth * pitch; }

  /// Where a thread's lines are whose first one is `first`.
  __device__ static int place(int first) { return first; }
  /// A step of `count` lines: chunks of neighbours, `apart` from each other.
  template <int many, int chunk, int apart, int count>
  __device__ static void read(const A* own, int step, A (&to)[many][count]) {
    static_assert(many == 1);
#pragma unroll
    for (int i = 0; i < count; i += chunk) {
      const auto factors = *reinterpret_cast<const Factors<A, chunk>*>(own + step * pitch + i / chunk * apart);
#pragma unroll
      for (int k = 0; k < chunk; ++k) to[0][i + k] = factors.value[k];
    }
  }
};
/// A stage as [line][step]. Threads read some steps of a line at once, those of neighbouring threads a chunk further:
/// so first come the first lines of all chunks, then the second ones ..., and all are in different banks.
template <class A, int lines, int chunk, class Tile>
struct StepsOfLines {
  static constexpr int together = Tile::together, pitch = Tile::depth + 4, section = lines / chunk;
  static constexpr int elements(int) { return lines * pitch; }
  __device__ static constexpr int line_at(int place) { return place % section * chunk + place / section; }

  __device__ static int place(int first) { return first / chunk * pitch; }
  template <int many, int, int apart, int count>
  __device__ static void read(const A* own, int step, A (&to)[many][count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int at = (i % chunk * section + i / chunk * (apart / chunk)) * pitch;
      const auto factors = *reinterpret_cast<const Factors<A, many>*>(own + at + step);
#pragma unroll
      for (int k = 0; k < many; ++k) to[k][i] = factors.value[k];
    }
  }
};

/// By way of registers, for factors that are computed or converted: fetch() reads the next stage, store() writes it.
template <class A, int lines, class Tile, class Factor>
struct StagedLines : LinesOfSteps<A, lines> {
  static constexpr int each = lines * Tile::depth / Tile::part_threads;
  using LinesOfSteps<A, lines>::pitch;
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
template <int lines, int chunk, class Tile, bool by_steps>
struct CopiedLines;

/// Whether whole tiles are copied without conditions, from what stays in registers: where threads have many registers,
/// as those of many elements have.
template <class Tile>
inline constexpr bool copies_whole_tiles = Tile::thread_rows * Tile::thread_columns > 16;
/// What such copies begin with.
template <class Tile, class T>
__device__ T kept(T value) {
  return copies_whole_tiles<Tile> ? kept_in_register(value) : value;
}

/// copy(0, whole), copy(step, whole) ... If most tiles are whole, code for each condition of the others would only take
/// time to compile.
template <int count, int step, bool mostly_whole, class Copy>
__device__ void copy_steps(bool whole, Copy copy) {
  if (mostly_whole && whole) {
#pragma unroll
    for (int i = 0; i < count; i += step) copy(i, true);
  } else if constexpr (mostly_whole) {
#pragma unroll 1
    for (int i = 0; i < count; i += step) copy(i, false);
  } else {
#pragma unroll
    for (int i = 0; i < count; i += step) copy(i, false);
  }
}

/// Of columns, a thread reads four neighbours, at once where they are aligned. They stay as they are, [step][line].
template <int lines, int chunk, class Tile>
struct CopiedLines<lines, chunk, Tile, false> : LinesOfSteps<float, lines> {
  static constexpr int fours = lines / 4, fours_down = Tile::part_threads / fours;
  static_assert(Tile::part_threads % fours == 0);
  using LinesOfSteps<float, lines>::pitch;

  const float* from;
  int left, matrix_pitch, mine, other;  // left: lines from the thread's first one on
  bool by_fours;
  int whole;  // all lines of the tile exist, and are copied by fours

  __device__ CopiedLines(const MatrixLines<float, false>& matrix, long first_line, int thread)
      : matrix_pitch(matrix.pitch),
        mine(thread % fours * 4),
        other(thread / fours),
        by_fours((matrix.pitch | matrix.lines) % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix.from) % 16 == 0),
        whole(kept<Tile>(int(by_fours && first_line + lines <= matrix.lines))) {
    const long line = first_line + mine;
    left = int(matrix.lines - line);
    from = kept<Tile>(matrix.from + other * long(matrix_pitch) + line);
  }
  __device__ void fetch(float* to, int step, int end) const {
    const float* const next = from + long(step) * matrix_pitch;
    to += other * pitch + mine;
    const auto copy = [&](int s, bool is_whole) {
      if (fours_down > Tile::depth && other >= Tile::depth) return;
      float* const own = to + s * pitch;
      const float* const at = next + long(s) * matrix_pitch;
      if (is_whole) copy_four_async(own, at, true);
      else copy_neighbours(own, at, step + other + s < end ? left : 0, by_fours);
    };
    copy_steps<Tile::depth, fours_down, copies_whole_tiles<Tile>>(whole && step + Tile::depth <= end, copy);
  }
};

/// Of rows, too, a thread reads four neighbours. They stay as they are, [line][step].
template <int lines, int chunk, class Tile>
struct CopiedLines<lines, chunk, Tile, true> : StepsOfLines<float, lines, chunk, Tile> {
  using Places = StepsOfLines<float, lines, chunk, Tile>;
  static constexpr int fours = Tile::depth / 4, lines_down = Tile::part_threads / fours, sections = Places::section;
  static_assert(Tile::depth % 4 == 0 && Tile::part_threads % fours == 0);
  static_assert(sections % lines_down == 0 || lines_down % sections == 0);

  const float* from;
  int left, matrix_pitch, mine, other;  // left: lines from the thread's first one on
  bool by_fours;
  int whole;  // all lines of the tile exist, and are copied by fours

  __device__ CopiedLines(const MatrixLines<float, true>& matrix, long first_line, int thread)
      : matrix_pitch(matrix.pitch),
        mine(thread % fours * 4),
        other(thread / fours),
        by_fours(matrix.pitch % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix.from) % 16 == 0),
        whole(kept<Tile>(int(by_fours && first_line + lines <= matrix.lines))) {
    const long line = first_line + Places::line_at(other);
    left = int(matrix.lines - line);
    from = kept<Tile>(matrix.from + line * matrix_pitch + mine);
  }
  __device__ void fetch(float* to, int step, int end) const {
    const float* const next = from + step;
    to += other * Places::pitch + mine;
    const auto copy = [&](int place, bool is_whole) {
      if (lines_down > lines && other >= lines) return;
      const int line = Places::line_at(place);
      float* const own = to + place * Places::pitch;
      const float* const at = next + long(line) * matrix_pitch;
      if (is_whole) copy_four_async(own, at, true);
      else copy_neighbours(own, at, line < left ? end - step - mine : 0, by_fours && step % 4 == 0);
    };
    copy_steps<lines, lines_down, copies_whole_tiles<Tile>>(whole && step % 4 == 0 && step + Tile::depth <= end, copy);
  }
};
}  // namespace detail

namespace detail {
template <class Factor>
inline constexpr bool is_copied = false;
template <bool by_steps>
inline constexpr bool is_copied<MatrixLines<float, by_steps>> = true;

template <bool copied, class A, int lines, int chunk, class Tile, class Factor>
struct LinesOf {
  using Type = StagedLines<A, lines, Tile, Factor>;
};
template <class A, int lines, int chunk, class Tile, bool by_steps>
struct LinesOf<true, A, lines, chunk, Tile, MatrixLines<float, by_steps>> {
  using Type = CopiedLines<lines, chunk, Tile, by_steps>;
};
}  // namespace detail

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
