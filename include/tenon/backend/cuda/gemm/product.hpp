// Products of matrices in the CPU's order: a tile of the result per block, a smaller one per thread. Whatever is a sum
// of products over segments of steps, convolutions too, says where its factors are and which steps are a segment.
#pragma once
#include <algorithm>

#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/gemm/stages.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Rows and columns of a product, and how many there are.
struct ProductExtent {
  long rows, columns, products;
};

namespace detail {
struct NoSizes {};
template <class Source>
auto sizes_of() {
  if constexpr (requires { typename Source::Sizes; }) return typename Source::Sizes{};
  else return NoSizes{};
}
template <class Source, class Sizes>
TENON_DEVICE constexpr auto extent_of(const Sizes& sizes, long n) {
  if constexpr (std::is_same_v<Sizes, NoSizes>) return Source::extent(n);
  else return Source::extent(sizes);
}
/// Where a part of a block is: at a stage of steps of a segment. The segments of a round, one for each part, take as
/// many steps as the first one.
struct ProductPlace {
  int segment = 0, begin = 0, end = 0, steps = 0;  // segment: the first one of the round; end: of the own one

  template <class Source>
  __device__ void start(const Source& source, int first, int part) {
    const int segments = int(source.segments()), own = first + part;
    segment = first;
    begin = own < segments ? int(source.segment_begin(own)) : 0;
    end = own < segments ? int(source.segment_begin(own + 1)) : 0;
    steps = first < segments ? int(source.segment_begin(first + 1) - source.segment_begin(first)) : 0;
  }
  template <int depth>
  __device__ int count() const {
    return end - begin < depth ? (end > begin ? end - begin : 0) : depth;
  }
  /// To the next stage; true if it begins a round.
  template <int depth, class Source>
  __device__ bool next(const Source& source, int part, int parts) {
    begin += depth, steps -= depth;
    if (steps > 0) return false;
    start(source, segment + parts, part);
    return true;
  }
};
}  // namespace detail

/// The sum of products that a block computes, of a Source as ProductBlocks has it.
template <class Source, class Tile>
struct ProductSums {
  using T = typename Source::T;
  using A = ProductSum<T>;
  static constexpr int threads = Tile::threads, depth = Tile::depth, tr = Tile::thread_rows, tc = Tile::thread_columns,
                       unit = steps_per_unit<T>, elements = tr * tc;
  // Sums of several segments wait in shared memory where a thread has many.
  static constexpr bool aside = Tile::parts == 1 && elements > 16;
  static constexpr int row_chunk = tr < 4 ? tr : 4, column_chunk = tc < 4 ? tc : 4;
  static constexpr bool copied = detail::is_copied<typename Source::Left> && detail::is_copied<typename Source::Right>;
  using Left = typename detail::LinesOf<copied, A, Tile::rows, row_chunk, Tile, typename Source::Left>::Type;
  using Right = typename detail::LinesOf<copied, A, Tile::columns, column_chunk, Tile, typename Source::Right>::Type;
  static constexpr int stages = copied ? Tile::stages : 2, left_stage = Left::elements(depth),
                       stage = left_stage + Right::elements(depth),
                       group = std::max({unit, Left::together, Right::together});
  static_assert(depth % group == 0);

  /// Elements of shared memory. `one`: there is no second segment.
  static constexpr int shared(int parts, bool one = false) {
    return stages * parts * stage + (parts > 1 || (aside && !one) ? elements * parts * Tile::part_threads : 0);
  }

  const Source& source;
  const int row0, column0, parts, part, thread, row, column;  // row and column in the tile
  A* const shared_;
  A sum[tr][tc], total[aside ? 1 : elements];

  __device__ ProductSums(const Source& from, int first_row, int first_column, int parts_of_block)
      : source(from),
        row0(first_row),
        column0(first_column),
        parts(Tile::parts == 1 ? 1 : parts_of_block),
        part(Tile::parts == 1 ? 0 : int(threadIdx.x) / Tile::part_threads),
        thread(int(threadIdx.x) % Tile::part_threads),
        row(thread / warp / Tile::warps_across * 4 * tr + (thread % 2 + thread % warp / 16 * 2) * row_chunk),
        column(thread / warp % Tile::warps_across * 8 * tc + thread / 2 % 8 * column_chunk),
        shared_(reinterpret_cast<A*>(dynamic_shared())) {}

  // Row i of a thread, and column j: chunks of neighbours.
  __device__ static constexpr int row_of(int i) { return i / row_chunk * 4 * row_chunk + i % row_chunk; }
  __device__ static constexpr int column_of(int j) { return j / column_chunk * 8 * column_chunk + j % column_chunk; }
  __device__ A* stage_at(int place) const { return shared_ + (part * stages + place) * stage; }
  __device__ A* behind_stages() const { return shared_ + stages * parts * stage; }

