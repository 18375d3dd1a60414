// Frozen: a cell whose parameters are not trained, as stated by its type.
#pragma once
#include <tenon/nn/cell.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A cell without gradients for its parameters: `nn::Frozen<Backbone> backbone;`. The captured step contains no code
/// for them. Names stay those of the cell: "backbone.conv1.weight". Gradients still flow through it to the cells before
/// it. Batch norms in it evaluate: they keep their moving statistics and normalize by them. To freeze at run time use
/// requires_grad(false).
template <class Inner>
struct Frozen : Cell<Frozen<Inner>> {
  static_assert(AnyCell<Inner> && is_own_cell<Inner>, "Frozen<...> takes a cell: struct Net : nn::Cell<Net>");
  Inner cell;

  // Past the call operator of `cell`: it has no entry of its own, this one stands for it.
  template <class... X>
  constexpr auto construct(const X&... x) const {
    return cell.construct(x...);
  }
};

}  // namespace tenon::nn

namespace tenon::inline TENON_ABI::detail {
template <class Inner>
inline constexpr bool is_frozen<nn::Frozen<Inner>> = true;
template <class Inner>
inline constexpr Children children_of<nn::Frozen<Inner>> = Children::of_inner;
}  // namespace tenon::detail
