// Attention: softmax(scale q kᵀ) v. A block has some queries of a head, and their rows of scores in shared memory, a
// half warp for each; no matrix of scores goes through memory.
#pragma once
#include <bit>
#include <limits>

#include <tenon/backend/cpu/attention/attention_kernel.hpp>
#include <tenon/backend/cuda/reduce/tree.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/core/math/elementary.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// What the kernels of attention share, and of its gradient (Others = 1): sizes, and where the heads' rows are.
template <class C, int Others>
struct Heads {
  using Layout = AttentionLayout<C, Others>;
  using T = typename C::Result;
  using A = Compute<T>;
  static constexpr int heads = Layout::heads;
  static constexpr long queries = Layout::shape.queries, keys = Layout::shape.keys, width = Layout::shape.width,
                        pitch = Layout::pitch, features = Layout::features;
  static constexpr bool causal = Layout::shape.causal, packed = Layout::packed;
  static constexpr int threads = 256;
  /// Features that a pass of the threads over the columns of a product has.
  static constexpr int across = int(std::bit_ceil(std::size_t(width < threads ? width : threads)));
  /// Rows of scores, and of features in shared memory: apart by a multiple of 16 bytes, features so that 8 neighbouring
  /// rows are in different banks.
  static constexpr int together = together_of<A>;
  static constexpr long score_pitch = (keys + together - 1) / together * together,
                        feature_pitch = ((width + together - 1) / together | 1) * together;
  /// Keys that are staged at a time.
  static constexpr int tile = [] {
    int rows = 128;
    while (rows > 1 && rows * feature_pitch * long(sizeof(A)) > 64 * 1024) rows /= 2;
    return rows;
  }();

  TENON_DEVICE static constexpr long count(long n) {
    return queries ? operand_count<C, 0>(n) / (queries * pitch) * heads : 0;
  }
  TENON_DEVICE static long seen(long query) { return causal ? query + 1 : keys; }
  /// Row `row` of query, key, or value (which: 0, 1, 2) of a head.
  __device__ static const T* row(const Arguments& a, int which, long head, long row) {
    const T* const base = packed ? a.operand<T>(0) + which * features : a.operand<T>(which);
    return base + (head / heads * (which ? keys : queries) + row) * pitch + head % heads * width;
  }
  /// The same of the result, or of its gradient.
  __device__ static long result_offset(long head, long row) {
    return (head / heads * queries + row) * features + head % heads * width;
  }
};

/// A sum of products of type A as on the CPU: add() continues a chain, which ends after every segment.
template <class A>
struct SegmentedSum {
  A total = 0, chain = 0;
  __device__ void add(A a, A b) { chain = fmadd(a, b, chain); }
  /// After `terms` terms.
  __device__ void end_segment(long terms) { total = terms <= segment_units<A> ? chain : total + chain, chain = 0; }
};
/// products[i][j] = the sum over p = 0 .. count - 1 of x[i][p] y[j][p], rows aligned to 16 bytes: each value that is
/// read is a factor of several products.
template <class A, int rows, int columns>
__device__ void row_products(long count, const A* const (&x)[rows], const A* const (&y)[columns],
                             A (&products)[rows][columns]) {
  constexpr int together = together_of<A>;
  using Group = Neighbours<A, together>;
  SegmentedSum<A> sum[rows][columns];
  const auto add = [&](const auto& a, const auto& b) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j) sum[i][j].add(a(i), b(j));
  };
  for (long first = 0; first < count || first == 0; first += segment_units<A>) {
    const long last = count < first + segment_units<A> ? count : first + segment_units<A>;
    long p = first;
#pragma unroll 2
    for (; p + together <= last; p += together) {
      Group a[rows], b[columns];
#pragma unroll
      for (int i = 0; i < rows; ++i) a[i] = *reinterpret_cast<const Group*>(x[i] + p);
#pragma unroll
      for (int j = 0; j < columns; ++j) b[j] = *reinterpret_cast<const Group*>(y[j] + p);
#pragma unroll
      for (int q = 0; q < together; ++q)
        add([&](int i) { return a[i].element[q]; }, [&](int j) { return b[j].element[q]; });
    }
    for (; p < last; ++p) add([&](int i) { return x[i][p]; }, [&](int j) { return y[j][p]; });
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j) sum[i][j].end_segment(last);
  }
#pragma unroll
  for (int i = 0; i < rows; ++i)
#pragma unroll
    for (int j = 0; j < columns; ++j) products[i][j] = sum[i][j].total;
}

