// A sample brought to other extents: filled up at the end of each axis, or cut.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include <tenon/core/config.hpp>

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
}  // namespace tenon::dataset::detail
