// Logarithm of the sum of the exponentials of two elements.
#pragma once
#include <tenon/ops/abs.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/exp.hpp>
#include <tenon/ops/log1p.hpp>
#include <tenon/ops/maximum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/select.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// log(exp(a) + exp(b)) without overflow, with broadcasting; infinite where both are infinite with one sign.
///
/// a, b        floating-point, one dtype
/// derivative  dy times the share of each in the sum
/// source      MindSpore's and PyTorch's logaddexp
constexpr auto logaddexp(const Operand auto& a, const Operand auto& b,
                         std::source_location at = std::source_location::current()) {
  constexpr double ln2 = 0.69314718055994530942;
  const auto more = log1p(exp(neg(abs(sub(a, b, at), at), at), at), at);
  // equal ones may be infinite, or too large for their sum, and both have half of the derivative
  const auto mean = add(mul(a, 0.5, at), mul(b, 0.5, at), at);
  return select(ops::equal(a, b, at), add(mean, ln2, at), add(maximum(a, b, at), more, at), at);
}

}  // namespace tenon::ops
