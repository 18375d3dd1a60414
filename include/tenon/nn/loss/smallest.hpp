// The numbers that keep a logarithm or a quotient of a loss finite.
#pragma once
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::nn {

/// The smallest positive number of X's dtype that is not denormal, which would count as 0.
template <ops::Operand X>
constexpr double smallest_normal() {
  constexpr Dtype dtype = dtype_of<ops::ElementOf<X>>;
  return dtype == Dtype::float16 ? 0x1p-14 : dtype == Dtype::float64 ? 0x1p-1022 : 0x1p-126;
}
/// 1e-12, as MindSpore and PyTorch have it, or in float16 the smallest that it has.
template <ops::Operand X>
constexpr double loss_epsilon() {
  return smallest_normal<X>() > 1e-12 ? smallest_normal<X>() : 1e-12;
}

}  // namespace tenon::nn
