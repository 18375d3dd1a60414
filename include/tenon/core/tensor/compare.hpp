// Are two tensors the same, exactly or within a tolerance?
#pragma once
#include <tenon/core/math/libm.hpp>
#include <tenon/core/tensor.hpp>
#if TENON_DEFINES
#include <cstring>

#include <tenon/core/tensor/text.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// True if dtype, shape and every bit of the elements agree: 0 differs from -0, a NaN equals itself.
bool bit_equal(const AnyTensor& a, const AnyTensor& b);

/// True if the shapes agree and every |a - b| <= atol + rtol |b|, as in numpy.allclose. NaN is close to nothing,
/// infinities to themselves; integers and bools are compared as numbers. The dtypes may differ.
bool all_close(const AnyTensor& a, const AnyTensor& b, double rtol = 1e-5, double atol = 1e-8);

template <Element T, Element U, class S, class R>
bool bit_equal(const Tensor<T, S>& a, const Tensor<U, R>& b) {
  return bit_equal(a.view(), b.view());
}
template <Element T, Element U, class S, class R>
bool all_close(const Tensor<T, S>& a, const Tensor<U, R>& b, double rtol = 1e-5, double atol = 1e-8) {
  return all_close(a.view(), b.view(), rtol, atol);
}

#if TENON_DEFINES
TENON_INLINE bool bit_equal(const AnyTensor& a, const AnyTensor& b) {
  if (a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (a.extent[axis] != b.extent[axis]) return false;
  return a.bytes() == 0 || (a.data && b.data && std::memcmp(a.data, b.data, a.bytes()) == 0);
}
TENON_INLINE bool all_close(const AnyTensor& a, const AnyTensor& b, double rtol, double atol) {
  if (a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (a.extent[axis] != b.extent[axis]) return false;
  const std::int64_t count = a.count();
  if (count && (!a.data || !b.data)) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = detail::element_as_double(a, i), y = detail::element_as_double(b, i);
    if (x != y && !(detail::libm::finite(x) && detail::libm::finite(y) &&
                    detail::libm::abs(x - y) <= atol + rtol * detail::libm::abs(y)))
      return false;
  }
  return true;
}
#endif  // TENON_DEFINES

}  // namespace tenon
