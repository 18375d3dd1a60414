// Grids of coordinates.
#pragma once
#include <tuple>

#include <tenon/ops/broadcast_to.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Order of the first two axes of a grid: that of the vectors (ij, as PyTorch's default), or exchanged (xy, as NumPy's
/// and MindSpore's default).
enum class Indexing : int { ij, xy };

namespace detail {
/// The shape of the grid, or, for a vector K, the vector's among axes of extent 1.
template <Indexing indexing, int K>
constexpr TensorType grid_shape(std::initializer_list<int> extents) {
  TensorType t{{}, int(extents.size()), Dtype::float32};
  int k = 0;
  for (int extent : extents) {
    const bool exchanged = indexing == Indexing::xy && t.rank > 1 && k < 2;
    t.extent[exchanged ? 1 - k : k] = K < 0 || K == k ? extent : 1;
    ++k;
  }
  return t;
}
template <Indexing indexing, int K, int... extents>
constexpr auto grid(const std::source_location& at, const auto& v) {
  constexpr TensorType own = grid_shape<indexing, K>({extents...}), all = grid_shape<indexing, -1>({extents...});
  return apply<BroadcastTo, SumTo::to(all)>(at, apply<Reshape, Reshape::to(own)>(at, v));
}
template <Indexing indexing, int... extents, int... K>
constexpr auto grids(std::integer_sequence<int, K...>, const auto&... v) {
  return std::tuple{grid<indexing, K, extents...>(std::source_location::current(), v)...};
}
}  // namespace detail

/// The coordinates of a grid, a tensor per vector: `const auto [x, y] = meshgrid<Indexing::xy>(a, b);`
///
/// vectors     [..] with a fixed extent, at most 6
/// derivative  dy summed over the other axes
/// source      MindSpore's and PyTorch's meshgrid
template <Indexing indexing = Indexing::ij, Operand... V>
constexpr auto meshgrid(const V&... v) {
  static_assert(((V::dims.rank == 1 && !V::dims.batched()) && ...), "meshgrid needs vectors of a fixed extent");
  static_assert(sizeof...(V) <= max_rank, "meshgrid takes at most 6 vectors");
  return detail::grids<indexing, V::dims.extent[0]...>(std::make_integer_sequence<int, int(sizeof...(V))>(), v...);
}

}  // namespace tenon::ops
