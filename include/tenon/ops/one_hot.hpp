// Class numbers as one-hot vectors.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {
/// Adds a last axis, in which the element at the position of the number is `on`, and all others are `off`.
///
/// numbers     any shape; int32 or int64 in 0 .. depth - 1. Throws ValueError for any other number, with its position
/// result      [shape of numbers..., depth] of the wanted dtype
/// derivative  the numbers are integers, which have none: backward() ends here
/// source      MindSpore's OneHot with axis -1
struct OneHot : Operator<OneHot, "OneHot"> {
  struct Config {
    int depth = 0;
    Dtype dtype = Dtype::float32;
    float on = 1, off = 0;
  };
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0].with(c.dtype);
    if (in[0].dtype != Dtype::int32 && in[0].dtype != Dtype::int64)
      error << "OneHot needs numbers of int32 or int64, got " << tenon::name(in[0].dtype) << " " << in[0];
    else if (c.depth < 1) error << "OneHot of " << in[0] << " got the depth " << c.depth << ", it needs 1 or more";
    else if (y.rank == max_rank) error << "OneHot of " << in[0] << ": a tensor has at most " << max_rank << " axes";
    else y.extent[y.rank++] = c.depth;
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return {.operand = 0,
            .high = c.depth,
            .among = IndexRange::the_result,
            .have = "places of the last axis of",
            .advice = "give one_hot a larger depth"};
  }
};

/// `one_hot<10>(labels)` in float32, `one_hot<10, double>(labels)`, or with other values `one_hot<10, float, 0.9f,
/// 0.01f>(labels)`.
template <int depth, Element T = float, float on = 1.0f, float off = 0.0f>
constexpr auto one_hot(const Operand auto& numbers, std::source_location at = std::source_location::current()) {
  return apply<OneHot, OneHot::Config{depth, dtype_of<T>, on, off}>(at, numbers);
}

}  // namespace tenon::ops
