// Rows of a table of which each rank of a group has a slice: rows_of_slice.
#pragma once
#include <cstring>
#include <span>

#include <tenon/ops/collective/slices.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
template <class T>
void rows_of_rank(std::span<const T> numbers, T* to, long rank, long rows, long slices) {
  for (const T number : numbers) {
    const long own = (number < 0 ? long(number) + rows * slices : long(number)) - rank * rows;
    *to++ = own >= 0 && own < rows ? T(own) : T(rows);
  }
}
}  // namespace detail

/// Numbers of rows of a whole table as those of the rank's slice of it, and the number of rows in a slice for rows that
/// other ranks have. Not for users.
///
/// numbers     any shape, equal on all ranks; int32 or int64. Throws ValueError for one that is outside of the table
template <FixedString group>
struct SliceRows : Sliced<SliceRows<group>, "SliceRows", group> {
  struct Config {
    int slices = 1, rows = 0;  // of a slice
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    if (in[0].dtype != Dtype::int32 && in[0].dtype != Dtype::int64)
      error << "an embedding needs numbers of int32 or int64, got " << tenon::name(in[0].dtype) << " " << in[0];
    return in[0];
  }
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    IndexRange range = row_numbers(0, 0, c.rows * c.slices);
    range.have = "rows of the table, for numbers";
    return range;
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr Config c = Call::config();
    detail::rows_of_rank(SliceRows::template operand<Call>(a), SliceRows::template result<Call>(a).data(),
                         SliceRows::ranks(c.slices).rank(), c.rows, c.slices);
  }
};

/// Rows of a table by number, and zeros for the number behind its last row. Not for users.
///
/// table       [V, ...], a static shape, any dtype
/// numbers     any shape; int32 or int64 in 0 .. V
/// derivative  as that of Gather
struct RowsOrZeros : Operator<RowsOrZeros, "RowsOrZeros"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig& c, Sentence& error) {
    return Gather::shape(in, c, error);
  }
  static constexpr void derivative(Derivative& d) {
    const TensorType table = d.type(0);
    const int sums = d.call_with<GatherGrad>({table[0] + 1}, d.operand(1), d.gradient());
    TensorType longer = table;
    ++longer.extent[0];
    SliceWindow own = SliceWindow::all(longer, 0);
    own.part[SliceWindow::axes - 1] = table[0];
    d.flows_to(0, d.call_with<Slice>(own, sums));
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr long rows = Call::operand(0)[0];
    constexpr std::size_t row = std::size_t(Call::operand(0).bytes(1) / rows);
    const auto* const table = reinterpret_cast<const std::byte*>(a.operand<T>(0));
    auto* const y = reinterpret_cast<std::byte*>(a.result<T>());
    for (long i = begin; i < end; ++i) {
      const long number = long(a.operand<typename Call::template Operand<1>>(1)[i]);
      if (number < rows) std::memcpy(y + std::size_t(i) * row, table + std::size_t(number) * row, row);
      else std::memset(y + std::size_t(i) * row, 0, row);
    }
  }
};

/// The rows of a table, of which each of `slices` ranks has as many rows as `table`, in their order: each rank gets
/// those that it has, and zeros for the others.
template <int slices, FixedString group, Operand Table, Operand Numbers>
constexpr auto rows_of_slice(const Table& table, const Numbers& numbers,
                             std::source_location at = std::source_location::current()) {
  const auto own =
      apply<SliceRows<group>, typename SliceRows<group>::Config{slices, Table::dims.extent[0]}>(at, numbers);
  if constexpr (constexpr Dtype half = tenon::detail::network_half<Numbers>;
                is_half_dtype(half) && tenon::detail::is_float_parameter<Table>)
    return cast<CppType<half>>(apply<RowsOrZeros>(at, table, own), at);
  else return apply<RowsOrZeros>(at, table, own);
}

}  // namespace tenon::ops
