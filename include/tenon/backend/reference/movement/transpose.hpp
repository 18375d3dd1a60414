// Transpose: axis k of the result is axis order[k] of the operand.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Transpose;
}

template <>
struct Kernel<Reference, ops::Transpose> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr int rank = Call::result.rank;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      kernel::reference::Index from{};
      for (int k = 0; k < rank; ++k)
        from[std::size_t(normalized_axis(Call::config().order[k], rank))] = index[std::size_t(k)];
      a.result<T>()[i] = a.operand<T>(0)[kernel::reference::place(from, Call::operand(0), a.n)];
    }
  }
};

}  // namespace tenon
