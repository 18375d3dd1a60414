// Which elements are NaN or infinite, and numbers in their place: isnan, isinf, isfinite, nan_to_num.
#pragma once
#include <limits>

#include <tenon/ops/abs.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/select.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Whether each element is NaN, as bool. MindSpore's and PyTorch's isnan.
constexpr auto isnan(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return not_equal(x, x, at);
}
/// Whether each element is infinite, of either sign; no integer and no bool is. PyTorch's isinf.
constexpr auto isinf(const Operand auto& x, std::source_location at = std::source_location::current()) {
  if constexpr (!is_floating(dtype_of<ElementOf<decltype(x)>>)) return not_equal(x, x, at);
  else return equal(abs(x, at), std::numeric_limits<float>::infinity(), at);
}
/// Whether each element is a number that is neither infinite nor NaN, as each integer and bool. PyTorch's isfinite.
constexpr auto isfinite(const Operand auto& x, std::source_location at = std::source_location::current()) {
  // not equal(x, x, at), which may also be std::equal
  if constexpr (!is_floating(dtype_of<ElementOf<decltype(x)>>)) return binary<Equal>(at, x, x);
  else return less(abs(x, at), std::numeric_limits<float>::infinity(), at);
}

namespace detail {
/// The largest finite number of a floating-point dtype.
constexpr double largest_number(Dtype d) {
  return d == Dtype::float16    ? 65504.0
         : d == Dtype::bfloat16 ? 0x1.fep127
         : d == Dtype::float32  ? double(std::numeric_limits<float>::max())
                                : std::numeric_limits<double>::max();
}
}  // namespace detail

/// x with `nan` in the place of NaN, and the largest and smallest finite numbers of the dtype in the place of infinity
/// and minus infinity; x itself where its dtype has neither.
///
/// derivative  dy where x is finite, else 0
/// source      MindSpore's and PyTorch's nan_to_num
template <Operand X>
constexpr auto nan_to_num(const X& x, float nan = 0, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X> || !is_floating(dtype_of<ElementOf<X>>)) return x;
  else {
    constexpr double largest = detail::largest_number(X::dims.dtype);
    const auto below = select(isnan(x, at), nan, full_like(x, -largest, at), at);
    return select(isfinite(x, at), x, select(greater(x, 0, at), largest, below, at), at);
  }
}

}  // namespace tenon::ops
