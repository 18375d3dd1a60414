// Small constants that keep the logarithm or the quotient in a loss finite.
#pragma once
#include <tenon/ops/smallest_normal.hpp>

namespace tenon::inline TENON_ABI::nn {

using ops::smallest_normal;
/// 1e-12, as in MindSpore and PyTorch, or in float16 the smallest normal number.
template <ops::Operand X>
constexpr double loss_epsilon() {
  return smallest_normal<X>() > 1e-12 ? smallest_normal<X>() : 1e-12;
}

}  // namespace tenon::nn
