// Places of numbers among sorted ones: searchsorted.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {

/// For each value the place in a sorted row before which it keeps the order, by bisection. Operands: sorted, values.
///
/// sorted      [..., C], ascending along the last axis; any dtype but bool
/// values      [..., K] with the same first axes, or of any shape beside sorted [C]; dtype of sorted. NaN is larger
///             than every number
/// result      int32, the shape of values: how many elements of the row are less, or, with right, less or equal
/// derivative  none
/// source      MindSpore's and PyTorch's searchsorted
struct SearchSorted : Operator<SearchSorted, "SearchSorted"> {
  struct Config {
    int right = 0;
  };
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    const TensorType &sorted = in[0], &values = in[1];
    bool fits = sorted.rank > 0 && sorted.last() >= 0 && (sorted.rank == 1 || sorted.rank == values.rank);
    for (int axis = 0; fits && axis + 1 < sorted.rank; ++axis) fits = sorted[axis] == values[axis];
    if (!fits || sorted.dtype != values.dtype || sorted.dtype == Dtype::bool_)
      error
          << "SearchSorted needs sorted numbers [...,C] and values [...,K] of one dtype with the same first axes, got "
          << tenon::name(sorted.dtype) << " " << sorted << " and " << tenon::name(values.dtype) << " " << values;
    return values.with(Dtype::int32);
  }
  /// Of `count` elements, how many are before `value`.
  template <bool right, class T>
  TENON_DEVICE static std::int32_t place(const T* sorted, long count, T value) {
    long first = 0;
    while (count > 0) {
      const long half = count / 2;
      const T middle = sorted[first + half];
      const bool before = right ? !(middle > value) : !(middle >= value);
      first = before ? first + half + 1 : first;
      count = before ? count - half - 1 : half;
    }
    return static_cast<std::int32_t>(first);
  }
};

/// The places of values in sorted rows: `searchsorted(borders, x)` numbers the bins of x. With right = true equal
/// elements are before the value.
template <bool right = false>
constexpr auto searchsorted(const Operand auto& sorted, const Operand auto& values,
                            std::source_location at = std::source_location::current()) {
  return apply<SearchSorted, SearchSorted::Config{right}>(at, sorted, values);
}

}  // namespace tenon::ops
