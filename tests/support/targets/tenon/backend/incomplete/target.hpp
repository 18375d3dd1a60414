// A target of tests that has one of each group of optional members, which are of no use alone.
#pragma once
#include <tenon/backend/reference/target.hpp>

namespace tenon::inline TENON_ABI {

struct Incomplete : Reference {
  using Parent = Reference;
  static constexpr std::string_view name = "Incomplete";

  static void copy_beside(std::byte*, const std::byte*, std::size_t, TargetEvent, TargetEvent) {}
  static std::byte* allocate_pinned(std::size_t bytes) { return allocate(bytes); }
  static int devices() { return 2; }
};

namespace kernel::incomplete {
using Target = Incomplete;
}

}  // namespace tenon
