// Concat: each element of the result from the operand in which it stands.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Concat;
}

template <>
struct Kernel<Reference, ops::Concat> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const auto axis = std::size_t(normalized_axis(Call::config().axis, Call::result.rank));
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, Call::result, a.n);
      int k = 0;
      while (index[axis] >= Call::operand(k).size(int(axis), a.n))
        index[axis] -= Call::operand(k++).size(int(axis), a.n);
      a.result<T>()[i] = a.operand<T>(k)[kernel::reference::place(index, Call::operand(k), a.n)];
    }
  }
};

}  // namespace tenon
