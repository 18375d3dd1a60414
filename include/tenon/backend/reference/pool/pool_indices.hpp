// Which pixel of its plane is the largest of each window.
#pragma once
#include <tenon/backend/reference/pool/pool.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPoolIndices;
}

template <>
struct Kernel<Reference, ops::MaxPoolIndices> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const TensorType &x = Call::operand(0), &y = Call::result;
    const auto* const elements = a.operand<typename Call::template Operand<0>>(0);
    for (long k = 0; k < y.count(a.n); ++k) {
      const auto window = kernel::reference::window_of(k, y, x, Call::config(), a.n);
      a.result<std::int64_t>()[k] = kernel::reference::largest_of(window, elements) % (x.size(2, a.n) * x.size(3, a.n));
    }
  }
};

}  // namespace tenon
