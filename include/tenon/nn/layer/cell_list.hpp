// CellList: several cells of one type, to loop over or to apply in turn.
#pragma once
#include <tenon/nn/cell.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::nn {

/// N cells of one type: `nn::CellList<Block, 12> blocks;` and `for (const auto& block : blocks) x = block(x);`
///
/// Called as a cell it applies them in turn, which also works where a block changes the shape of x. A loop in construct
/// requires blocks that do not change the shape. After a shape mistake both continue until the error is reported.
/// parameters  those of the cells: "blocks.0.weight", "blocks.1.weight", ...
/// source      MindSpore nn.CellList, which cannot be called
template <class Block, int N>
struct CellList : Cell<CellList<Block, N>> {
  static constexpr bool is_cell_class = AnyCell<Block> && is_own_cell<Block>;
  static_assert(is_cell_class,
                "CellList<Block, N>: Block is no cell, write struct Block : nn::Cell<Block>, or see the error before "
                "this one");
  static_assert(N > 0, "CellList<Block, N> takes a positive number of cells");
  Block block[N];

  /// Throws ValueError for an index out of range; in a graph it is a compile error.
  constexpr const Block& operator[](int i) const {
    if (i < 0 || i >= N) throw_error<ValueError>("CellList: index ", i, " is outside of 0 .. ", N - 1, ".");
    return block[i];
  }
  constexpr const Block* begin() const { return block; }
  constexpr const Block* end() const { return block + N; }
  static constexpr int size() { return N; }
  template <class F>
  constexpr void each_child(F f) const {
    for (int i = 0; i < N; ++i) f(block[i], i);
  }

  constexpr auto construct(const auto& x) const { return applied_from<0>(x); }
  /// The result of the blocks from number I on.
  template <int I, class X>
  constexpr auto applied_from(const X& x) const {
    if constexpr (I == N || is_broken<X>) return x;
    else if constexpr (std::is_same_v<decltype(block[I](x)), X>) {
      X y = block[I](x);
      for (int i = I + 1; i < N; ++i) y = block[i](y);
      return y;
    } else return applied_from<I + 1>(block[I](x));
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <class Block, int N>
inline constexpr Children children_of<nn::CellList<Block, N>> = Children::numbered;
}  // namespace tenon::detail
TENON_INT_SIZES_END
