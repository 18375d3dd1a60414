// Tensors for tests: from lists, from random numbers, and comparison bit by bit.
#pragma once
#include <cstring>
#include <initializer_list>

#include <tenon/core/random/philox.hpp>
#include <tenon/core/tensor.hpp>

namespace support {

/// A tensor with the given elements, row-major. For a dynamic leading axis n follows from their number.
template <class T, class S>
tenon::Tensor<T, S> tensor_of(std::initializer_list<T> elements) {
  using Result = tenon::Tensor<T, S>;
  const long count = static_cast<long>(elements.size()), sample = Result::dims.count(1);
  if (Result::dims.batched() ? count % sample != 0 : count != sample)
    throw tenon::ValueError(tenon::text("a list of ", count, " elements does not fill a tensor of ", sample));
  Result t = Result::empty(Result::dims.batched() ? count / sample : 1);
  std::size_t i = 0;
  for (const T& element : elements) t.values()[i++] = element;
  return t;
}

/// Uniform numbers in [low, high) that `seed` fixes; integers in low .. high - 1, bool from both values.
template <class T, class S>
tenon::Tensor<T, S> random_tensor(std::uint64_t seed, double low = -2, double high = 2, long n = 3) {
  using Result = tenon::Tensor<T, S>;
  tenon::Random random(seed);
  Result t = Result::empty(Result::dims.batched() ? n : 1);
  for (T& element : t.values()) {
    const double u = random.word() * 0x1p-32;
    if constexpr (std::is_same_v<T, bool>) element = u < 0.5;
    else if constexpr (std::is_integral_v<T>)
      element = static_cast<T>(static_cast<long long>(u * (high - low) + low + 1000) - 1000);
    else element = static_cast<T>(low + u * (high - low));
  }
  return t;
}

/// True if two tensors have equal bytes and batch sizes.
template <class T, class S>
bool same_bits(const tenon::Tensor<T, S>& a, const tenon::Tensor<T, S>& b) {
  return a.count() == b.count() &&
         (a.count() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * sizeof(T)) == 0);
}

template <class V>
inline constexpr bool is_floating_tensor = tenon::is_floating(std::remove_cvref_t<V>::dims.dtype);

/// The batch size of the first tensor with a dynamic leading axis, 1 if there is none.
template <class... X>
long batch_size(const X&... x) {
  long n = 1;
  ((n = n == 1 && X::dims.batched() ? x.n() : n), ...);
  return n;
}

}  // namespace support
