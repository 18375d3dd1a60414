// Selects rows of a table by index: the embedding look-up.
#pragma once
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
/// order       the rows of one sum in ascending order of their position, in chains of 32 that are added up as a tree
///             (backend/order.hpp), for any number of threads
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
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return row_numbers(0, IndexRange::the_result, c.rows);
  }
  static constexpr void derivative(Derivative& d);
};

/// Rows of a table by number, an embedding look-up:  y[i, j, ...] = table[numbers[i, j, ...]]
///
/// table       [V, ...], a static shape, any dtype
/// numbers     any shape; int32 or int64; -V .. -1 count from the end. Throws ValueError for any other number outside
///             of 0 .. V - 1, with its position
/// result      [shape of numbers..., ...]
/// derivative  to row v the sum of dy where the number is v; none to the numbers
/// source      MindSpore's Gather with axis 0, PyTorch's embedding and index_select
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
