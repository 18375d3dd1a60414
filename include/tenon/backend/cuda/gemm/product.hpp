// Products of matrices in the CPU's order: a tile of the result per block, a smaller one per thread. Whatever is a sum
// of products over segments of steps, convolutions too, says where its factors are and which steps are a segment.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/backend/cuda/device.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// How a block computes its tile: rows and columns of it, and of a thread's part; steps that lie in shared memory at a
/// time; parts of the block, which compute segments of the same tile at the same time; blocks for which a
/// multiprocessor has registers. A warp has 4 x 8 threads.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns, int Depth, int Parts = 1, int Resident = 0>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns, thread_rows = ThreadRows, thread_columns = ThreadColumns,
                       depth = Depth, parts = Parts, resident = Resident,
                       part_threads = Rows / ThreadRows * (Columns / ThreadColumns), threads = parts * part_threads,
                       warps_across = Columns / (8 * ThreadColumns);
  static_assert(Rows % (4 * ThreadRows) == 0 && Columns % (8 * ThreadColumns) == 0);
  static_assert(Rows * Depth % part_threads == 0 && Columns * Depth % part_threads == 0);
};

namespace detail {
/// Neighbours that are read from shared memory at once.
template <class A, int count>
struct alignas(count * sizeof(A) < 16 ? count * sizeof(A) : 16) Factors {
  A value[count];
};

/// `lines` lines of a factor, which go to shared memory as [step][line] by way of registers.
template <class A, int lines, class Tile, class Factor>
struct StagedLines {
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
  __device__ void fetch(long step, long end) {
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
}  // namespace detail

/// The blocks that compute the products of a Source:
///
///     using T                               the type of elements
///     static Extent extent(long n)          rows, columns, and products of a batch: where they differ, the most
///     Source(a, index)                      product number `index`, with
///     left, right                           its factors: Line line(long), Step step(long), at(line, step), and
///                                           whether the steps of a line are neighbours in memory; beyond the last
///                                           line it is 0
///     rows, columns                         its sizes
///     segments(), segment_begin(i)          where segment i begins; with several parts none is longer than the first
///     put(a, row, column, value)            takes an element of the result
///
/// A Source may have `samples`, a power of two. The product is then a sum over that many samples. A sample is the sum
/// of its `of_sample()` segments, added one after the other. The samples are added as a tree, neighbours first; a
/// missing sample is +0.
template <class Source, class Tile>
struct ProductBlocks {
  using T = typename Source::T;
  using A = ProductSum<T>;
  static constexpr int threads = Tile::threads, resident = Tile::resident, parts = Tile::parts, depth = Tile::depth,
                       tr = Tile::thread_rows, tc = Tile::thread_columns, unit = steps_per_unit<T>,
                       share = (tr * tc + parts - 1) / parts;
  // Sums of several segments wait in shared memory where a thread has many.
  static constexpr bool aside = parts == 1 && tr * tc > 16;
  static constexpr int row_chunk = tr < 4 ? tr : 4, column_chunk = tc < 4 ? tc : 4;
  static constexpr bool is_tree = requires(const Source s) { s.samples; };
  using Left = detail::StagedLines<A, Tile::rows, Tile, typename Source::Left>;
  using Right = detail::StagedLines<A, Tile::columns, Tile, typename Source::Right>;
  static constexpr int stage = depth * (Left::pitch + Right::pitch), sums = parts > 1 || aside ? tr *tc *threads : 0;
  static_assert(depth % unit == 0 && (!is_tree || (parts == 1 && !aside)));

  static long blocks(long n) {
    const auto all = Source::extent(n);
    return blocks_for(all.rows, Tile::rows) * blocks_for(all.columns, Tile::columns) * all.products;
  }
  /// `levels`: of the tree over samples.
  static void launch(const Arguments& a, int levels = 0) {
    launch_blocks<ProductBlocks>(a, blocks(a.n),
                                 (2 * parts * stage + sums + levels * tr * tc * threads) * int(sizeof(A)));
  }

