// NotFinite: the numbers of NaNs and infinities in a tensor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::debug {

/// None in tensors of integers. Reads bits: flags of the compiler about NaN change nothing.
struct NotFinite {
  std::size_t nan = 0, infinite = 0;

  explicit NotFinite(const AnyTensor& tensor);
  explicit operator bool() const { return nan + infinite > 0; }
};

namespace detail {
/// `infinity`: the bits of +Inf.
template <class Bits>
[[gnu::noinline]] void count_not_finite(const void* elements, std::size_t count, Bits infinity, NotFinite& found) {
  constexpr Bits magnitude = Bits(~Bits{0}) >> 1;
  std::size_t nan = 0, infinite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, static_cast<const Bits*>(elements) + i, sizeof bits);
    bits &= magnitude;
    nan += bits > infinity;
    infinite += bits == infinity;
  }
  found.nan = nan;
  found.infinite = infinite;
}
}  // namespace detail

inline NotFinite::NotFinite(const AnyTensor& tensor) {
  if (!tensor.data || !is_floating(tensor.dtype)) return;
  const auto count = static_cast<std::size_t>(tensor.count());
  if (tensor.dtype == Dtype::float64)
    detail::count_not_finite<std::uint64_t>(tensor.data, count, 0x7ff0'0000'0000'0000, *this);
  else if (tensor.dtype == Dtype::float32)
    detail::count_not_finite<std::uint32_t>(tensor.data, count, 0x7f80'0000, *this);
  else
    detail::count_not_finite<std::uint16_t>(tensor.data, count, tensor.dtype == Dtype::float16 ? 0x7c00 : 0x7f80,
                                            *this);
}

}  // namespace tenon::debug
