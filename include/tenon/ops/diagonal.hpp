// Diagonals of matrices: diagonal, trace, diag, eye.
#pragma once
#include <tenon/ops/constant.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/one_hot.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Where a diagonal of matrices lies among their elements.
struct DiagonalPlaces {
  int first = 0, count = 0, step = 1;
  constexpr DiagonalPlaces(const TensorType& x, int offset) {
    if (x.rank < 2 || x.last() < 0 || x[x.rank - 2] < 0) return;
    const int down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0, rows = x[x.rank - 2] - down,
              columns = x.last() - right;
    first = down * x.last() + right, step = x.last() + 1, count = rows < columns ? rows : columns;
  }
};
template <int offset>
struct DiagonalRule {
  static constexpr FixedString name{"Diagonal"};
  static constexpr bool holds(const TensorType& x) { return DiagonalPlaces(x, offset).count > 0; }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "Diagonal " << offset << " needs matrices [...,N,M] of fixed extents that have it, got " << x;
  }
};
struct DiagRule {
  static constexpr FixedString name{"Diag"};
  static constexpr bool holds(const TensorType& x) { return x.rank > 0 && x.rank < max_rank && x.last() > 0; }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "Diag needs vectors [...,N] of a fixed extent, got " << x;
  }
};
}  // namespace detail

/// The diagonal of matrices [..., N, M] as [..., K]: `diagonal(x)`, `diagonal<1>(x)` for the one above the main one.
///
/// derivative  dy on the diagonal
/// source      MindSpore's and PyTorch's diagonal, of the last two axes
template <int offset = 0, Operand X>
constexpr auto diagonal(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<detail::DiagonalRule<offset>>(at, x, [&](const auto& v) {
    constexpr detail::DiagonalPlaces d(X::dims, offset);
    const auto flat = apply<Reshape, detail::merged(X::dims, X::dims.rank - 2, X::dims.rank)>(at, v);
    return slice<-1, Part{d.first, d.first + (d.count - 1) * d.step + 1, d.step}>(flat, at);
  });
}
/// The sum of the diagonal of each matrix [..., N, M].
constexpr auto trace(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return reduce_sum<-1>(diagonal(x, at), at);
}
/// Matrices [..., N, N] with the elements of [..., N] on their diagonal, and zeros. PyTorch's diag_embed, and diag of a
/// vector.
template <Operand X>
constexpr auto diag(const X& x, std::source_location at = std::source_location::current()) {
  return where_fits<detail::DiagRule>(at, x, [&](const auto& v) {
    constexpr TensorType t = X::dims;
    constexpr int extent = t.last();
    // each element, and N zeros after it: the last ones are cut off
    const auto rows = [&]<int... axis>(std::integer_sequence<int, axis...>) {
      return pad<Margin{0, axis == t.rank ? extent : 0}...>(expand_dims<-1>(v, at), 0, at);
    }(std::make_integer_sequence<int, t.rank + 1>{});
    const auto flat = apply<Reshape, detail::merged(decltype(rows)::dims, t.rank - 1, t.rank + 1)>(at, rows);
    constexpr TensorType matrix = [] {
      TensorType m = X::dims;
      m.extent[m.rank++] = m.last();
      return m;
    }();
    return apply<Reshape, Reshape::to(matrix)>(at, slice<-1, Part{0, extent * extent}>(flat, at));
  });
}
/// The unit matrix [N, N], for use with x, which only determines the mode: `eye<3>(x)`. The dtype is float32 unless T
/// is given.
template <int extent, Element T = float>
constexpr auto eye(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return stop_gradient(one_hot<extent, T>(arange<extent>(x, at), at), at);
}

}  // namespace tenon::ops
