// Attention: softmax(scale q kᵀ) v. A block has some queries of a head, and their rows of scores in shared memory; no
// matrix of scores goes through memory.
#pragma once
#include <bit>
#include <limits>

#include <tenon/backend/cpu/attention/attention_kernel.hpp>
#include <tenon/backend/cuda/attention/scores.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

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
  static constexpr int threads = 128;
  /// Features, in groups of 16 bytes, and how many groups there are.
  static constexpr int together = together_of<A>, feature_groups = int((width + together - 1) / together);
  /// Rows of scores, which end with a multiple of 32 keys, and of features in shared memory: apart by a multiple of 16
  /// bytes, so that neighbouring rows are in different banks: 4 of scores, 8 of features.
  static constexpr long score_pitch = (keys + 31) / 32 * 32 + 8, feature_pitch = (feature_groups | 1) * together;
  /// Keys that a half of the block has at a time: they need room, beside two rows of at least two queries.
  static constexpr int tile = [] {
    constexpr long row = feature_pitch * long(sizeof(A));
    int rows = 32;
    while (rows > 1 && (2 * rows * row > 64 * 1024 || (2 * rows + 4) * row > most_shared_bytes)) rows /= 2;
    return rows;
  }();

  TENON_DEVICE static constexpr long count(long n) {
    constexpr TensorType type = C::operand(0);
    constexpr long of_one = queries ? type.count(1) / (queries * pitch) * heads : 0;
    return type.batched() ? n * of_one : of_one;
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
/// The place of a thread among `groups` groups of a block, or a part of it, and in its group. Lanes T and T ^ 1 are in
/// the same group, T and T ^ 2 have the same place in it. Where all lanes have such a neighbour with the same address,
/// loads of 16 bytes take half as many turns.
template <int threads, int groups>
struct InGroups {
  static constexpr int members = threads / groups;
  static_assert(groups == 1 || members > 1);
  int group, member;
  __device__ explicit InGroups(int thread) : group(0), member(thread) {
    if constexpr (groups > 1) {
      constexpr int rest = threads / groups * 2;  // threads with the same bits of the group above the first one
      group = thread / 2 % 2 + thread / rest * 2;
      member = thread % 2 + thread % rest / 4 * 2;
    }
  }
};
/// Queries of a block: 32, or fewer if their rows of scores need more shared memory than there is; rows that are too
/// long are in the workspace. Of each query there are `arrays` rows of keys, and of features.
template <class H, int arrays>
struct QueryBlock {
  using A = typename H::A;
  static constexpr int most_bytes = std::min(200 << 10, most_shared_bytes);
  static constexpr long elements(long queries, bool with_rows) {
    return queries * arrays * (H::feature_pitch + (with_rows ? H::score_pitch : 0)) + 2 * H::tile * H::feature_pitch;
  }
  static constexpr bool in_memory = elements(2, true) * long(sizeof(A)) > most_bytes;
  static constexpr int queries = [] {
    int fit = 32;
    while (fit > 2 && elements(fit, !in_memory) * long(sizeof(A)) > most_bytes) fit /= 2;
    return fit;
  }();
  static constexpr int bytes = int(elements(queries, !in_memory) * long(sizeof(A)));
  static constexpr long blocks_of_head = (H::queries + queries - 1) / queries;
  /// Sums of a thread in weigh_rows(), and for how many blocks at a time there are registers then.
  static constexpr long sums = queries * H::feature_groups * H::together / H::threads;
  static constexpr int resident = sums <= 16 ? 5 : sums <= 32 ? 4 : 2;
  static long blocks(long n) { return H::count(n) * blocks_of_head; }
  /// Blocks that see many keys start first, so that short ones fill the gaps at the end.
  __device__ static long head(const Arguments& a) { return blockIdx.x % unsigned(H::count(a.n)); }
  __device__ static long first(const Arguments& a) {
    const int part = int(blockIdx.x / unsigned(H::count(a.n)));
    return (H::causal ? int(blocks_of_head) - 1 - part : part) * queries;
  }
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

/// Copies `rows` rows of features to shared memory, which are `row_pitch` apart; zeros for those that do not exist.
template <class H, long row_pitch>
__device__ void stage_rows(typename H::A* to, int rows, long existing, const typename H::T* from) {
  using A = typename H::A;
  using T = typename H::T;
  constexpr int together = H::together, groups = H::feature_groups;
  using Given = Neighbours<T, together>;
  const int there = existing < rows ? int(existing) : rows;
  const auto stage = [=](auto group_of) {
    const auto move = [=](int row, int f) {
      Neighbours<A, together> group{};
      if (row < there) {
        const Given given = group_of(from + row * row_pitch, f);
#pragma unroll
        for (int e = 0; e < together; ++e) group.element[e] = static_cast<A>(given.element[e]);
      }
      *reinterpret_cast<Neighbours<A, together>*>(to + row * H::feature_pitch + f) = group;
    };
    const int first = int(threadIdx.x) / groups, f = int(threadIdx.x) % groups * together;
    if constexpr (H::threads % groups == 0) {
#pragma unroll 4
      for (int row = first; row < rows; row += H::threads / groups) move(row, f);
    } else {
      for (int i = int(threadIdx.x); i < rows * groups; i += H::threads) move(i / groups, i % groups * together);
    }
  };
  if constexpr (H::width % together == 0 && row_pitch % together == 0)
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(Given) == 0)
      return stage([](const T* row, int f) { return *reinterpret_cast<const Given*>(row + f); });
  stage([](const T* row, int f) {
    Given given{};
#pragma unroll
    for (int e = 0; e < together; ++e)
      if (f + e < H::width) given.element[e] = row[f + e];
    return given;
  });
}
/// A half of the block computes products of rows x with rows y, which are 8 apart for a thread: `each` of them.
template <class H, int x_rows, int y_rows>
struct RowsOfHalf {
  static constexpr int threads = H::threads / 2, x_each = x_rows < 8 ? 1 : x_rows / 8,
                       y_each = y_rows < 8 ? 1 : y_rows / 8;
  using A = typename H::A;
  const InGroups<threads, 8> at{int(threadIdx.x) % threads};
  A product[x_each][y_each];

  __device__ int x_row(int i) const { return at.group + i * 8; }
  __device__ int y_row(int j) const { return at.member + j * 8; }
  /// Constant distances between rows are a part of the instructions that load them.
  __device__ void multiply(const A* x, const A* y) {
    constexpr int width = int(H::width), together = H::together, segment = int(segment_units<A>);
    using Group = Neighbours<A, together>;
    const A* const of_x = x + (x_rows < 8 && at.group >= x_rows ? 0 : at.group) * H::feature_pitch;
    const A* const of_y = y + (y_rows < 8 && at.member >= y_rows ? 0 : at.member) * H::feature_pitch;
    SegmentedSum<A> sum[x_each][y_each];
#pragma unroll 1
    for (int first = 0; first < width || first == 0; first += segment) {
      const int last = width < first + segment ? width : first + segment, groups = (last - first) / together;
      const auto add = [&](int p, int in_group) {
        Group from_x[x_each], from_y[y_each];
#pragma unroll
        for (int i = 0; i < x_each; ++i)
          from_x[i] = *reinterpret_cast<const Group*>(of_x + i * 8 * H::feature_pitch + p);
#pragma unroll
        for (int j = 0; j < y_each; ++j)
          from_y[j] = *reinterpret_cast<const Group*>(of_y + j * 8 * H::feature_pitch + p);
#pragma unroll
        for (int e = 0; e < together; ++e)
#pragma unroll
          for (int i = 0; i < x_each; ++i)
#pragma unroll
            for (int j = 0; j < y_each; ++j)
              if (e < in_group) sum[i][j].add(from_x[i].element[e], from_y[j].element[e]);
      };
#pragma unroll 1
      for (int g = 0; g < groups; ++g) add(first + g * together, together);
      if (width % together && last == width) add(first + groups * together, width % together);
#pragma unroll
      for (int i = 0; i < x_each; ++i)
#pragma unroll
        for (int j = 0; j < y_each; ++j) sum[i][j].end_segment(last);
    }
#pragma unroll
    for (int i = 0; i < x_each; ++i)
#pragma unroll
      for (int j = 0; j < y_each; ++j) product[i][j] = sum[i][j].total;
  }
};
__device__ inline int half_of_block(int threads) { return int(threadIdx.x) / (threads / 2); }

/// scores[query][j] = x[query] · key j for the keys j that some query of the block sees; with `other`, by the second
/// half of the block, others[query][j] = other[query] · value j. `staged` has room for two tiles of rows.
template <class H, int queries, bool with_others>
__device__ void dot_rows(const Arguments& a, long head, long keys, const typename H::A* x, const typename H::A* other,
                         typename H::A* staged, typename H::A* scores, typename H::A* others) {
  constexpr int tile = H::tile;
  const int half = half_of_block(H::threads);
  typename H::A* const second = staged + tile * H::feature_pitch;
  for (long first = 0; first < keys; first += with_others ? tile : 2 * tile) {
    __syncthreads();
    stage_rows<H, H::pitch>(staged, tile, keys - first, H::row(a, 1, head, first));
    if constexpr (with_others) stage_rows<H, H::pitch>(second, tile, keys - first, H::row(a, 2, head, first));
    else stage_rows<H, H::pitch>(second, tile, keys - first - tile, H::row(a, 1, head, first + tile));
    __syncthreads();
    const long begin = with_others ? first : first + half * tile;
    if (begin >= keys) continue;
    RowsOfHalf<H, queries, tile> own;
    own.multiply(with_others && half ? other : x, half ? second : staged);
    typename H::A* const to = with_others && half ? others : scores;
#pragma unroll
    for (int i = 0; i < own.x_each; ++i)
#pragma unroll
      for (int j = 0; j < own.y_each; ++j)
        if (own.x_row(i) < queries && own.y_row(j) < tile && begin + own.y_row(j) < keys)
          to[own.x_row(i) * H::score_pitch + begin + own.y_row(j)] = own.product[i][j];
  }
  __syncthreads();
}
/// Sums over keys of weights[query][key] times the features of row `key`: a thread has groups of features of some
/// queries, in some passes over the features.
template <class H, int queries>
struct WeighedRows {
  using A = typename H::A;
  using Group = Neighbours<A, H::together>;
  static constexpr int together = H::together, wide = int(std::bit_ceil(unsigned(H::feature_groups))),
                       wanted = queries * wide / H::threads, each = std::min({wanted < 1 ? 1 : wanted, 8, queries}),
                       groups = queries / each;
  using Place = InGroups<H::threads, groups>;
  static constexpr int all_passes = (H::feature_groups + Place::members - 1) / Place::members,
                       passes = std::min(all_passes, 2);  // at a time: their sums are in registers
  const Place at{int(threadIdx.x)};
  int first_pass = 0;
  SegmentedSum<A> sum[passes][each][together];

  __device__ long feature(int pass) const { return ((first_pass + pass) * Place::members + at.member) * together; }
  __device__ int query(int m) const { return at.group + m * groups; }
  /// Rows that are staged, with the weights of the first one.
  __device__ void add_rows(const A* staged, int rows, const A* weights) {
#pragma unroll
    for (int pass = 0; pass < passes; ++pass)
      if (feature(pass) < H::width) add_to(pass, staged + feature(pass), rows, weights);
  }
  __device__ void end_segment(long terms) {
#pragma unroll
    for (int i = 0; i < passes * each * together; ++i)
      sum[i / (each * together)][i / together % each][i % together].end_segment(terms);
  }

 private:
  __device__ void add_to(int pass, const A* features, int rows, const A* weights) {
    const auto value = [=](int key) { return *reinterpret_cast<const Group*>(features + key * H::feature_pitch); };
    const auto add = [&](int m, A weight, const Group& values) {
#pragma unroll
      for (int e = 0; e < together; ++e) sum[pass][m][e].add(weight, values.element[e]);
    };
    int key = 0;
    for (; key + together <= rows; key += together) {
      Group values[together];
#pragma unroll
      for (int k = 0; k < together; ++k) values[k] = value(key + k);
#pragma unroll
      for (int m = 0; m < each; ++m) {
        const Group weight = *reinterpret_cast<const Group*>(weights + query(m) * H::score_pitch + key);
#pragma unroll
        for (int k = 0; k < together; ++k) add(m, weight.element[k], values[k]);
      }
    }
    for (; key < rows; ++key)
#pragma unroll
      for (int m = 0; m < each; ++m) add(m, weights[query(m) * H::score_pitch + key], value(key));
  }
};
/// store(query, f, sums, left) for such sums of features f, f + 1, ... of operand `which`; `left` of them exist.
template <class H, int queries, class Store>
__device__ void weigh_rows(const Arguments& a, const typename H::A* weights, int which, long head, long keys,
                           typename H::A* staged, Store store) {
  using Weighed = WeighedRows<H, queries>;
  constexpr int rows = 2 * H::tile;
  for (int first_pass = 0; first_pass < Weighed::all_passes; first_pass += Weighed::passes) {
    Weighed own{.first_pass = first_pass};
    for (long first = 0; first < keys; first += rows) {
      const int count = int(keys - first < rows ? keys - first : rows);
      __syncthreads();
      stage_rows<H, H::pitch>(staged, rows, count, H::row(a, which, head, first));
      __syncthreads();
      own.add_rows(staged, count, weights + first);
      const long end = first + count;
      if (end % segment_units<typename H::A> == 0 || end == keys) own.end_segment(end);
    }
#pragma unroll
    for (int pass = 0; pass < Weighed::passes; ++pass)
#pragma unroll
      for (int m = 0; m < Weighed::each; ++m) {
        typename Weighed::Group sums;
#pragma unroll
        for (int e = 0; e < H::together; ++e) sums.element[e] = own.sum[pass][m][e].total;
        if (const long f = own.feature(pass); f < H::width) store(own.query(m), f, sums, H::width - f);
      }
  }
}
/// Stores some neighbouring features as elements of another type.
template <class T, class A, int together>
__device__ void store_features(T* row, long f, const Neighbours<A, together>& sums, long left) {
  Neighbours<T, together> own;
#pragma unroll
  for (int e = 0; e < together; ++e) own.element[e] = static_cast<T>(sums.element[e]);
  store_neighbours(own, row, f, left);
}
/// Makes weights of the scores of a query, and zeros up to `keys`.
template <class H>
__device__ void weights_of_row(typename H::A* x, long seen, long keys) {
  using A = typename H::A;
  const A scale = H::Layout::template scale<A>();
  if constexpr (constexpr int most = kept_of_lane<H::keys>; most > 0) {
    LaneElements<A, most> row;
    row.each(int(keys), [&](int k, int i) { row.value[k] = x[i]; });
    softmax_of_lanes(row, int(seen), int(keys), scale);
    row.each(int(keys), [&](int k, int i) { x[i] = row.value[k]; });
  } else softmax_of_scores(x, seen, keys, scale);
}

template <class C>
struct AttentionRows {
  using H = Heads<C, 0>;
  using Block = QueryBlock<H, 1>;
  static constexpr int threads = H::threads, resident = Block::resident;
  __device__ static void block(const Arguments& a) {
    using A = typename H::A;
    using T = typename H::T;
    constexpr int queries = Block::queries;
    A* q = nullptr;
    A *const x = Block::rows(a, q), *const staged = q + queries * H::feature_pitch;
    const long head = Block::head(a), first = Block::first(a);
    const long last = first + queries < H::queries ? first + queries : H::queries, keys = H::seen(last - 1);
    stage_rows<H, H::pitch>(q, queries, last - first, H::row(a, 0, head, first));
    dot_rows<H, queries, false>(a, head, keys, q, nullptr, staged, x, nullptr);
    for (int own = row_of_block(); own < queries; own += threads / lanes) {  // whole warps
      const long query = first + own < last ? first + own : last - 1;
      weights_of_row<H>(x + own * H::score_pitch, H::seen(query), keys);
    }
    weigh_rows<H, queries>(a, x, 2, head, keys, staged, [&](int query, long f, const auto& sums, long left) {
      if (first + query < last) store_features(a.result<T>() + H::result_offset(head, first + query), f, sums, left);
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
