// Gather, rows of a table by number, and scatter-add, the sum of rows with one number.
#pragma once
#include <cstdint>
#include <cstring>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/backend/order.hpp>
#include <tenon/core/math/wrapping.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Row of the table for a number that may count from the end; -1 if there is none.
template <class I>
TENON_DEVICE inline long table_row(I number, long rows) {
  const long row = long(number) < 0 ? long(number) + rows : long(number);
  return row >= 0 && row < rows ? row : -1;
}

/// Row of the table for a number that may count from the end, of which is known that there is one.
template <class I>
[[gnu::always_inline]] inline I known_row(I number, long rows) {
  return static_cast<I>(number + (number < 0 ? static_cast<I>(rows) : I(0)));
}

/// result[i] = table[index[i]], zeros where there is no such row; rows i = begin .. end - 1 of `length` elements.
template <class T, class I>
inline void gather(const T* table, long rows, long length, const I* index, T* result, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const long row = table_row(index[i], rows);
    T* const to = result + i * length;
    if (row < 0) __builtin_memset(static_cast<void*>(to), 0, std::size_t(length) * sizeof(T));
    else __builtin_memcpy(static_cast<void*>(to), table + row * length, std::size_t(length) * sizeof(T));
  }
}

namespace detail {
template <class A, class T>
[[gnu::always_inline]] inline void add_to_row(A* to, const T* from, long length) {
  store_unrolled(to, length, [to, from](long k) { return math::wrapping_add(to[k], static_cast<A>(from[k])); });
}
// A SumTree for each of some rows: the sums of chains that wait for their neighbours, of each row the lowest level
// first. Sums that are joined stay where the earlier one was.
template <class A>
class RowTrees {
  struct Sum {
    std::int32_t next, level;
  };

 public:
  /// Bytes for this many rows and chains.
  static constexpr long bytes(long rows, long chains, long length) {
    return chains * (length * long(sizeof(A)) + long(sizeof(Sum))) + rows * long(sizeof(std::int32_t));
  }
  RowTrees(void* room, long rows, long chains, long length)
      : values_(static_cast<A*>(room)),
        sums_(reinterpret_cast<Sum*>(values_ + chains * length)),
        first_(reinterpret_cast<std::int32_t*>(sums_ + chains)),
        length_(length) {
    for (long row = 0; row < rows; ++row) first_[row] = -1;
  }
  [[gnu::noinline]] void add(long row, A* chain) {
    std::int32_t own = first_[row];
    if (own < 0 || sums_[own].level > 0) {
      sums_[used_] = {own, 0}, first_[row] = used_;
      std::memcpy(static_cast<void*>(values(used_++)), chain, std::size_t(length_) * sizeof(A));
    } else {
      add_to_row(values(own), chain, length_);
      sums_[own].level = 1;
      for (std::int32_t next; (next = sums_[own].next) >= 0 && sums_[next].level == sums_[own].level; own = next) {
        add_to_row(values(next), values(own), length_);
        if (sums_[next].level < last) ++sums_[next].level;
      }
      first_[row] = own;
    }
    clear(chain, length_);
  }
  bool waits(long row) const { return first_[row] >= 0; }
  /// Adds to the last chain of a row those before it.
  [[gnu::noinline]] void finish(long row, A* chain) const {
    for (std::int32_t own = first_[row]; own >= 0; own = sums_[own].next) add_to_row(chain, values(own), length_);
  }

 private:
  static constexpr std::int32_t last = 15;  // the level that takes what comes, as in SumTree
  A* values(long number) const { return values_ + number * length_; }
  A* const values_;
  Sum* const sums_;
  std::int32_t* const first_;
  const long length_;
  std::int32_t used_ = 0;
};
}  // namespace detail

