// A sample brought to other extents: filled up at the end of each axis, or cut.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Writes a sample of the extents `old` to memory for `extents`: the corner that both have, and the value at `fill`
/// elsewhere. Elements have this many bytes.
inline void pad_sample(const void* from, std::span<const std::int64_t> old, void* to,
                       std::span<const std::int64_t> extents, const void* fill, std::size_t element) {
  std::int64_t from_step = static_cast<std::int64_t>(element), to_step = from_step;
  for (std::size_t axis = 1; axis < extents.size(); ++axis) from_step *= old[axis], to_step *= extents[axis];
  const std::int64_t both = old[0] < extents[0] ? old[0] : extents[0];
  std::byte* const begin = static_cast<std::byte*>(to);
  if (extents.size() > 1)
    for (std::int64_t i = 0; i < both; ++i)
      pad_sample(static_cast<const std::byte*>(from) + i * from_step, old.subspan(1), begin + i * to_step,
                 extents.subspan(1), fill, element);
  else if (both > 0) std::memcpy(begin, from, static_cast<std::size_t>(both) * element);
  std::byte* const end = begin + extents[0] * to_step;
  for (std::byte* at = begin + both * to_step; at < end; at += element) std::memcpy(at, fill, element);
}

/// The number as an element of a column that it fills up; reals are rounded. Throws ValueError for one that T does not
/// have.
template <class T, class V>
T fill_element(V number, std::string_view column) {
  bool fits = true;
  if constexpr (std::is_same_v<V, char>) return fill_element<T>(static_cast<unsigned char>(number), column);
  else if constexpr (std::is_same_v<T, bool> && std::is_integral_v<V>) {
    fits = number == V(0) || number == V(1);
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<V>) {
    fits = std::in_range<T>(+number);  // a bool as 0 or 1
  } else {
    const double value = static_cast<double>(number);
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      fits = value >= static_cast<double>(Limits::min()) && value < static_cast<double>(Limits::max()) + 1;
      fits = fits && static_cast<double>(static_cast<T>(value)) == value;
    } else {
      const double rounded = static_cast<double>(static_cast<T>(value));
      fits = rounded - rounded == 0 || value - value != 0;  // infinite only if it was
    }
  }
  if (!fits)
    throw_error<ValueError>("The column \"", column, "\" is ", name(dtype_of<T>), ", and cannot be padded with ",
                            number, ".");
  return static_cast<T>(number);
}
}  // namespace tenon::dataset::detail
