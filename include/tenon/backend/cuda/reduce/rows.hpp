// Sums of computed terms of a row, in the order of lane_sum (cpu/reduce/accumulation_order.hpp): 16 lanes, pieces of
// 1024 elements, and these as a tree.
#pragma once
#include <bit>

#include <tenon/backend/cuda/reduce/tree.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

/// For a team of which a block has one row alone. `thread`: the number of this one in the row's warp.
struct OfBlock {
  int thread;
};

/// The threads of a row of `fixed` elements (-1: known at run time alone): a half warp per piece, at most 16 of them. A
/// thread keeps its elements in registers where that is all of the row: values[k] in functions that get k and i.
template <long fixed>
class RowTeam {
 public:
  static constexpr int threads = 256, most_parts = threads / lanes;
  static constexpr long fixed_pieces = fixed <= lane_piece ? 1 : (fixed + lane_piece - 1) / lane_piece;
  static constexpr int parts = fixed_pieces < most_parts ? int(std::bit_ceil(std::size_t(fixed_pieces))) : most_parts;
  static constexpr int rows_of_block = most_parts / parts;
  static constexpr bool kept = fixed >= 0 && fixed_pieces <= most_parts;
  static constexpr int steps = fixed >= 0 && fixed < lane_piece ? int((fixed + lanes - 1) / lanes) : int(term_chain);
  static constexpr int values = kept && steps > 0 ? steps : 1;

  static long blocks(long rows) { return blocks_for(rows, rows_of_block); }

  __device__ RowTeam(long rows, long count) : count_(count) {
    const long own = long(blockIdx.x) * rows_of_block + int(threadIdx.x) / (parts * lanes);
    exists_ = own < rows;
    row_ = exists_ ? own : rows - 1;
  }
  /// In one warp.
  __device__ explicit RowTeam(OfBlock of) : row_(0), count_(fixed), exists_(of.thread < lanes) {
    static_assert(parts == 1 && fixed >= 0);
  }
  /// The threads of rows beyond the last one do what those of the last one do, and store nothing.
  __device__ long row() const { return row_; }
  __device__ bool exists() const { return exists_; }
  __device__ bool is_first() const { return exists_ && int(threadIdx.x) % (parts * lanes) == 0; }
  __device__ long count() const {
    if constexpr (fixed >= 0) return fixed;
    else return count_;
  }

  /// Calls f(k, i) for this thread's elements i of the row.
  template <class F>
  __device__ void each(F f) const {
    for (long round = 0; round < rounds(); ++round) each_of_round(round, f);
  }
  /// The sum over the row of what add(total, k, i) adds to a total, in all threads of the row.
  template <class A, class Adding>
  __device__ A sum_by(Adding add) const {
    Tree<A, tree_levels - std::bit_width(unsigned(parts)) + 1> tree;
    for (long round = 0;; ++round) {
      A value = 0;
      each_of_round(round, [&](int k, long i) { add(value, k, i); });
      value = of_parts(sum_of_lanes(value), pieces() - round * parts, Add());
      if (round + 1 == rounds()) return tree.finish(value, Add());
      tree.add(value, Add());
    }
  }
  template <class A, class Term>
  __device__ A sum(Term term) const {
    return sum_by<A>([&](A& total, int k, long i) { total += term(k, i); });
  }
  /// The largest of value(k, i), in all threads of the row. A NaN is passed over.
  template <class A, class Value>
  __device__ A largest(Value value) const {
    const auto larger = [](A a, A b) { return b > a ? b : a; };
    A most = -std::numeric_limits<A>::infinity();
    each([&](int k, long i) { most = larger(most, value(k, i)); });
    most = __shfl_sync(~0u, fold_half_warp(most, larger), 0, lanes);
    return of_parts(most, pieces(), larger);
  }

 private:
  __device__ static int part() { return int(threadIdx.x) / lanes % parts; }
  __device__ long pieces() const {
    if constexpr (fixed >= 0) return fixed_pieces;
    else return count_ <= lane_piece ? 1 : (count_ + lane_piece - 1) / lane_piece;
  }
  __device__ long rounds() const {
    if constexpr (kept) return 1;
    else return (pieces() + parts - 1) / parts;
  }
  template <class F>
  __device__ void each_of_round(long round, F f) const {
    const long first = (round * parts + part()) * lane_piece + lane_of_row();
#pragma unroll kept ? values : 1
    for (int k = 0; k < steps; ++k)
      if (const long i = first + k * lanes; i < count()) f(k, i);
  }
  // Of values that all lanes of a part have; parts from `existing` on have none.
  template <class A, class F>
  __device__ static A of_parts(A value, long existing, F combine) {
    if constexpr (parts == 1) return value;
    else {
      __shared__ A of_part[most_parts];
      A* const own = of_part + int(threadIdx.x) / (parts * lanes) * parts;
#pragma unroll
      for (int step = 1; step < parts; step *= 2) {
        __syncthreads();
        if (lane_of_row() == 0) own[part()] = value;
        __syncthreads();
        if (part() % (2 * step) == 0 && part() + step < existing) value = combine(value, own[part() + step]);
      }
      __syncthreads();
      if (lane_of_row() == 0 && part() == 0) own[0] = value;
      __syncthreads();
      return own[0];
    }
  }

  long row_, count_;
  bool exists_;
};

/// The sum of term(0) .. term(count - 1) as by column_sums: chains of 32 as a tree. At least one term.
template <class A, class Term>
__device__ A sum_of_column(long count, Term term) {
  Tree<A> tree;
  for (long first = 0;; first += sum_chain) {
    A chain = 0;
    const long last = count - first > sum_chain ? first + sum_chain : count;
    for (long i = first; i < last; ++i) chain += term(i);
    if (last == count) return tree.finish(chain, Add());
    tree.add(chain, Add());
  }
}

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
