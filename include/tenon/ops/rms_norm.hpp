// Division by the root of the mean square over the last axes.
#pragma once
#include <utility>

#include <tenon/ops/add.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/full_precision.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum_square.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/rsqrt.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// The last axes of x must be those of gamma.
template <class G>
struct RmsNormRule {
  static constexpr FixedString name{"RMSNorm"};
  static constexpr TensorType gamma = G::dims;
  static constexpr bool holds(const TensorType& x) {
    if (!is_floating(x.dtype) || gamma.rank < 1 || x.rank < gamma.rank) return false;
    for (int axis = 0; axis < gamma.rank; ++axis)
      if (gamma[axis] < 1 || x[x.rank - gamma.rank + axis] != gamma[axis]) return false;
    return true;
  }
  static constexpr void write(Sentence& error, const TensorType& x) {
    if (!is_floating(x.dtype))
      error << "RMSNorm needs a floating-point input, got " << tenon::name(x.dtype) << " " << x << ": cast it";
    else
      error << "RMSNorm got an input " << x << ", its gamma " << gamma << " needs the same last axes, of fixed extents";
  }
};
}  // namespace detail

/// Root mean square normalization over the last axes:  y = x / √(mean of x² + epsilon) · gamma
///
/// x           [..., axes of gamma]; floating-point; of 16-bit floats computed in float32 and rounded once
/// gamma       the extents of the last axes; float32, or float64 beside a float64 x
/// epsilon     1e-6, MindSpore's default. PyTorch's is the distance of 1 to the next number: 1.1920929e-7f
/// result      shape of x
/// source      Zhang and Sennrich 2019; MindSpore's and PyTorch's rms_norm
template <Operand X, Operand G>
constexpr auto rms_norm(const X& x, const G& gamma, float epsilon = 1e-6f,
                        std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<G>) return gamma;
  else
    return where_fits<detail::RmsNormRule<G>>(at, x, [&](const auto& v) {
      return detail::in_full_precision(v, at, [&](const auto& f) {
        return [&]<int... I>(std::integer_sequence<int, I...>) {
          const auto sum = reduce_sum_square_keep<(X::dims.rank - 1 - I)...>(f, at);
          const auto scale = rsqrt(add(div(sum, float(G::dims.count(1)), at), epsilon, at), at);
          return mul(mul(f, scale, at), gamma, at);
        }(std::make_integer_sequence<int, G::dims.rank>());
      });
    });
}

}  // namespace tenon::ops