/// The sum of term(0) .. term(count - 1) for a half warp, as by lane_sum. `most` is no less than any count of the warp.
template <class A, class Term>
__device__ A half_warp_sum(long count, long most, Term term) {
  Tree<A> tree;
  A total = 0;
  for (long first = 0; first < most || first == 0; first += lane_piece) {
    const long last = count < first + lane_piece ? count : first + lane_piece;
    A piece = 0;
    for (long i = first + lane_of_row(); i < last; i += lanes) piece += term(i);
    piece = sum_of_lanes(piece);
    if (first + lane_piece < count) tree.add(piece, Add());
    else if (first < count || first == 0) total = tree.finish(piece, Add());
  }
  return total;
}

/// Queries of a block, as many as half warps, or fewer if their rows of scores need more shared memory than there is;
/// rows that are too long are in the workspace. Of each query there are `arrays` rows of keys, and of features.
template <class H, int arrays>
struct QueryBlock {
  using A = typename H::A;
  static constexpr int most_bytes = std::min(200 << 10, most_shared_bytes);
  static constexpr long elements(long queries, bool with_rows) {
    return queries * arrays * (H::feature_pitch + (with_rows ? H::score_pitch : 0)) + H::tile * H::feature_pitch;
  }
  static constexpr bool in_memory = elements(2, true) * long(sizeof(A)) > most_bytes;
  static constexpr int queries = [] {
    int fit = H::threads / lanes;
    while (fit > 2 && elements(fit, !in_memory) * long(sizeof(A)) > most_bytes) fit /= 2;
    return fit;
  }();
  static constexpr int bytes = int(elements(queries, !in_memory) * long(sizeof(A)));
  static constexpr long blocks_of_head = (H::queries + queries - 1) / queries;
  static long blocks(long n) { return H::count(n) * blocks_of_head; }
  /// Of the workspace, from which rows(a, scratch) gives a block its own.
  TENON_DEVICE static constexpr long row_bytes(long n) {
    return in_memory ? H::count(n) * blocks_of_head * queries * arrays * H::score_pitch * long(sizeof(A)) : 0;
  }
  /// The rows; `rest` becomes what is left of the shared memory.
  __device__ static A* rows(const Arguments& a, A*& rest) {
    A* const shared = reinterpret_cast<A*>(dynamic_shared());
    constexpr long own = queries * arrays * H::score_pitch;
    rest = in_memory ? shared : shared + own;
    return in_memory ? reinterpret_cast<A*>(a.workspace) + long(blockIdx.x) * own : shared;
  }
};

