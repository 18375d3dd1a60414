// Rows of a table by number: the embedding look-up.
#pragma once
#include <tenon/kernel/cpu/movement/gather.hpp>
#include <tenon/ops/accumulate.hpp>
#include <tenon/ops/cast.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Numbers of rows: negative ones count from the end. `among` says which tensor has the rows.
constexpr IndexRange row_numbers(int operand, int among, int rows) {
  return {.operand = operand,
          .low = -rows,
          .high = rows,
          .among = among,
          .have = "rows of the table",
          .advice = "give the table more rows"};
}

struct Gather;

/// Sums rows of dy by number. Operands: numbers, dy. Result: [rows, ...]. Not for users.
///
/// order       the rows of one sum in ascending order of their place, whatever the number of threads
struct GatherGrad : Operator<GatherGrad, "GatherGrad"> {
  struct Config {
    int rows = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType table{{c.rows}, 1, in[1].dtype};
    for (int axis = in[0].rank; axis < in[1].rank; ++axis) table.extent[table.rank++] = in[1][axis];
    return table;
  }
  // Asked here, too: a graph that wants the gradient alone has no look-up.
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) { return row_numbers(0, -1, c.rows); }
  static constexpr void derivative(Derivative& d);

  template <class Call>
  using Sum =
      std::conditional_t<is_floating(Call::result.dtype), Accumulator<typename Call::Result>, typename Call::Result>;
  template <class Call>
  static constexpr long length = Call::result.span(1, Call::result.rank);
  template <class Call>
  static constexpr long sum_rows = length<Call> > 16384 ? 1 : 16384 / (length<Call> ? length<Call> : 1);
  template <class Call>
  static constexpr long items(long) {
    return Call::result[0];
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::operand(1).count(n) / (Call::result[0] + 1) + length<Call>;
  }
  template <class Call>
  static constexpr long workspace(long) {
    return std::is_same_v<Sum<Call>, typename Call::Result> ? 0
                                                            : sum_rows<Call> * length<Call> * long(sizeof(Sum<Call>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using I = typename Call::template Operand<0>;
    kernel::scatter_add(a.operand<I>(0), Call::operand(0).count(a.n), a.operand<T>(1), Call::result[0], length<Call>,
                        a.result<T>(), begin, end, reinterpret_cast<Sum<Call>*>(a.workspace), sum_rows<Call>);
  }
};

/// Rows of a table by number, an embedding look-up:  y[i, j, ...] = table[numbers[i, j, ...]]
///
/// table       [V, ...], a static shape, any dtype
/// numbers     any shape; int32 or int64. -V .. -1 count from the end. Throws ValueError for any other number outside
///             of 0 .. V - 1, with its place
/// result      [shape of numbers..., ...]
/// derivative  to row v the sum of dy where the number is v; none to the numbers
/// source      MindSpore's Gather with axis 0
struct Gather : Operator<Gather, "Gather"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &table = in[0], &numbers = in[1];
    TensorType y = numbers.with(table.dtype);
    if (numbers.dtype != Dtype::int32 && numbers.dtype != Dtype::int64)
      error << "Gather needs numbers of int32 or int64, got " << tenon::name(numbers.dtype) << " " << numbers;
    else if (table.rank == 0 || table.batched())
      error << "Gather needs a table [V,...] of a fixed number of rows, got " << table;
    else if (numbers.rank + table.rank - 1 > max_rank)
      error << "Gather of " << table << " by " << numbers << ": a tensor has at most " << max_rank << " axes";
    else
      for (int axis = 1; axis < table.rank; ++axis) y.extent[y.rank++] = table[axis];
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) { return row_numbers(1, 0, in[0][0]); }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<GatherGrad>({d.type(0)[0]}, d.operand(1), d.gradient()));
  }
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

constexpr void GatherGrad::derivative(Derivative& d) { d.flows_to(1, d.call<Gather>(d.gradient(), d.operand(0))); }

/// Rows of a table: `auto h = gather(table, tokens);` In a network that computes in 16 bits (amp<...>), rows of a
/// float32 parameter are cast: the table's gradient is summed in float32.
template <Operand Table, Operand Numbers>
constexpr auto gather(const Table& table, const Numbers& numbers,
                      std::source_location at = std::source_location::current()) {
  if constexpr (constexpr Dtype half = tenon::detail::network_half<Numbers>;
                is_half_dtype(half) && tenon::detail::is_float_parameter<Table>)
    return cast<CppType<half>>(apply<Gather>(at, table, numbers), at);
  else return apply<Gather>(at, table, numbers);
}

}  // namespace tenon::ops
