// 16-bit floats in functions that consist of several operators: computed in float32 and rounded once.
#pragma once
#include <tenon/ops/cast.hpp>

namespace tenon::inline TENON_ABI::ops::detail {

/// f(x), of 16-bit floats computed in float32 and rounded once.
template <class X, class F>
constexpr auto in_full_precision(const X& x, const std::source_location& at, const F& f) {
  if constexpr (is_broken<X>) return f(x);
  else if constexpr (is_half_dtype(X::dims.dtype)) return cast<typename X::type>(f(cast<float>(x, at)), at);
  else return f(x);
}

}  // namespace tenon::ops::detail
