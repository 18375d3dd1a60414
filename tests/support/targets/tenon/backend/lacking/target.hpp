// A target of tests that has the kernels of Reference but one, TENON_TEST_LACKS.
#pragma once
#include <tenon/backend/reference/target.hpp>

namespace tenon::inline TENON_ABI {

struct Lacking : Reference {
  static constexpr std::string_view name = "Lacking";
};

namespace kernel::lacking {
using Target = Lacking;
}

}  // namespace tenon
