// OverflowCheck: a flag is set if an element is infinite or NaN, and never reset.
#pragma once
#include <cstdint>

#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct OverflowCheck;
}

template <>
struct Kernel<Reference, ops::OverflowCheck> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    for (long i = 0; i < Call::operand(1).count(a.n); ++i) {
      const double x = static_cast<double>(a.operand<typename Call::template Operand<1>>(1)[i]);
      if (x - x != 0) *a.changed<std::int32_t>(0) = 1;  // the difference is NaN
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
