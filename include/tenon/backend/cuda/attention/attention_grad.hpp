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
    A *const x = Block::rows(a, q), *const slopes = x + queries * H::keys, *const dy = q + queries * H::width,
             *const staged = dy + queries * H::width;
    const long head = blockIdx.x / Block::blocks_of_head, first = blockIdx.x % Block::blocks_of_head * queries;
    const long last = first + queries < H::queries ? first + queries : H::queries, keys = H::seen(last - 1);
    stage_queries<H, queries>(q, first, [&](long i) { return H::row(a, 0, head, i); });
    stage_queries<H, queries>(dy, first, [&](long i) { return H::dy(a, head, i); });
    dot_rows<H, queries>(a, q, 1, head, keys, staged, x);
    dot_rows<H, queries>(a, dy, 2, head, keys, staged, slopes);
    if (const int own = row_of_block(); own < queries) {  // whole warps
      const long query = first + own < last ? first + own : last - 1;
      row_of_slopes(a, head, query, first + own < last, x + own * H::keys, slopes + own * H::keys, H::seen(query),
                    keys);
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

/// Some keys of a head: the queries that see them come in tiles, of which each thread computes one weight and slope.
template <class C>
struct KeyGradients {
  using H = HeadGradients<C>;
  using A = typename H::A;
  using T = typename H::T;
  static constexpr int threads = H::threads, tile = 16;  // keys, and queries at a time
  static constexpr long pitch = H::width + 1, blocks_of_head = (H::keys + tile - 1) / tile;
  static constexpr int bytes = int((4 * tile * pitch + 2 * tile * tile) * long(sizeof(A)));
  static constexpr int groups = threads / H::across, each = tile > groups ? tile / groups : 1;
  static constexpr int passes = int((H::width + H::across - 1) / H::across);
  static_assert(threads == tile * tile && segment_units<A> % tile == 0);

  static long blocks(long n) { return H::count(n) * blocks_of_head; }
  __device__ static void block(const Arguments& a) {
    A *const k = reinterpret_cast<A*>(dynamic_shared()), *const v = k + tile * pitch, *const q = v + tile * pitch,
             *const dy = q + tile * pitch, *const weights = dy + tile * pitch, *const slopes = weights + tile * tile;
    const long head = blockIdx.x / blocks_of_head, first = blockIdx.x % blocks_of_head * tile;
    stage(k, first, H::keys, [&](long i) { return H::row(a, 1, head, i); });
    stage(v, first, H::keys, [&](long i) { return H::row(a, 2, head, i); });
    SegmentedSum<A> to_k[passes * each], to_v[passes * each];
    for (long i = H::causal ? first : 0; i < H::queries; i += tile) {
      __syncthreads();
      stage(q, i, H::queries, [&](long row) { return H::row(a, 0, head, row); });
      stage(dy, i, H::queries, [&](long row) { return H::dy(a, head, row); });
      __syncthreads();
      weigh(a, head, i, first, k, v, q, dy, weights, slopes);
      __syncthreads();
      add(q, slopes, to_k), add(dy, weights, to_v);
      const long next = i + tile < H::queries ? i + tile : H::queries;
      if (next % segment_units<A> == 0 || next == H::queries)
        end_segments(first, i, to_k), end_segments(first, i, to_v);
    }
    store(a, 1, head, first, to_k), store(a, 2, head, first, to_v);
  }

 private:
  template <class Row>
  __device__ static void stage(A* to, long first, long end, Row row) {
    for (long i = threadIdx.x; i < tile * H::width; i += threads) {
      const long own = first + i / H::width;
      to[i / H::width * pitch + i % H::width] = own < end ? static_cast<A>(row(own)[i % H::width]) : A(0);
    }
  }
  __device__ static void weigh(const Arguments& a, long head, long first_query, long first_key, const A* k, const A* v,
                               const A* q, const A* dy, A* weights, A* slopes) {
    const int key = int(threadIdx.x) % tile, i = int(threadIdx.x) / tile;
    const long query = first_query + i;
    A weight = 0, slope = 0;
    if (query < H::queries && first_key + key < H::seen(query)) {
      const typename H::Kept row = H::kept(a, head, query);
      const A scale = H::Layout::template scale<A>();
      const auto dot = [=](const A* x, const A* y) {
        return segmented_product<A>(
            H::width, [=](long f) { return x[i * pitch + f]; }, [=](long f) { return y[key * pitch + f]; });
      };
      weight = math::exp(dot(q, k) * scale - row.most) / row.total;
      slope = weight * (dot(dy, v) - row.sum) * scale;
    }
    weights[i * tile + key] = weight, slopes[i * tile + key] = slope;
  }
  // Thread (group, f) has the keys group, group + groups, ... of features f, f + across, ...
  template <class F>
  __device__ static void each_sum(F f) {
    const int group = int(threadIdx.x) / H::across;
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const long feature = pass * H::across + int(threadIdx.x) % H::across;
        if (feature < H::width && group + m * groups < tile) f(pass * each + m, group + m * groups, feature);
      }
  }
  __device__ static void add(const A* x, const A* factors, SegmentedSum<A> (&sums)[passes * each]) {
    for (int i = 0; i < tile; ++i)
      each_sum([&](int s, int key, long f) { sums[s].add(factors[i * tile + key], x[i * pitch + f]); });
  }
  // A key's first segment is the one in which a query sees it.
  __device__ static void end_segments(long first_key, long query, SegmentedSum<A> (&sums)[passes * each]) {
    const long segment = query / segment_units<A> * segment_units<A>;
    each_sum([&](int s, int key, long) {
      const bool is_first = segment == 0 || (H::causal && first_key + key >= segment);
      sums[s].total = is_first ? sums[s].chain : sums[s].total + sums[s].chain;
      sums[s].chain = 0;
    });
  }
  __device__ static void store(const Arguments& a, int which, long head, long first,
                               SegmentedSum<A> (&sums)[passes * each]) {
    each_sum([&](int s, int key, long f) {
      if (first + key < H::keys) H::to(a, which, head, first + key)[f] = static_cast<T>(sums[s].total);
    });
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
