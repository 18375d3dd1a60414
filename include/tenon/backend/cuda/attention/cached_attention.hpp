// Attention to a cache of keys and values. A block has two queries of a head, a half warp each for the softmax.
#pragma once
#include <tenon/backend/cpu/attention/cached_attention.hpp>
#include <tenon/backend/cuda/attention/attention.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// A thread for each element that is written.
template <class C>
struct WriteCache {
  using Rows = CacheRows<C>;
  static constexpr int threads = 256;
  static long blocks(long) { return blocks_for(Rows::batch * Rows::tokens * Rows::features, threads); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    constexpr long features = Rows::features, tokens = Rows::tokens, batch = Rows::batch, pitch = Rows::pitch,
                   part = Rows::first;
    const long i = thread_of_grid(), row = i / features, f = i % features, sample = row / tokens;
    if (sample >= batch) return;
    const long at = long(a.operand<typename C::template Operand<2>>(2)[sample]) + row % tokens;
    a.changed<T>(0)[Rows::place(sample, at, f)] = a.operand<T>(1)[row * pitch + part + f];
  }
};

/// Scores are in the workspace, a row for each query of the block.
template <class C>
struct CachedRows {
  using Layout = CacheLayout<C>;
  using T = typename C::Result;
  using A = Compute<T>;
  static constexpr int threads = 128, queries = 2;
  static constexpr long pairs = (Layout::tokens + queries - 1) / queries, row_elements = (Layout::length + 3) / 4 * 4;
  static constexpr long blocks(long) { return Layout::batch * Layout::heads * pairs; }

  __device__ static void block(const Arguments& a) {
    constexpr long heads = Layout::heads, tokens = Layout::tokens, width = Layout::width, features = Layout::features,
                   length = Layout::length, pitch = Layout::pitch, pair_count = pairs, elements = row_elements;
    const long head = blockIdx.x / pair_count, sample = head / heads, first = head % heads * width,
               token = blockIdx.x % pair_count * queries;
    const long at = long(a.operand<typename C::template Operand<3>>(3)[sample]) + token + 1;
    // beyond the last token stands that one: whole warps work together below
    const auto own_token = [=](int query) { return token + query < tokens ? token + query : tokens - 1; };
    const auto seen = [=](int query) { return at + own_token(query) - token; };
    A* const scores = reinterpret_cast<A*>(a.workspace) + long(blockIdx.x) * queries * elements;
    const T *const keys = a.operand<T>(1) + (sample * features + first) * length, *const values =
                                                                                      a.operand<T>(2) +
                                                                                      sample * length * features +
                                                                                      first;
    for (int query = 0; query < queries; ++query) {
      const T* const q = a.operand<T>(0) + (sample * tokens + own_token(query)) * pitch + first;
      for (long j = threadIdx.x; j < seen(query); j += threads)
        scores[query * elements + j] = chain_of(
            width, [&](long f) { return static_cast<A>(q[f]); },
            [&](long f) { return static_cast<A>(keys[f * length + j]); });
    }
    __syncthreads();
    if (const int own = int(threadIdx.x) / lanes; own < queries)  // a whole warp
      softmax_of_scores(scores + own * elements, seen(own), seen(queries - 1), Layout::template scale<A>());
    __syncthreads();
    for (long i = threadIdx.x; i < queries * width; i += threads) {
      const int query = int(i / width);
      const long f = i % width;
      if (token + query >= tokens) return;
      const A* const weights = scores + query * elements;
      a.result<T>()[(sample * tokens + token + query) * features + first + f] = static_cast<T>(chain_of(
          seen(query), [&](long j) { return weights[j]; },
          [&](long j) { return static_cast<A>(values[j * features + f]); }));
    }
  }

 private:
  template <class X, class Y>
  __device__ static A chain_of(long count, X x, Y y) {
    SegmentedSum<A> sum;
    for (long first = 0; first < count || first == 0; first += segment_units<A>) {
      const long last = count < first + segment_units<A> ? count : first + segment_units<A>;
      for (long i = first; i < last; ++i) sum.add(x(i), y(i));
      sum.end_segment(last);
    }
    return sum.total;
  }
};

}  // namespace tenon::kernel::cuda

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::UpdateCache> : kernel::cuda::Launches<kernel::cuda::WriteCache> {};

template <>
struct Kernel<Cuda, ops::CachedAttention> : kernel::cuda::Launches<kernel::cuda::CachedRows> {
  template <class Call>
  static constexpr long workspace(long n) {
    using Rows = kernel::cuda::CachedRows<Call>;
    return Rows::blocks(n) * Rows::queries * Rows::row_elements * long(sizeof(typename Rows::A));
  }
};

}  // namespace tenon
TENON_EXACT_END
