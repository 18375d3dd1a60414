// Small constants that keep the logarithm or the quotient in a loss finite.
#pragma once
#include <tenon/ops/smallest_normal.hpp>

namespace tenon::inline TENON_ABI::nn {

using ops::smallest_normal;
/// 1e-12, as MindSpore and PyTorch have it, or in float16 the smallest that it has.
template <ops::Operand X>
constexpr double loss_epsilon() {
  return smallest_normal<X>() > 1e-12 ? smallest_normal<X>() : 1e-12;
}

}  // namespace tenon::nn
