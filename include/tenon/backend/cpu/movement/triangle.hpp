// One side of the diagonal of matrices: tril and triu, row by row.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Triangle;
}

template <>
struct Kernel<Cpu, ops::Triangle> {
  // rows
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.last() > 0 ? Call::result.count(n) / Call::result.last() : 0;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr TensorType y = Call::result;
    constexpr long columns = y.last();
    const long rows = y.size(y.rank - 2, a.n);
    for (long item = begin; item < end; ++item) {
      const T* const from = a.operand<T>(0) + item * columns;
      T* const to = a.result<T>() + item * columns;
      const long border = item % rows + c.diagonal;
      for (long k = 0; k < columns; ++k)
        to[k] = (c.upper ? k >= border : k <= border) ? from[k] : static_cast<T>(c.value);
    }
  }
};

}  // namespace tenon
