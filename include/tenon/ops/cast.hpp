// Conversion to another dtype.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {
TENON_EXACT_BEGIN
/// The elements of x in another dtype.
///
/// x           any shape and dtype
/// result      shape of x; floating-point to integer truncates and saturates, NaN becomes 0; integer to a smaller
///             integer wraps around; to bool is x != 0; to floating-point rounds once, to nearest even
/// derivative  dy cast back, if x is floating-point; integers and bool get no gradient
/// source      MindSpore's Cast, whose out-of-range conversions are undefined
struct Cast : Operator<Cast, "Cast"> {
  struct Config {
    Dtype dtype = Dtype::float32;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) { return in[0].with(c.dtype); }
  static constexpr void derivative(Derivative& d) {
    if (is_floating(d.type(0).dtype) && is_floating(d.result_type().dtype))
      d.flows_to(0, d.call_with<Cast>({d.type(0).dtype}, d.gradient()));
  }
};
TENON_EXACT_END

/// x with elements of type T: `cast<float>(labels)`. A tensor of T is returned as it is.
template <Element T, Operand X>
constexpr auto cast(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (X::dims.dtype == dtype_of<T>) return x;
  else return apply<Cast, Cast::Config{dtype_of<T>}>(at, x);
}

}  // namespace tenon::ops
