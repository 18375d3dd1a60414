// AccumulateGradient: a gradient is added to a sum, or begins it.
#pragma once
#include <cstdint>

#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AccumulateGradient;
}

template <>
struct Kernel<Reference, ops::AccumulateGradient> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Sum = typename Call::template Operand<0>;
    for (long i = 0; i < Call::operand(0).count(1); ++i) {
      const Sum gradient = static_cast<Sum>(a.operand<typename Call::template Operand<1>>(1)[i]);
      Sum& sum = a.changed<Sum>(0)[i];
      sum = *a.operand<std::int32_t>(2) ? gradient : sum + gradient;
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
