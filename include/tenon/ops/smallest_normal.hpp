// The smallest number that a norm or a logarithm may start from, so that its derivative stays finite.
#pragma once
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {

/// The smallest positive number of X's dtype that is not denormal, which would count as 0.
template <class X>
constexpr double smallest_normal() {
  constexpr Dtype dtype = dtype_of<ElementOf<X>>;
  return dtype == Dtype::float16 ? 0x1p-14 : dtype == Dtype::float64 ? 0x1p-1022 : 0x1p-126;
}

}  // namespace tenon::ops
