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
  static constexpr int threads = H::threads, resident = std::min(Block::resident, 3);
  __device__ static void block(const Arguments& a) {
    using A = typename H::A;
    constexpr int queries = Block::queries;
    A* q = nullptr;
    A *const x = Block::rows(a, q), *const slopes = x + queries * H::score_pitch,
             *const dy = q + queries * H::feature_pitch, *const staged = dy + queries * H::feature_pitch;
    const long head = Block::head(a), first = Block::first(a);
    const long last = first + queries < H::queries ? first + queries : H::queries, keys = H::seen(last - 1);
    stage_rows<H, H::pitch>(q, queries, last - first, H::row(a, 0, head, first));
    stage_rows<H, H::features>(dy, queries, last - first, H::dy(a, head, first));
    dot_rows<H, queries, true>(a, head, keys, q, dy, staged, x, slopes);
    for (int own = row_of_block(); own < queries; own += threads / lanes) {  // whole warps
      const long query = first + own < last ? first + own : last - 1;
      row_of_slopes(a, head, query, first + own < last, x + own * H::score_pitch, slopes + own * H::score_pitch,
                    H::seen(query), keys);
    }
    weigh_rows<H, queries>(a, slopes, 1, head, keys, staged, [&](int query, long f, const auto& sums, long left) {
      if (first + query < last) store_features(H::to(a, 0, head, first + query), f, sums, left);
    });
  }

 private:
  template <class A>
  __device__ static void row_of_slopes(const Arguments& a, long head, long query, bool exists, A* x, A* slopes,
                                       long seen, long keys) {
    const A scale = H::Layout::template scale<A>();
    RowOfScores<A> row;
    A sum = 0;
    if constexpr (constexpr int most = kept_of_lane<H::keys>; most > 0) {
      LaneElements<A, most> weights;
      A own[most];
      const int end = int(keys), before = int(seen);
      weights.each(end, [&](int k, int i) { weights.value[k] = x[i]; });
      row = softmax_of_lanes(weights, before, end, scale);
      weights.each(end, [&](int k, int i) {
        own[k] = i < before ? slopes[i] : A(0);
        sum += weights.value[k] * own[k];
      });
      sum = sum_of_lanes(sum);
      weights.each(end, [&](int k, int i) {
        const A slope = weights.value[k] * (own[k] - sum) * scale;
        slopes[i] = i < before ? slope : A(0);
      });
    } else {
      row = softmax_of_scores(x, seen, keys, scale);
      sum = half_warp_sum<A>(seen, keys, [=](long i) { return x[i] * slopes[i]; });
      for (long i = lane_of_row(); i < keys; i += lanes) slopes[i] = i < seen ? x[i] * (slopes[i] - sum) * scale : A(0);
    }
    if (exists && lane_of_row() == 0) H::kept(a, head, query) = {row.most, row.total, sum};
  }
};

/// Some keys of a head: the queries that see them come in tiles. A half of the block computes scores, the other half
/// the products of gradients and values, each thread for rows that are 8 apart. They exchange some of these, so that
/// all threads make weights and slopes, and add up the gradients of the keys, and of the values.
template <class C>
struct KeyGradients {
  using H = HeadGradients<C>;
  using A = typename H::A;
  using T = typename H::T;
  using Group = Neighbours<A, H::together>;
  static constexpr int threads = H::threads, together = H::together;
  static constexpr long pitch = H::feature_pitch;
  /// From a query's weights of the tile to the next one's: 4 neighbours are in different banks.
  static constexpr int weight_pitch(int rows) { return rows + 8; }
  static constexpr int bytes_of(int rows) {
    return int((4 * rows * pitch + 2 * rows * weight_pitch(rows)) * long(sizeof(A)));
  }
  /// Sums of a thread.
  static constexpr int sums_of(int rows) { return rows * H::feature_groups * together / (threads / 2); }
  /// Keys, and queries at a time.
  static constexpr int tile = [] {
    int rows = 32;
    while ((rows > together && bytes_of(rows) > std::min(200 << 10, most_shared_bytes)) ||
           (rows > 2 * together && sums_of(rows) > 64))
      rows /= 2;
    return rows;
  }();
  static constexpr int resident = sums_of(tile) <= 32 ? 4 : sums_of(tile) <= 64 ? 2 : 1;
  static constexpr int bytes = bytes_of(tile);
  static constexpr long blocks_of_head = (H::keys + tile - 1) / tile;
  // Keys of a thread, which are neighbours, and its groups of features.
  static constexpr int each = std::min(tile, H::feature_groups > 8 ? 8 : 4), key_groups = tile / each;
  using Place = InGroups<threads / 2, key_groups>;
  static constexpr int passes = (H::feature_groups + Place::members - 1) / Place::members;
  static constexpr bool all_have_features = passes * Place::members == H::feature_groups;
  static constexpr bool one_segment = H::queries <= segment_units<A>;
  static_assert(tile % each == 0 && each % together == 0 && segment_units<A> % tile == 0);
  using Sums = SegmentedSum<A>[passes][each][H::together];

