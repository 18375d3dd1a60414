// A target of tests: Separate has the kernels of its parent Reference, and one that is in an object of its own.
#pragma once
#include <tenon/backend/reference/target.hpp>

namespace tenon::inline TENON_ABI {

struct Separate : Reference {
  using Parent = Reference;
  static constexpr std::string_view name = "Separate";
};

namespace kernel::separate {
using Target = Separate;
}

}  // namespace tenon