  __device__ static void block(const Arguments& a) {
    const auto all = Source::extent(a.n);
    const long across = (all.columns + Tile::columns - 1) / Tile::columns,
               down = (all.rows + Tile::rows - 1) / Tile::rows, tile = blockIdx.x;
    const Source source(a, tile / (across * down));
    const long row0 = tile / across % down * Tile::rows, column0 = tile % across * Tile::columns;
    if (row0 >= source.rows || column0 >= source.columns) return;
    ProductBlocks(source, row0, column0).run(a);
  }

 private:
  const Source& source;
  const long row0, column0;
  const int part, thread, row, column;  // row and column in the tile
  A* const shared;
  A sum[tr][tc], total[aside ? 1 : share];

  __device__ ProductBlocks(const Source& from, long first_row, long first_column)
      : source(from),
        row0(first_row),
        column0(first_column),
        part(int(threadIdx.x) / Tile::part_threads),
        thread(int(threadIdx.x) % Tile::part_threads),
        row(thread / warp / Tile::warps_across * 4 * tr + (thread % 2 + thread % warp / 16 * 2) * row_chunk),
        column(thread / warp % Tile::warps_across * 8 * tc + thread / 2 % 8 * column_chunk),
        shared(reinterpret_cast<A*>(dynamic_shared())) {}

  // Row i of a thread, and column j: chunks of neighbours.
  __device__ static constexpr int row_of(int i) { return i / row_chunk * 4 * row_chunk + i % row_chunk; }
  __device__ static constexpr int column_of(int j) { return j / column_chunk * 8 * column_chunk + j % column_chunk; }

