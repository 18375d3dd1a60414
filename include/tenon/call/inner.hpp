// Values inside of a running cell, and their way in and out.
#pragma once
#include <tuple>

#include <tenon/core/tensor.hpp>

namespace tenon::inline TENON_ABI::detail {

template <class V>
inline constexpr bool is_inner = false;
template <class T, int... E>
inline constexpr bool is_inner<Tensor<T, InnerShape<E...>>> = true;
template <class T, Dtype half, int... E>
inline constexpr bool is_inner<Tensor<T, HalfShape<half, E...>>> = true;
template <class... V>
inline constexpr bool is_inner<std::tuple<V...>> = (is_inner<V> || ...);

/// A tensor as the network's construct sees it; everything else as it is.
template <class V>
const V& inner(const V& v) {
  return v;
}  // NOLINT(bugprone-return-const-ref-from-parameter): used inside of one expression
template <class T, int... E>
Tensor<T, InnerShape<E...>> inner(const Tensor<T, Shape<E...>>& v) {
  return v;
}

/// What construct returned as the caller of the network sees it: one tensor, or a tuple of tensors.
template <class T, class S>
Tensor<T, S> outer(const Tensor<T, S>& v) {
  return v;
}
template <class T, int... E>
Tensor<T, Shape<E...>> outer(const Tensor<T, InnerShape<E...>>& v) {
  return v;
}
template <class T, Dtype half, int... E>
Tensor<T, Shape<E...>> outer(const Tensor<T, HalfShape<half, E...>>& v) {
  return v;
}
template <class V>
requires requires { std::tuple_size<V>::value; }
auto outer(const V& values) {
  return std::apply([](const auto&... v) { return std::tuple(outer(v)...); }, values);
}
#if defined(__CUDACC__)  // a Broken behind a mistake, see core/text/report.hpp
template <class V>
requires requires(const V& v) { v.builder; }
V outer(const V& v) {
  return v;
}
#endif

}  // namespace tenon::detail
