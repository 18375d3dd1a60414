// elements_as_doubles: elements of any dtype as numbers of one type, a piece at a time.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
template <class T>
[[gnu::noinline]] void copy_as_doubles(const void* elements, std::size_t first, std::size_t count, double* to) {
  const T* const from = static_cast<const T*>(elements) + first;
  for (std::size_t i = 0; i < count; ++i)
    if constexpr (std::is_arithmetic_v<T>) to[i] = static_cast<double>(from[i]);
    else to[i] = static_cast<double>(static_cast<float>(from[i]));
}
}  // namespace detail

/// Elements first .. first + count - 1 of a tensor on the CPU, row-major. 64-bit integers beyond 2^53 are rounded.
[[gnu::noinline]] inline void elements_as_doubles(const AnyTensor& tensor, std::size_t first, std::size_t count,
                                                  double* to) {
  using detail::copy_as_doubles;
  const void* const from = tensor.data;
  switch (tensor.dtype) {
    case Dtype::bool_: return copy_as_doubles<bool>(from, first, count, to);
    case Dtype::int8: return copy_as_doubles<std::int8_t>(from, first, count, to);
    case Dtype::int16: return copy_as_doubles<std::int16_t>(from, first, count, to);
    case Dtype::int32: return copy_as_doubles<std::int32_t>(from, first, count, to);
    case Dtype::int64: return copy_as_doubles<std::int64_t>(from, first, count, to);
    case Dtype::uint8: return copy_as_doubles<std::uint8_t>(from, first, count, to);
    case Dtype::uint16: return copy_as_doubles<std::uint16_t>(from, first, count, to);
    case Dtype::uint32: return copy_as_doubles<std::uint32_t>(from, first, count, to);
    case Dtype::uint64: return copy_as_doubles<std::uint64_t>(from, first, count, to);
    case Dtype::float16: return copy_as_doubles<float16>(from, first, count, to);
    case Dtype::bfloat16: return copy_as_doubles<bfloat16>(from, first, count, to);
    case Dtype::float32: return copy_as_doubles<float>(from, first, count, to);
    case Dtype::float64: return copy_as_doubles<double>(from, first, count, to);
  }
}

/// Calls f(element) for each of them, in their order.
template <class F>
void each_as_double(const AnyTensor& tensor, F f) {
  constexpr std::size_t piece = 512;
  double values[piece];
  const auto count = static_cast<std::size_t>(tensor.count());
  for (std::size_t first = 0; first < count; first += piece) {
    const std::size_t here = std::min(piece, count - first);
    elements_as_doubles(tensor, first, here, values);
    for (std::size_t i = 0; i < here; ++i) f(values[i]);
  }
}

}  // namespace tenon
