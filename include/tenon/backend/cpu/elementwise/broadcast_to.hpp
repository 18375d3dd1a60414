// A tensor repeated along axes, broadcasting without arithmetic.
#pragma once
#include <tenon/backend/cpu/elementwise/elementwise.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct BroadcastTo;
}

template <>
struct Kernel<Cpu, ops::BroadcastTo> {
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, kernel::CopyElement>(a, begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
