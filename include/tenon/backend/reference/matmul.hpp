// MatMul: one sum of products per element, in double.
#pragma once
#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MatMul;
}

template <>
struct Kernel<Reference, ops::MatMul> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, std::uint64_t>;
    constexpr TensorType x = Call::operand(0), y = Call::operand(1), z = Call::result;
    constexpr bool first = Call::Op::first(Call::config()), second = Call::Op::second(Call::config());
    for (long i = 0; i < z.count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, z, a.n);
      const long row = index[z.rank - 2], column = index[z.rank - 1];
      A sum{};
      for (long k = 0; k < x.size(x.rank - (first ? 2 : 1), a.n); ++k) {
        index[z.rank - 2] = first ? k : row, index[z.rank - 1] = first ? row : k;
        const A left = static_cast<A>(a.operand<T>(0)[kernel::reference::broadcast_place(index, z, x, a.n)]);
        index[z.rank - 2] = second ? column : k, index[z.rank - 1] = second ? k : column;
        sum += left * static_cast<A>(a.operand<T>(1)[kernel::reference::broadcast_place(index, z, y, a.n)]);
      }
      a.result<T>()[i] = static_cast<T>(sum);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