  static long blocks(long n) { return H::count(n) * blocks_of_head; }
  __device__ static void block(const Arguments& a) {
    A *const k = reinterpret_cast<A*>(dynamic_shared()), *const v = k + tile * pitch, *const q = v + tile * pitch,
             *const dy = q + tile * pitch, *const weights = dy + tile * pitch,
             *const slopes = weights + tile * weight_pitch(tile);
    // the first keys, which are seen by most queries, start first
    const unsigned heads = unsigned(H::count(a.n));
    const long head = blockIdx.x % heads, first = long(blockIdx.x / heads) * tile;
    const bool second = half_of_block(threads);
    stage_rows<H, H::pitch>(k, tile, H::keys - first, H::row(a, 1, head, first));
    stage_rows<H, H::pitch>(v, tile, H::keys - first, H::row(a, 2, head, first));
    Sums sums;
    for (long i = H::causal ? first : 0; i < H::queries; i += tile) {
      __syncthreads();
      stage_rows<H, H::pitch>(q, tile, H::queries - i, H::row(a, 0, head, i));
      stage_rows<H, H::features>(dy, tile, H::queries - i, H::dy(a, head, i));
      __syncthreads();
      weigh(a, head, i, first, second ? dy : q, second ? v : k, weights, slopes);
      __syncthreads();
      add(second ? dy : q, second ? weights : slopes, sums);
      const long next = i + tile < H::queries ? i + tile : H::queries;
      if (next % segment_units<A> == 0 || next == H::queries) end_segments(first, i, sums);
    }
    store(a, second ? 2 : 1, head, first, sums);
  }

 private:
  __device__ static void weigh(const Arguments& a, long head, long first_query, long first_key, const A* x, const A* y,
                               A* weights, A* slopes) {
    RowsOfHalf<H, tile, tile> own;
    own.multiply(x, y);
    constexpr int rows = own.x_each, columns = own.y_each, of_first = (rows + 1) / 2;
    const bool second = half_of_block(threads);
    A* const given = second ? slopes : weights;
    const auto place = [&](int i, int j) { return own.x_row(i) * weight_pitch(tile) + own.y_row(j); };
    // a tile has fewer rows than threads beside each other if heads are very wide
    const auto exists = [&](int i, int j) { return tile >= 8 || (own.x_row(i) < tile && own.y_row(j) < tile); };
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        if (second == (i < of_first) && exists(i, j)) given[place(i, j)] = own.product[i][j];
    __syncthreads();
    const A scale = H::Layout::template scale<A>();
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      if (second == (i < of_first)) continue;
      const long query = first_query + own.x_row(i);
      const bool is_query = query < H::queries;
      const typename H::Kept row = is_query ? H::kept(a, head, query) : typename H::Kept{};
      const int seen = is_query ? int(H::seen(query) - first_key) : 0;  // of the keys of the tile
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        if (!exists(i, j)) continue;
        const int at = place(i, j);
        const A mine = own.product[i][j], score = second ? weights[at] : mine, product = second ? mine : slopes[at];
        A weight = 0, slope = 0;
        if (own.y_row(j) < seen) {
          weight = math::exp(score * scale - row.most) / row.total;
          slope = weight * (product - row.sum) * scale;
        }
        weights[at] = weight, slopes[at] = slope;
      }
    }
  }
  __device__ static int first_key_of_thread(const Place& at) { return at.group * each; }
  __device__ static Place place() { return Place(int(threadIdx.x) % (threads / 2)); }
  __device__ static long feature(const Place& at, int pass) { return (pass * Place::members + at.member) * together; }
  __device__ static void add(const A* x, const A* factors, Sums& sums) {
    const Place at = place();
    const int key = first_key_of_thread(at);
#pragma unroll 2
    for (int i = 0; i < tile; ++i) {
      A factor[each];
#pragma unroll
      for (int m = 0; m < each; m += together) {
        const Group group = *reinterpret_cast<const Group*>(factors + i * weight_pitch(tile) + key + m);
#pragma unroll
        for (int e = 0; e < together; ++e) factor[m + e] = group.element[e];
      }
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        if (!all_have_features && feature(at, pass) >= H::width) continue;
        const Group value = *reinterpret_cast<const Group*>(x + i * pitch + feature(at, pass));
#pragma unroll
        for (int m = 0; m < each; ++m)
#pragma unroll
          for (int e = 0; e < together; ++e) sums[pass][m][e].add(factor[m], value.element[e]);
      }
    }
  }
  template <class F>
  __device__ static void each_sum(Sums& sums, F f) {
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
#pragma unroll
      for (int m = 0; m < each; ++m)
#pragma unroll
        for (int e = 0; e < together; ++e) f(sums[pass][m][e], m);
  }
  // A key's first segment is the one in which a query sees it.
  __device__ static void end_segments(long first_key, long query, Sums& sums) {
    const long segment = query / segment_units<A> * segment_units<A>, own = first_key + first_key_of_thread(place());
    each_sum(sums, [&](SegmentedSum<A>& sum, int m) {
      const bool is_first = one_segment || segment == 0 || (H::causal && own + m >= segment);
      sum.total = is_first ? sum.chain : sum.total + sum.chain;
      sum.chain = 0;
    });
  }
  __device__ static void store(const Arguments& a, int which, long head, long first, const Sums& sums) {
    const Place at = place();
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const long key = first + first_key_of_thread(at) + m, f = feature(at, pass);
        Group own;
#pragma unroll
        for (int e = 0; e < together; ++e) own.element[e] = sums[pass][m][e].total;
        if (key < H::keys && f < H::width) store_features(H::to(a, which, head, key), f, own, H::width - f);
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