/// Copies rows 0 .. rows - 1 of features to shared memory; zeros for those that are not there.
template <class H, class Row>
__device__ void stage_rows(typename H::A* to, int rows, long existing, Row row) {
  for (long i = threadIdx.x; i < rows * H::width; i += H::threads) {
    const long own = i / H::width, f = i % H::width;
    to[own * H::feature_pitch + f] = own < existing ? static_cast<typename H::A>(row(own)[f]) : typename H::A(0);
  }
}
/// to[query][j] = x[query] · row j of operand `which`, for the keys j that some query of the block sees. `staged` has
/// room for a tile of rows. A warp has some queries, and two keys a lane.
template <class H, int queries>
__device__ void dot_rows(const Arguments& a, const typename H::A* x, int which, long head, long keys,
                         typename H::A* staged, typename H::A* to) {
  using A = typename H::A;
  constexpr int rows = queries < 4 ? queries : 4, groups = queries / rows, warps = H::threads / warp;
  const int group = int(threadIdx.x) / warp % groups, part = int(threadIdx.x) / warp / groups;
  for (long first = 0; first < keys; first += H::tile) {
    const long own = keys - first < H::tile ? keys - first : H::tile;
    __syncthreads();
    stage_rows<H>(staged, int(own), own, [&](long i) { return H::row(a, which, head, first + i); });
    __syncthreads();
    for (long key = part * 2 * warp + threadIdx.x % warp; key < own; key += warps / groups * 2 * warp) {
      const long other = key + warp;
      const A* query[rows];
#pragma unroll
      for (int i = 0; i < rows; ++i) query[i] = x + (group * rows + i) * H::feature_pitch;
      const A* const pair[2]{staged + key * H::feature_pitch, staged + (other < own ? other : key) * H::feature_pitch};
      A product[rows][2];
      row_products<A, rows, 2>(H::width, query, pair, product);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        A* const scores = to + (group * rows + i) * H::score_pitch + first;
        scores[key] = product[i][0];
        if (other < own) scores[other] = product[i][1];
      }
    }
  }
  __syncthreads();
}
/// store(query, f, sum over keys of weights[query][key] times feature f of row `key` of operand `which`).
template <class H, int queries, class Store>
__device__ void weigh_rows(const Arguments& a, const typename H::A* weights, int which, long head, long keys,
                           Store store) {
  using A = typename H::A;
  constexpr int groups = H::threads / H::across, each = queries > groups ? queries / groups : 1;
  constexpr int together = H::together;
  using Group = Neighbours<A, together>;
  const int group = int(threadIdx.x) / H::across;
  if (group >= queries) return;
  for (long f = int(threadIdx.x) % H::across; f < H::width; f += H::across) {
    SegmentedSum<A> sum[each];
    const auto value = [&](long key) { return static_cast<A>(H::row(a, which, head, key)[f]); };
    const auto row = [&](int m) { return weights + (group + m * groups) * H::score_pitch; };
    for (long first = 0; first < keys; first += segment_units<A>) {
      const long last = keys < first + segment_units<A> ? keys : first + segment_units<A>;
      long key = first;
#pragma unroll 2
      for (; key + together <= last; key += together) {
        A own[together];
#pragma unroll
        for (int k = 0; k < together; ++k) own[k] = value(key + k);
#pragma unroll
        for (int m = 0; m < each; ++m) {
          const Group weight = *reinterpret_cast<const Group*>(row(m) + key);
#pragma unroll
          for (int k = 0; k < together; ++k) sum[m].add(weight.element[k], own[k]);
        }
      }
      for (; key < last; ++key)
#pragma unroll
        for (int m = 0; m < each; ++m) sum[m].add(row(m)[key], value(key));
#pragma unroll
      for (int m = 0; m < each; ++m) sum[m].end_segment(last);
    }
#pragma unroll
    for (int m = 0; m < each; ++m) store(group + m * groups, f, sum[m].total);
  }
}
/// What makes a weight of a score: exp(scale score - most) / total.
template <class A>
struct RowOfScores {
  A most, total;
};
/// x = softmax(scale x) over the `seen` first elements, zeros up to `keys`. For a half warp.
template <class A>
__device__ RowOfScores<A> softmax_of_scores(A* x, long seen, long keys, A scale) {
  const auto larger = [](A a, A b) { return b > a ? b : a; };
  A most = -std::numeric_limits<A>::infinity();
  for (long i = lane_of_row(); i < seen; i += lanes) most = larger(most, x[i] *= scale);
  most = __shfl_sync(~0u, fold_half_warp(most, larger), 0, lanes);
  const A total = half_warp_sum<A>(seen, keys, [=](long i) { return x[i] = math::exp(x[i] - most); });
  for (long i = lane_of_row(); i < keys; i += lanes) x[i] = i < seen ? x[i] / total : A(0);
  return {most, total};
}

template <class C>
struct AttentionRows {
  using H = Heads<C, 0>;
  using Block = QueryBlock<H, 1>;
  static constexpr int threads = H::threads;
  __device__ static void block(const Arguments& a) {
    using A = typename H::A;
    using T = typename H::T;
    constexpr int queries = Block::queries;
    A* q = nullptr;
    A *const x = Block::rows(a, q), *const staged = q + queries * H::feature_pitch;
    const long head = blockIdx.x / Block::blocks_of_head, first = blockIdx.x % Block::blocks_of_head * queries;
    const long last = first + queries < H::queries ? first + queries : H::queries, keys = H::seen(last - 1);
    stage_rows<H>(q, queries, last - first, [&](long i) { return H::row(a, 0, head, first + i); });
    dot_rows<H, queries>(a, q, 1, head, keys, staged, x);
    if (const int own = row_of_block(); own < queries) {  // whole warps
      const long query = first + own < last ? first + own : last - 1;
      softmax_of_scores(x + own * H::score_pitch, H::seen(query), keys, H::Layout::template scale<A>());
    }
    __syncthreads();
    weigh_rows<H, queries>(a, x, 2, head, keys, [&](int query, long f, A value) {
      if (first + query < last) a.result<T>()[H::result_offset(head, first + query) + f] = static_cast<T>(value);
    });
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::Attention> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::AttentionRows<Call>::Block::row_bytes(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Block = typename kernel::cuda::AttentionRows<Call>::Block;
    kernel::cuda::launch_blocks<kernel::cuda::AttentionRows<Call>>(a, Block::blocks(a.n), Block::bytes);
  }
};

}  // namespace tenon
TENON_EXACT_END
