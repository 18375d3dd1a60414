// The gradients of attention: first that of the queries, row by row, then those of keys and values, which compute the
// weights again from what is kept of each row.
#pragma once
#include <tenon/backend/cuda/attention/attention.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// Where the gradients of the operands of a head are in the result.
template <class C>
struct HeadGradients : Heads<C, 1> {
  using H = Heads<C, 1>;
  using T = typename H::T;
  using A = typename H::A;
  __device__ static T* to(const Arguments& a, int which, long head, long row) {
    const long sample = head / H::heads, before = which * H::keys + (which ? H::queries - H::keys : 0);
    T* const base = H::packed ? a.result<T>() + (sample * H::queries + row) * H::pitch + which * H::features
                              : a.result<T>() + (sample * (H::queries + 2 * H::keys) + before + row) * H::pitch;
    return base + head % H::heads * H::width;
  }
  __device__ static const T* dy(const Arguments& a, long head, long row) {
    return a.operand<T>(C::operands - 1) + H::result_offset(head, row);
  }
  /// What is kept of each row: its largest score, the sum of exponentials, the sum of weights times their gradients.
  struct Kept {
    A most, total, sum;
  };
  TENON_DEVICE static constexpr long kept_bytes(long n) { return H::count(n) * H::queries * long(sizeof(Kept)); }
  __device__ static Kept& kept(const Arguments& a, long head, long query) {
    std::byte* const after_rows = a.workspace + QueryBlock<HeadGradients, 2>::row_bytes(a.n);
    return reinterpret_cast<Kept*>(after_rows)[head * H::queries + query];
  }
};

template <class C>
struct QueryGradients {
  using H = HeadGradients<C>;
  using Block = QueryBlock<H, 2>;
  static constexpr int threads = H::threads;
  __device__ static void block(const Arguments& a) {
    using A = typename H::A;
    using T = typename H::T;
    constexpr int queries = Block::queries;
    A* q = nullptr;
    A *const x = Block::rows(a, q), *const slopes = x + queries * H::score_pitch,
             *const dy = q + queries * H::feature_pitch, *const staged = dy + queries * H::feature_pitch;
    const long head = blockIdx.x / Block::blocks_of_head, first = blockIdx.x % Block::blocks_of_head * queries;
    const long last = first + queries < H::queries ? first + queries : H::queries, keys = H::seen(last - 1);
    stage_rows<H>(q, queries, last - first, [&](long i) { return H::row(a, 0, head, first + i); });
    stage_rows<H>(dy, queries, last - first, [&](long i) { return H::dy(a, head, first + i); });
    dot_rows<H, queries>(a, q, 1, head, keys, staged, x);
    dot_rows<H, queries>(a, dy, 2, head, keys, staged, slopes);
    if (const int own = row_of_block(); own < queries) {  // whole warps
      const long query = first + own < last ? first + own : last - 1;
      row_of_slopes(a, head, query, first + own < last, x + own * H::score_pitch, slopes + own * H::score_pitch,
                    H::seen(query), keys);
    }
    __syncthreads();
    weigh_rows<H, queries>(a, slopes, 1, head, keys, [&](int query, long f, A value) {
      if (first + query < last) H::to(a, 0, head, first + query)[f] = static_cast<T>(value);
    });
  }

 private:
  template <class A>
  __device__ static void row_of_slopes(const Arguments& a, long head, long query, bool exists, A* x, A* slopes,
                                       long seen, long keys) {
    const A scale = H::Layout::template scale<A>();
    const RowOfScores<A> row = softmax_of_scores(x, seen, keys, scale);
    const A sum = half_warp_sum<A>(seen, keys, [=](long i) { return x[i] * slopes[i]; });
    for (long i = lane_of_row(); i < keys; i += lanes) slopes[i] = i < seen ? x[i] * (slopes[i] - sum) * scale : A(0);
    if (exists && lane_of_row() == 0) H::kept(a, head, query) = {row.most, row.total, sum};
  }
};

/// Some keys of a head: the queries that see them come in tiles. A thread computes the weights and slopes of 2 queries
/// and 2 keys; then it adds up the gradients of one feature of some keys.
template <class C>
struct KeyGradients {
  using H = HeadGradients<C>;
  using A = typename H::A;
  using T = typename H::T;
  static constexpr int threads = H::threads, together = H::together, resident = 2;
  static constexpr long pitch = H::feature_pitch;
  static constexpr int bytes_of(int rows) { return int((4 * rows * pitch + 2 * rows * rows) * long(sizeof(A))); }
  /// Keys, and queries at a time.
  static constexpr int tile = [] {
    int rows = 32;
    while (rows > 2 * together && bytes_of(rows) > std::min(200 << 10, most_shared_bytes)) rows /= 2;
    return rows;
  }();
  static constexpr int half = tile / 2, bytes = bytes_of(tile);
  static constexpr long blocks_of_head = (H::keys + tile - 1) / tile;
  static constexpr int groups = threads / H::across;
  static constexpr int each = tile / groups > together ? tile / groups : together;  // neighbouring keys of a thread
  static constexpr int passes = int((H::width + H::across - 1) / H::across);
  static_assert(half * half <= threads && tile % each == 0 && segment_units<A> % tile == 0);
  using Sums = SegmentedSum<A>[passes][each];

