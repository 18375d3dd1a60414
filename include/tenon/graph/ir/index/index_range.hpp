// IndexRange: the indices among the operands of a call, and where they may point.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Which operand of a call has elements that are places in another tensor, and the places that there are: low .. high -
/// 1. The texts say what they are, as "label", "classes of the prediction", "give the last layer more outputs".
struct IndexRange {
  static constexpr int no_operand = -1, the_result = -1;
  int operand = no_operand;  // of int32 or int64
  long low = 0, high = 0;
  int among = 0;  // the tensor that has the places: an operand, or the_result
  const char *number = "index", *have = "", *advice = "";

  /// Whether a call has indices.
  constexpr bool any() const { return operand != no_operand; }
  constexpr bool among_result() const { return among == the_result; }
};

}  // namespace tenon