  __device__ void run(const Arguments& a) {
    Left left(source.left, row0, thread);
    Right right(source.right, column0, thread);
    A* const stages = shared + part * 2 * stage;
    const long segments = source.segments();
    clear();
    if (segments == 0) {
#pragma unroll
      for (int q = 0; q < share; ++q)
        if constexpr (aside) shared[2 * stage + q * threads + thread] = A(0);
        else total[q] = A(0);
    }
    // The segments of a round, one for each part, take as many steps as the first one.
    long round = 0, begin = 0, end = 0, offset = 0, steps = 0;
    const auto start = [&](long first) {
      const long own = first + part;
      begin = own < segments ? source.segment_begin(own) : 0;
      end = own < segments ? source.segment_begin(own + 1) : 0;
      steps = first < segments ? source.segment_begin(first + 1) - source.segment_begin(first) : 0;
      offset = 0;
    };
    start(0);
    if (segments > 0) {
      left.fetch(begin, end), right.fetch(begin, end);
      left.store(stages), right.store(stages + depth * Left::pitch);
      __syncthreads();
    }
    for (int now = 0; round < segments; now ^= 1) {
      const long first = round, left_over = end - begin - offset;
      const int count = left_over < 0 ? 0 : left_over < depth ? int(left_over) : depth;
      const bool last = offset + depth >= steps;
      if (last) start(round += parts);
      else offset += depth;
      if (round < segments) left.fetch(begin + offset, end), right.fetch(begin + offset, end);
      multiply(stages + now * stage, count);
      if (last) finish_segments(first, segments);
      if (round < segments) {
        A* const next = stages + (now ^ 1) * stage;
        left.store(next), right.store(next + depth * Left::pitch);
        __syncthreads();
      }
    }
    if constexpr (is_tree) {
      for (int missing = int(segments / source.of_sample()); missing < source.samples; ++missing) {
#pragma unroll
        for (int q = 0; q < share; ++q) total[q] = A(0);
        join_sample(missing);
      }
    }
    put(a);
  }
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < tr; ++i)
#pragma unroll
      for (int j = 0; j < tc; ++j) sum[i][j] = A(0);
  }
  __device__ void multiply(const A* factors, int count) {
    const A *const lefts = factors + row, *const rights = factors + depth * Left::pitch + column;
    if (count == depth) {
#pragma unroll
      for (int d = 0; d < depth; d += unit)
#pragma unroll
        for (int u = unit - 1; u >= 0; --u) step(lefts, rights, d + u);
    } else {
#pragma unroll 1
      for (int d = 0; d < count; d += unit)
#pragma unroll
        for (int u = unit - 1; u >= 0; --u) step(lefts, rights, d + u);
    }
  }
  __device__ void step(const A* lefts, const A* rights, int d) {
    A x[tr], y[tc];
#pragma unroll
    for (int i = 0; i < tr; i += row_chunk) load_factors<row_chunk>(lefts + d * Left::pitch + row_of(i), x + i);
#pragma unroll
    for (int j = 0; j < tc; j += column_chunk)
      load_factors<column_chunk>(rights + d * Right::pitch + column_of(j), y + j);
#pragma unroll
    for (int i = 0; i < tr; ++i)
#pragma unroll
      for (int k = 0; k < tc; ++k) {  // to and fro: a factor that is used twice in a row is read from a register once
        const int j = i % 2 ? tc - 1 - k : k;
        sum[i][j] = fmadd(x[i], y[j], sum[i][j]);
      }
  }
  template <int count>
  __device__ static void load_factors(const A* from, A* to) {
    const auto factors = *reinterpret_cast<const detail::Factors<A, count>*>(from);
#pragma unroll
    for (int i = 0; i < count; ++i) to[i] = factors.value[i];
  }
  // Adds the segments of a round to the totals, one after the other.
  __device__ void finish_segments(long first, long segments) {
    A* const sums_of = shared + 2 * parts * stage;
    if constexpr (is_tree) {
      const int per_sample = source.of_sample(), place = int(first) % per_sample;
#pragma unroll
      for (int q = 0; q < share; ++q) total[q] = place == 0 ? sum[q / tc][q % tc] : total[q] + sum[q / tc][q % tc];
      if (place + 1 == per_sample) join_sample(int(first) / per_sample);
    } else if constexpr (parts == 1) {
#pragma unroll
      for (int q = 0; q < share; ++q) {
        const A own = sum[q / tc][q % tc];
        if constexpr (aside) {
          A& kept = sums_of[q * threads + thread];
          kept = first == 0 ? own : kept + own;
        } else total[q] = first == 0 ? own : total[q] + own;
      }
    } else {
#pragma unroll
      for (int q = 0; q < tr * tc; ++q)
        sums_of[(part * tr * tc + q) * Tile::part_threads + thread] = sum[q / tc][q % tc];
      __syncthreads();
#pragma unroll
      for (int q = 0; q < share; ++q)
        for (int other = 0; part * share + q < tr * tc && other < parts && first + other < segments; ++other) {
          const A own = sums_of[(other * tr * tc + part * share + q) * Tile::part_threads + thread];
          total[q] = first + other == 0 ? own : total[q] + own;
        }
      __syncthreads();
    }
    clear();
  }
  // The total is the sum of sample number `index`: adds those before it whose neighbour it completes.
  __device__ void join_sample(int index) {
    A* level = shared + 2 * stage + thread;
    for (; index & 1; index >>= 1, level += tr * tc * threads)
#pragma unroll
      for (int q = 0; q < share; ++q) total[q] = level[q * threads] + total[q];
    if (level == shared + 2 * stage + thread + levels_of(source.samples) * tr * tc * threads) return;
#pragma unroll
    for (int q = 0; q < share; ++q) level[q * threads] = total[q];
  }
  __device__ static int levels_of(int samples) {
    int levels = 0;
    for (; samples > 1; samples /= 2) ++levels;
    return levels;
  }
  __device__ void put(const Arguments& a) {
#pragma unroll
    for (int q = 0; q < share; ++q) {
      const int element = part * share + q;
      const long r = row0 + row + row_of(element / tc), c = column0 + column + column_of(element % tc);
      A value;
      if constexpr (aside) value = shared[2 * stage + q * threads + thread];
      else value = total[q];
      if (element < tr * tc && r < source.rows && c < source.columns) source.put(a, r, c, narrowed<T>(value));
    }
  }
};

/// Rows and columns of a product, and how many there are.
struct ProductExtent {
  long rows, columns, products;
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

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
