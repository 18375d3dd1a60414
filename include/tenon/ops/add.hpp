// Sum of two tensors. The operator is in ops/accumulate.hpp.
#pragma once
#include <tenon/ops/binary.hpp>

namespace tenon::inline TENON_ABI::ops {

/// a + b with broadcasting; one of them may be a number.
constexpr auto add(const OperandOrScalar auto& a, const OperandOrScalar auto& b,
                   std::source_location at = std::source_location::current()) {
  return binary<Add>(at, a, b);
}

}  // namespace tenon::ops
