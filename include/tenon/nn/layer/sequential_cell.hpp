// SequentialCell: cells that are applied one after the other.
#pragma once
#include <tenon/nn/cell.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
/// Cells in a row, as an aggregate.
template <class... Cells>
struct Chain {};
template <class First, class... Rest>
struct Chain<First, Rest...> {
  First first;
  Chain<Rest...> rest;
};

template <class F>
constexpr void each_of(const Chain<>&, F&, int) {}
template <class First, class... Rest, class F>
constexpr void each_of(const Chain<First, Rest...>& chain, F& f, int index) {
  f(chain.first, index);
  each_of(chain.rest, f, index + 1);
}
template <class X>
constexpr auto applied(const Chain<>&, const X& x) {
  return x;
}
template <class First, class... Rest, class X>
constexpr auto applied(const Chain<First, Rest...>& chain, const X& x) {
  return applied(chain.rest, chain.first(x));
}

template <int I, class First, class... Rest>
constexpr auto& cell_at(const Chain<First, Rest...>& chain) {
  if constexpr (I == 0) return chain.first;
  else return cell_at<I - 1>(chain.rest);
}

template <class... Cells>
struct NoChainIndex {
  static constexpr Sentence sentence =
      Sentence{} << "the cells of a SequentialCell have types of their own: cell<0>() is the first, and x = block(x) "
                    "applies all; nn::CellList<Block, 12> has [i]";
};
}  // namespace detail

/// Applies its cells in turn: `nn::SequentialCell<nn::Conv2d<3, 8, 3>, nn::BatchNorm2d<8>, nn::ReLU> block;`
///
/// x           the input of the first cell
/// result      the result of the last cell
/// parameters  those of the cells, which are numbered: "block.0.weight", "block.1.gamma"
/// source      MindSpore nn.SequentialCell
template <class... Cells>
struct SequentialCell : Cell<SequentialCell<Cells...>> {
  static_assert(((AnyCell<Cells> && is_own_cell<Cells>) && ...),
                "SequentialCell<...> takes cells; wrap a function of ops in a cell, such as nn::ReLU");
  detail::Chain<Cells...> chain;

  template <class F>
  constexpr void each_child(F f) const {
    detail::each_of(chain, f, 0);
  }
  /// Cell number I: `block.cell<0>().weight`.
  template <int I>
  constexpr const auto& cell() const {
    static_assert(I >= 0 && I < int(sizeof...(Cells)), "SequentialCell::cell<I>: there are not so many cells");
    return detail::cell_at<I>(chain);
  }
  template <std::integral I>
  constexpr auto operator[](I) const {
    using Wrong = Mistake<detail::NoChainIndex<Cells...>>;
    return Wrong::corrected;
  }
  static constexpr int size() { return int(sizeof...(Cells)); }

  constexpr auto construct(const auto& x) const { return detail::applied(chain, x); }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <class... Cells>
inline constexpr Children children_of<nn::SequentialCell<Cells...>> = Children::numbered;
}  // namespace tenon::detail