  __device__ void run() {
    const int segments = int(source.segments());
    clear();
    if (segments == 0) {
      if constexpr (!aside) {
#pragma unroll
        for (int q = 0; q < elements; ++q) total[q] = A(0);
      }
    } else if constexpr (copied) run_copied(segments);
    else run_staged(segments);
  }
  /// Calls put(first row and column of neighbours, them) for the result's elements of this thread.
  template <class Put>
  __device__ void each_row(Put put) {
    using Row = Neighbours<T, column_chunk>;
#pragma unroll
    for (int q = 0; q < elements; q += column_chunk) {
      Row own;
#pragma unroll
      for (int i = 0; i < column_chunk; ++i) {
        if constexpr (aside) own.element[i] = narrowed<T>(sum[(q + i) / tc][(q + i) % tc]);
        else own.element[i] = narrowed<T>(total[q + i]);
      }
      if (is_mine(q)) put(row0 + row + row_of(q / tc), column0 + column + column_of(q % tc), own);
    }
  }

 private:
  __device__ bool is_mine(int q) const { return Tile::parts == 1 || q / column_chunk % parts == part; }
  // Copies go to the stages before the one that is multiplied.
  __device__ void run_copied(int segments) {
    const Left left(source.left, row0, thread);
    const Right right(source.right, column0, thread);
    detail::ProductPlace now, ahead;
    now.start(source, 0, part), ahead.start(source, 0, part);
    const auto fetch = [&](int place) {
      if (ahead.segment < segments) {
        left.fetch(stage_at(place), ahead.begin, ahead.end);
        right.fetch(stage_at(place) + left_stage, ahead.begin, ahead.end);
        ahead.template next<depth>(source, part, parts);
      }
      end_group_of_copies();
    };
#pragma unroll 1
    for (int place = 0; place < stages - 1; ++place) fetch(place);
    int place = 0, next = stages - 1;
#pragma unroll 1
    while (now.segment < segments) {
      wait_for_groups_but<stages - 2>();
      __syncthreads();
      fetch(next);
      multiply(stage_at(place), now.count<depth>());
      const int first = now.segment;
      if (now.template next<depth>(source, part, parts)) finish_segments(first, segments);
      place = place + 1 == stages ? 0 : place + 1, next = next + 1 == stages ? 0 : next + 1;
    }
  }
  // Two stages: while one is multiplied, the next one is fetched to registers.
  __device__ void run_staged(int segments) {
    Left left(source.left, row0, thread);
    Right right(source.right, column0, thread);
    detail::ProductPlace place;
    const auto fetch = [&] {
      left.fetch(nullptr, place.begin, place.end), right.fetch(nullptr, place.begin, place.end);
    };
    const auto store = [&](int at) {
      left.store(stage_at(at)), right.store(stage_at(at) + left_stage);
      __syncthreads();
    };
    place.start(source, 0, part);
    fetch(), store(0);
#pragma unroll 1
    for (int now = 0; place.segment < segments; now ^= 1) {
      const int count = place.count<depth>(), first = place.segment;
      const bool last = place.template next<depth>(source, part, parts);
      if (place.segment < segments) fetch();
      multiply(stage_at(now), count);
      if (last) finish_segments(first, segments);
      if (place.segment < segments) store(now ^ 1);
    }
  }
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < tr; ++i)
#pragma unroll
      for (int j = 0; j < tc; ++j) sum[i][j] = A(0);
  }
  __device__ void multiply(const A* factors, int count) {
    const A *const lefts = factors + Left::place(row), *const rights = factors + left_stage + Right::place(column);
    if (count == depth) {
#pragma unroll
      for (int d = 0; d < depth; d += group) steps<group>(lefts, rights, d);
    } else {
#pragma unroll 1
      for (int d = 0; d < count; d += unit) steps<unit>(lefts, rights, d);
    }
  }
  // Some steps; those of a unit from the last one on. A thread of many elements reads the factors of columns first:
  // then nvcc finds an order of products with fewer conflicts of registers' banks.
  template <int count>
  __device__ void steps(const A* lefts, const A* rights, int first) {
    constexpr int left_many = std::min(count, Left::together), right_many = std::min(count, Right::together);
    constexpr bool columns_first = elements > 16;
    A x[left_many][tr], y[count / right_many][right_many][tc];
    const auto step = [&](int k) { return first + (unit > 1 ? count - 1 - k : k); };
    const auto read_columns = [&](int k) {
      if (k % right_many == 0)
        Right::template read<right_many, column_chunk, 8 * column_chunk>(rights, step(k), y[k / right_many]);
    };
#pragma unroll
    for (int k = 0; k < (columns_first ? count : 0); ++k) read_columns(k);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (k % left_many == 0) Left::template read<left_many, row_chunk, 4 * row_chunk>(lefts, step(k), x);
      if (!columns_first) read_columns(k);
#pragma unroll
      for (int i = 0; i < tr; ++i)
#pragma unroll
        for (int u = 0; u < tc; ++u) {  // to and fro: a factor that is used twice in a row is read from a register once
          const int j = i % 2 ? tc - 1 - u : u;
          sum[i][j] = fmadd(x[k % left_many][i], y[k / right_many][k % right_many][j], sum[i][j]);
        }
    }
  }
  // Adds the segments of a round to the totals, one after the other. Those aside come back with the last one.
  __device__ void finish_segments(int first, int segments) {
    if constexpr (aside) {
      const bool last = first + 1 == segments;
      if (segments == 1) return;
#pragma unroll
      for (int q = 0; q < elements; ++q) {
        A &own = sum[q / tc][q % tc], &kept = behind_stages()[q * threads + thread];
        if (first > 0) own = kept + own;
        if (!last) kept = own, own = A(0);
      }
      return;
    }
    if (Tile::parts == 1 || parts == 1) {
#pragma unroll
      for (int q = 0; q < elements; ++q) total[q] = first == 0 ? sum[q / tc][q % tc] : total[q] + sum[q / tc][q % tc];
    } else add_parts(first, segments);
    clear();
  }
  // The parts have a segment each, and each part adds up some elements.
  __device__ void add_parts(int first, int segments) {
    A* const sums = behind_stages();
#pragma unroll
    for (int q = 0; q < elements; ++q) sums[(part * elements + q) * Tile::part_threads + thread] = sum[q / tc][q % tc];
    __syncthreads();
#pragma unroll
    for (int q = 0; q < elements; ++q)
      if (is_mine(q))
#pragma unroll 1
        for (int other = 0; other < parts && first + other < segments; ++other) {
          const A own = sums[(other * elements + q) * Tile::part_threads + thread];
          total[q] = first + other == 0 ? own : total[q] + own;
        }
    __syncthreads();
  }
};

