// A layer that is applied to each step of a sequence.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::nn {

namespace detail {
struct TimeRule {
  static constexpr FixedString name{"TimeDistributed"};
  static constexpr bool holds(const TensorType& x) { return x.rank >= 2 && x[1] > 0; }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "TimeDistributed needs an input [n,T,...], got " << x;
  }
};
}  // namespace detail

/// Applies a cell to each step: `TimeDistributed<nn::Conv2d<3, 8, 3>>` of videos [n, T, 3, H, W].
///
/// x           [n, T, ...]; the cell gets [n T, ...], all steps of all samples as one batch
/// result      [n, T, result of the cell for a sample...]
/// parameters  those of the cell: "layer.weight"
/// source      MindSpore nn.TimeDistributed with time_axis 1, Keras
template <AnyCell Layer>
struct TimeDistributed : Cell<TimeDistributed<Layer>> {
  Layer layer;

  constexpr auto construct(const ops::Operand auto& x) const {
    const auto at = std::source_location::current();
    return ops::where_fits<detail::TimeRule>(at, x, [&](const auto& v) {
      constexpr TensorType t = std::remove_cvref_t<decltype(v)>::dims;
      constexpr TensorType batch = [](TensorType from) {
        TensorType to = from;
        to.extent[0] = from[0] * from[1];
        for (int axis = 1; axis < from.rank - 1; ++axis) to.extent[axis] = from[axis + 1];
        to.extent[--to.rank] = 0;
        return to;
      }(t);
      const auto y = layer(apply<ops::Reshape, ops::Reshape::to(batch)>(at, v));
      if constexpr (is_broken<decltype(y)>) return y;
      else {
        constexpr TensorType result = [](TensorType from, int samples, int steps) {
          TensorType to = from;
          to.extent[0] = samples, to.extent[1] = steps;
          for (int axis = 1; axis < from.rank; ++axis) to.extent[axis + 1] = from[axis];
          ++to.rank;
          return to;
        }(std::remove_cvref_t<decltype(y)>::dims, t[0], t[1]);
        return apply<ops::Reshape, ops::Reshape::to(result)>(at, y);
      }
    });
  }
};

}  // namespace tenon::nn
