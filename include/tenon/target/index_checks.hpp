// How a target looks at indices that a network computes, so that the host need not wait for them.
#pragma once
#include <cstdint>
#include <type_traits>

#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// The indices of a call, and where they may point: low .. high - 1.
struct IndexLook {
  long low = 0, high = 0;
  bool wide = false;        // they are int64, not int32
  std::int32_t number = 0;  // of the call
};

/// A target that looks at indices specialises this one. Both functions are called as a kernel is:
///
///     static void look(const IndexLook&, const void* indices, long count, std::int32_t* flag)
///                                                 writes `number` to the flag if an index is out of range
///                                                 and the flag is 0: the first call that finds one stays
///     static void join(const std::int32_t* one, const std::int32_t* other, std::int32_t* flag)
///                                                 another number than 0 if one of the two is
///
/// On a target without it the host waits for the indices, and looks at them before the step continues.
template <class Target>
struct IndexChecks;

namespace detail {
template <class Target>
constexpr auto find_index_checks() {
  if constexpr (requires { sizeof(IndexChecks<Target>); }) return std::type_identity<IndexChecks<Target>>();
  else if constexpr (requires { typename Target::Parent; }) return find_index_checks<typename Target::Parent>();
  else return std::type_identity<void>();
}
}  // namespace detail
/// Those of a target or its parent; void if there are none.
template <class Target>
using FoundIndexChecks = typename decltype(detail::find_index_checks<Target>())::type;

}  // namespace tenon