/// Multiprocessors that products are cut for.
inline constexpr long multiprocessors = 132;
/// Shared memory for a block that needs `bytes` of it: so much that a multiprocessor has no more blocks than its share.
/// A GPU puts as many on one as fit, and leaves others idle.
inline int evenly_shared(int bytes, long blocks) {
  const long share = (blocks + multiprocessors - 1) / multiprocessors;
  constexpr int of_block = 1024;  // what CUDA has for itself
  const int most = queues().shared_bytes, even = int((most + of_block) / (share + 1)) - of_block + 128;
  return even > bytes ? std::min(even, most) : bytes;
}

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
///     put(a, row, column, value)            takes an element of the result; or
///     put_row(a, row, column, values, left) neighbours of a row, of which `left` exist
///
/// With a type Sizes the sizes are not in the Source's type but an argument: extent(sizes), Source(a, sizes, index). So
/// calls of all shapes share a kernel.
template <class Source, class Tile>
struct ProductBlocks {
  using Sums = ProductSums<Source, Tile>;
  using Sizes = decltype(detail::sizes_of<Source>());
  static constexpr int threads = Tile::threads, resident = Tile::resident;

  static constexpr int shared_bytes(int parts, bool one = false) {
    return Sums::shared(parts, one) * int(sizeof(typename Sums::A));
  }
  static constexpr int most_parts = [] {  // that fit into shared memory
    int most = Tile::parts;
    while (most > 1 && shared_bytes(most, false) > most_shared_bytes) --most;
    return most;
  }();

  int parts = 1;  // at most those of the tile
  Sizes sizes{};

  /// `one`: no product has a second segment.
  static void launch(const Arguments& a, int parts = 1, const Sizes& sizes = {}, bool one = false) {
    ProductBlocks blocks{parts < most_parts ? parts : most_parts, sizes};
    const auto all = detail::extent_of<Source>(sizes, a.n);
    const long count = blocks_for(all.rows, Tile::rows) * blocks_for(all.columns, Tile::columns) * all.products;
    launch_blocks(blocks, a, count, evenly_shared(shared_bytes(blocks.parts, one), count),
                  blocks.parts * Tile::part_threads);
  }

  __device__ void block(const Arguments& a) const {
    const auto all = detail::extent_of<Source>(sizes, a.n);
    const int across = int((all.columns + Tile::columns - 1) / Tile::columns),
              down = int((all.rows + Tile::rows - 1) / Tile::rows), tile = int(blockIdx.x) % (across * down),
              product = int(blockIdx.x) / (across * down);
    const Source source = of(a, product);
    const int row0 = tile / across * Tile::rows, column0 = tile % across * Tile::columns;
    if (row0 >= source.rows || column0 >= source.columns) return;
    Sums sums(source, row0, column0, parts);
    sums.run();
    sums.each_row([&](int row, int column, const auto& values) {
      if (row < source.rows && column < source.columns) put(source, a, row, column, values);
    });
  }

 private:
  template <class S, int count>
  __device__ static void put(const S& source, const Arguments& a, long row, long column,
                             const Neighbours<typename S::T, count>& values) {
    const long left = source.columns - column;
    if constexpr (requires { source.put_row(a, row, column, values, left); })
      source.put_row(a, row, column, values, left);
    else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (i < left) source.put(a, row, column + i, values.element[i]);
    }
  }
  __device__ Source of(const Arguments& a, long product) const {
    if constexpr (std::is_same_v<Sizes, detail::NoSizes>) return Source(a, product);
    else return Source(a, sizes, product);
  }
};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