/// Bytes of scratch that scatter_add needs if sums of this many rows are carried.
template <class A>
constexpr long scatter_add_workspace(long indices, long sum_rows, long length) {
  return detail::RowTrees<A>::bytes(sum_rows, indices / sum_chain + 1, length) + sum_rows;
}
/// result[row] = the sum of values[i] over ascending i with index[i] = row, for rows begin .. end - 1, in the order of
/// backend/order.hpp. Sums are carried in A; if that is not T, `sums` has room for `sum_rows` rows.
template <class A, class T, class I>
[[gnu::noinline]] void scatter_add(const I* index, long indices, const T* values, long rows, long length, T* result,
                                   long begin, long end, A* sums, long sum_rows, void* workspace) {
  constexpr bool in_place = std::is_same_v<A, T>;
  if constexpr (in_place) sum_rows = end - begin;
  for (long first = begin; first < end; first += sum_rows) {
    const long last = first + sum_rows < end ? first + sum_rows : end, chains = indices / sum_chain + 1;
    A* target;
    if constexpr (in_place) target = result + first * length;
    else target = sums;
    for (long k = 0; k < (last - first) * length; ++k) target[k] = A(0);
    detail::RowTrees<A> trees(workspace, last - first, chains, length);
    auto* const taken =
        static_cast<std::uint8_t*>(workspace) + detail::RowTrees<A>::bytes(last - first, chains, length);
    for (long own = 0; own < last - first; ++own) taken[own] = 0;  // places of each row's chain
    for (long i = 0; i < indices; ++i) {
      const long row = table_row(index[i], rows), own = row - first;
      if (row < first || row >= last) continue;
      A* const to = target + own * length;
      if (taken[own] == sum_chain) trees.add(own, to), taken[own] = 0;
      ++taken[own];
      detail::add_to_row(to, values + i * length, length);
    }
    for (long own = 0; own < last - first && indices > sum_chain; ++own)
      if (trees.waits(own)) trees.finish(own, target + own * length);
    if constexpr (!in_place)
      for (long k = 0; k < (last - first) * length; ++k) result[first * length + k] = static_cast<T>(target[k]);
  }
}

}  // namespace tenon::kernel
TENON_EXACT_END

namespace tenon::inline TENON_ABI {

namespace ops {
struct Gather;
struct GatherGrad;
}  // namespace ops

template <>
struct Kernel<Cpu, ops::Gather> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr TensorType table = Call::operand(0);
    kernel::gather(a.operand<T>(0), table[0], table.span(1, table.rank),
                   a.operand<typename Call::template Operand<1>>(1), a.result<T>(), begin, end);
  }
};

template <>
struct Kernel<Cpu, ops::GatherGrad> {
  template <class Call>
  using Sum =
      std::conditional_t<is_floating(Call::result.dtype), Accumulator<typename Call::Result>, typename Call::Result>;
  template <class Call>
  static constexpr long length = Call::result.span(1, Call::result.rank);
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(1).count(n) / (Call::result[0] + 1) + length<Call>;
  }
  // Rows whose sums are carried at a time, and bytes of these sums if they are not in the result.
  template <class Call>
  static constexpr bool in_place = std::is_same_v<Sum<Call>, typename Call::Result>;
  template <class Call>
  static constexpr long sum_rows = in_place<Call>         ? Call::result[0]
                                   : length<Call> > 16384 ? 1
                                                          : 16384 / (length<Call> ? length<Call> : 1);
  template <class Call>
  static constexpr long sum_bytes = in_place<Call> ? 0 : sum_rows<Call> * length<Call> * long(sizeof(Sum<Call>));
  template <class Call>
  static constexpr long workspace(long n) {
    return sum_bytes<Call> +
           kernel::scatter_add_workspace<Sum<Call>>(Call::operand(0).count(n), sum_rows<Call>, length<Call>);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using I = typename Call::template Operand<0>;
    kernel::scatter_add(a.operand<I>(0), Call::operand(0).count(a.n), a.operand<T>(1), Call::result[0], length<Call>,
                        a.result<T>(), begin, end, reinterpret_cast<Sum<Call>*>(a.workspace), sum_rows<Call>,
                        a.workspace + sum_bytes<Call>);
  }
};

}  // namespace tenon
