// Rows of a tensor by number: they are added up, replaced, or compared with others.
#pragma once
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// What is wrong with rows `values` that have numbers.
constexpr void check_numbered_rows(const char* who, const TensorType& numbers, const TensorType& values,
                                   Sentence& error) {
  bool fit = numbers.rank <= values.rank;
  for (int axis = 0; fit && axis < numbers.rank; ++axis) fit = numbers[axis] == values[axis];
  if (numbers.dtype != Dtype::int32 && numbers.dtype != Dtype::int64)
    error << who << " needs numbers of int32 or int64, got " << tenon::name(numbers.dtype) << " " << numbers;
  else if (!fit) error << who << " of " << values << " by " << numbers << ": it needs a number for each row";
}
/// `rows` rows of the shape of those of `values`.
constexpr TensorType rows_like(const TensorType& numbers, const TensorType& values, int rows) {
  TensorType y{{rows}, 1, values.dtype};
  for (int axis = numbers.rank; axis < values.rank && y.rank < max_rank; ++axis) y.extent[y.rank++] = values[axis];
  return y;
}
}  // namespace detail

/// Sums rows by number:  result[s] = the sum of values[i, ...] where numbers[i] = s. Operands: numbers, values.
///
/// numbers     int32 or int64, the first axes of values: 0 .. rows - 1. Throws ValueError for any other number, with
///             its position; MindSpore ignores negative ones
/// values      any dtype but bool; integers wrap around
/// result      [rows, ...]; 0 where no number names the row
/// derivative  to each row of values dy of its number; none to the numbers
/// order       as in the gradient of gather (backend/order.hpp)
/// source      MindSpore's UnsortedSegmentSum and ScatterNd
struct UnsortedSegmentSum : Operator<UnsortedSegmentSum, "UnsortedSegmentSum"> {
  struct Config {
    int rows = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    detail::check_numbered_rows("UnsortedSegmentSum", in[0], in[1], error);
    if (error.empty() && in[1].dtype == Dtype::bool_)
      error << "UnsortedSegmentSum needs numbers as values, got bool " << in[1] << ": cast it";
    else if (error.empty() && c.rows < 1)
      error << "UnsortedSegmentSum of " << in[1] << " got " << c.rows << " segments";
    return detail::rows_like(in[0], in[1], c.rows);
  }
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return {.operand = 0,
            .high = c.rows,
            .among = IndexRange::the_result,
            .number = "number",
            .have = "rows of the result",
            .advice = "ask for more of them"};
  }
  static constexpr void derivative(Derivative& d) { d.flows_to(1, d.call<Gather>(d.gradient(), d.operand(0))); }
};

/// What a row becomes that is named: the last of the rows given for it, or the largest or smallest of itself and these.
enum class RowUpdate : int { replace, largest, smallest };

/// Changes rows by number, in ascending order of their position. Operands: numbers, rows, x.
///
/// x           [rows, ...], a static shape, any dtype; numbers, rows as in UnsortedSegmentSum
/// result      as x
/// derivative  of replace: dy to the rows that were given, also where a later one has replaced them, as in MindSpore
///             and PyTorch; 0 to what was replaced. Of largest and smallest: equal shares to all that are equal to the
///             result, as in both
/// source      MindSpore's TensorScatterUpdate, TensorScatterMax, TensorScatterMin
struct UpdateRows : Operator<UpdateRows, "TensorScatterUpdate"> {
  struct Config {
    RowUpdate update = RowUpdate::replace;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    detail::check_numbered_rows("TensorScatterUpdate", in[0], in[1], error);
    if (error.empty() && !(detail::rows_like(in[0], in[1], in[2].rank ? in[2][0] : 0) == in[2]))
      error << "TensorScatterUpdate of " << tenon::name(in[2].dtype) << " " << in[2] << " by rows "
            << tenon::name(in[1].dtype) << " " << in[1] << ": dtypes and rows must agree";
    return in[2];
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config&) { return row_numbers(0, 2, in[2][0]); }
  static constexpr void derivative(Derivative& d) {
    const int numbers = d.operand(0), dy = d.gradient();
    if (d.config<UpdateRows>().update == RowUpdate::replace) {
      d.flows_to(1, d.call<Gather>(dy, numbers));
      d.flows_to(2, d.call_with<UpdateRows>({}, numbers, d.call<FullLike>(d.operand(1)), dy));
      return;
    }
    const auto as_number = [&](int flag) { return d.call_with<Cast>({d.type(2).dtype}, flag); };
    const int kept = as_number(d.call<Equal>(d.operand(2), d.result())),
              given = as_number(d.call<Equal>(d.operand(1), d.call<Gather>(d.result(), numbers)));
    const int equal = d.call<Add>(kept, d.call_with<UnsortedSegmentSum>({d.type(2)[0]}, numbers, given));
    const int share = d.call<Div>(dy, equal);
    d.flows_to(1, d.call<Mul>(d.call<Gather>(share, numbers), given));
    d.flows_to(2, d.call<Mul>(share, kept));
  }
};

/// Sums of the rows with one number: `unsorted_segment_sum<4>(x, numbers)`. PyTorch's index_add of zeros.
template <int segments>
constexpr auto unsorted_segment_sum(const Operand auto& x, const Operand auto& numbers,
                                    std::source_location at = std::source_location::current()) {
  return apply<UnsortedSegmentSum, UnsortedSegmentSum::Config{segments}>(at, numbers, x);
}
/// Means of the rows with one number; 0 where there is none.
template <int segments, Operand X>
constexpr auto unsorted_segment_mean(const X& x, const Operand auto& numbers,
                                     std::source_location at = std::source_location::current()) {
  const auto sum = unsorted_segment_sum<segments>(x, numbers, at);
  if constexpr (is_broken<std::remove_cvref_t<decltype(sum)>>) return sum;
  else return div(sum, maximum(unsorted_segment_sum<segments>(ones_like(x, at), numbers, at), 1, at), at);
}

}  // namespace tenon::ops
