// Where the parameters of a network are, asked before unrolled code.
#pragma once
#include <tenon/nn/parameters.hpp>

namespace tenon::inline TENON_ABI::detail {

/// The address from which the offsets of a network's table count, null if one of its parameters is elsewhere; a
/// comparison per parameter.
template <class Net>
[[gnu::always_inline]] inline std::byte* parameters_of(const Net& net) {
  const auto* const own = reinterpret_cast<const std::byte*>(&net);
  const auto* const original = reinterpret_cast<const std::byte*>(&prototype<Net>);
  std::byte* base = nullptr;
#pragma GCC unroll 8
  for (int i = 0; i < Structure<Net>::count; ++i)
    if (const Entry& entry = Structure<Net>::table.entry[i]; entry.parameter) {
      std::byte* const data = handle_of(entry, own, original)->bound_data();
      if (!data || (base && data != base + entry.offset)) return nullptr;
      base = data - entry.offset;
    }
  return base;
}

}  // namespace tenon::detail
