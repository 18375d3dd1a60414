// Triangle: matrices with a fixed value on one side of a diagonal.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Triangle;
}

template <>
struct Kernel<Reference, ops::Triangle> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr std::size_t rank = std::size_t(Call::result.rank);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      const long diagonal = index[rank - 1] - index[rank - 2];  // on which one the element stands
      const bool kept = c.upper ? diagonal >= c.diagonal : diagonal <= c.diagonal;
      a.result<T>()[i] = kept ? a.operand<T>(0)[i] : static_cast<T>(c.value);
    }
  }
};

}  // namespace tenon
