// Places among sorted numbers: counted.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct SearchSorted;
}

template <>
struct Kernel<Reference, ops::SearchSorted> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::template Operand<1>;
    constexpr TensorType sorted = Call::operand(0), values = Call::operand(1);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const T value = a.operand<T>(1)[i];
      const long row = sorted.rank == 1 ? 0 : i / values.last();
      std::int32_t before = 0;
      for (long k = 0; k < sorted.last(); ++k) {
        const T element = a.operand<T>(0)[row * sorted.last() + k];
        before += Call::config().right ? !(element > value) : !(element >= value);
      }
      a.result<std::int32_t>()[i] = before;
    }
  }
};

}  // namespace tenon
