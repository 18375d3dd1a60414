// A target of tests: Child has one kernel of its own, all others are those of its parent Reference.
#pragma once
#include <atomic>

#include <tenon/backend/reference/target.hpp>

namespace tenon::inline TENON_ABI {

struct Child : Reference {
  using Parent = Reference;
  static constexpr std::string_view name = "Child";
  static inline std::atomic<long> products = 0;  // that its own kernel has computed
};

namespace kernel::child {
using Target = Child;
}

}  // namespace tenon