  static long blocks(long n) { return H::count(n) * blocks_of_head; }
  __device__ static void block(const Arguments& a) {
    A *const k = reinterpret_cast<A*>(dynamic_shared()), *const v = k + tile * pitch, *const q = v + tile * pitch,
             *const dy = q + tile * pitch, *const weights = dy + tile * pitch, *const slopes = weights + tile * tile;
    const long head = blockIdx.x / blocks_of_head, first = blockIdx.x % blocks_of_head * tile;
    stage_rows<H>(k, tile, H::keys - first, [&](long i) { return H::row(a, 1, head, first + i); });
    stage_rows<H>(v, tile, H::keys - first, [&](long i) { return H::row(a, 2, head, first + i); });
    Sums to_k, to_v;
    for (long i = H::causal ? first : 0; i < H::queries; i += tile) {
      __syncthreads();
      stage_rows<H>(q, tile, H::queries - i, [&](long row) { return H::row(a, 0, head, i + row); });
      stage_rows<H>(dy, tile, H::queries - i, [&](long row) { return H::dy(a, head, i + row); });
      __syncthreads();
      if (int(threadIdx.x) < half * half) weigh(a, head, i, first, k, v, q, dy, weights, slopes);
      __syncthreads();
      add(q, slopes, to_k), add(dy, weights, to_v);
      const long next = i + tile < H::queries ? i + tile : H::queries;
      if (next % segment_units<A> == 0 || next == H::queries)
        end_segments(first, i, to_k), end_segments(first, i, to_v);
    }
    store(a, 1, head, first, to_k), store(a, 2, head, first, to_v);
  }

 private:
  __device__ static void weigh(const Arguments& a, long head, long first_query, long first_key, const A* k, const A* v,
                               const A* q, const A* dy, A* weights, A* slopes) {
    const int key = int(threadIdx.x) % half, query = int(threadIdx.x) / half;
    const auto two = [=](const A* rows, int row, const A*(&pair)[2]) {
      pair[0] = rows + row * pitch, pair[1] = rows + (row + half) * pitch;
    };
    const A *of_q[2], *of_k[2], *of_dy[2], *of_v[2];
    two(q, query, of_q), two(k, key, of_k), two(dy, query, of_dy), two(v, key, of_v);
    A score[2][2], product[2][2];
    row_products<A, 2, 2>(H::width, of_q, of_k, score);
    row_products<A, 2, 2>(H::width, of_dy, of_v, product);
    const A scale = H::Layout::template scale<A>();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const long own = first_query + query + i * half;
      const typename H::Kept row = own < H::queries ? H::kept(a, head, own) : typename H::Kept{};
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        A weight = 0, slope = 0;
        if (own < H::queries && first_key + key + j * half < H::seen(own)) {
          weight = math::exp(score[i][j] * scale - row.most) / row.total;
          slope = weight * (product[i][j] - row.sum) * scale;
        }
        const int place = (query + i * half) * tile + key + j * half;
        weights[place] = weight, slopes[place] = slope;
      }
    }
  }
  // Thread (group, f) has the keys group * each .. of features f, f + across, ...
  __device__ static int first_key_of_thread() { return int(threadIdx.x) / H::across * each; }
  __device__ static long feature(int pass) { return pass * H::across + int(threadIdx.x) % H::across; }
  __device__ static void add(const A* x, const A* factors, Sums& sums) {
    using Group = Neighbours<A, together>;
    const int key = first_key_of_thread();
    if (key >= tile) return;
#pragma unroll 2
    for (int i = 0; i < tile; ++i) {
      A factor[each];
#pragma unroll
      for (int m = 0; m < each; m += together) {
        const Group group = *reinterpret_cast<const Group*>(factors + i * tile + key + m);
#pragma unroll
        for (int e = 0; e < together; ++e) factor[m + e] = group.element[e];
      }
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        const A value = feature(pass) < H::width ? x[i * pitch + feature(pass)] : A(0);
#pragma unroll
        for (int m = 0; m < each; ++m) sums[pass][m].add(factor[m], value);
      }
    }
  }
  // A key's first segment is the one in which a query sees it.
  __device__ static void end_segments(long first_key, long query, Sums& sums) {
    const long segment = query / segment_units<A> * segment_units<A>;
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
#pragma unroll
      for (int m = 0; m < each; ++m) {
        SegmentedSum<A>& sum = sums[pass][m];
        const bool is_first = segment == 0 || (H::causal && first_key + first_key_of_thread() + m >= segment);
        sum.total = is_first ? sum.chain : sum.total + sum.chain;
        sum.chain = 0;
      }
  }
  __device__ static void store(const Arguments& a, int which, long head, long first, const Sums& sums) {
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const int key = first_key_of_thread() + m;
        if (key < tile && first + key < H::keys && feature(pass) < H::width)
          H::to(a, which, head, first + key)[feature(pass)] = static_cast<T>(sums[pass][m].total);
      }
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::AttentionGrad> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    using H = kernel::cuda::HeadGradients<Call>;
    return kernel::cuda::QueryBlock<H, 2>::row_bytes(n) + H::kept_bytes(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Block = typename kernel::cuda::QueryGradients<Call>::Block;
    using Keys = kernel::cuda::KeyGradients<Call>;
    kernel::cuda::launch_blocks<kernel::cuda::QueryGradients<Call>>(a, Block::blocks(a.n), Block::bytes);
    kernel::cuda::launch_blocks<Keys>(a, Keys::blocks(a.n), Keys::bytes);
  }
};

}  // namespace tenon
TENON_EXACT_END
