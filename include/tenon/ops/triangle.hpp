// Lower and upper triangle of a matrix, and the mask of causal attention: tril, triu, causal_mask.
#pragma once
#include <limits>

#include <tenon/ops/accumulate.hpp>

namespace tenon::inline TENON_ABI::ops {
/// Keeps the elements of matrices on one side of a diagonal; all other elements become a fixed value.
///
/// x           [..., rows, columns]; any dtype
/// result      x where column - row <= diagonal (lower) or >= diagonal (upper)
/// derivative  dy on the same side, 0 on the other
/// source      MindSpore's Tril and Triu
struct Triangle : Operator<Triangle, "Triangle"> {
  struct Config {
    int upper = 0, diagonal = 0;
    float value = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence& error) {
    if (in[0].rank < 2) error << "tril, triu, and causal_mask need matrices [...,rows,columns], got " << in[0];
    return in[0];
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<Triangle>();
    d.flows_to(0, d.call_with<Triangle>({c.upper, c.diagonal, 0}, d.gradient()));
  }
};

/// Elements on and below a diagonal, zeros above: `tril(x)`, `tril<-1>(x)`.
template <int diagonal = 0>
constexpr auto tril(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Triangle, Triangle::Config{0, diagonal, 0}>(at, x);
}
/// Elements on and above a diagonal, zeros below.
template <int diagonal = 0>
constexpr auto triu(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return apply<Triangle, Triangle::Config{1, diagonal, 0}>(at, x);
}
/// Attention scores [..., T, T] with minus infinity above the diagonal: softmax then uses only the past.
constexpr auto causal_mask(const Operand auto& scores, std::source_location at = std::source_location::current()) {
  return apply<Triangle, Triangle::Config{0, 0, -std::numeric_limits<float>::infinity()}>(at, scores);
}

}  // namespace tenon::ops
