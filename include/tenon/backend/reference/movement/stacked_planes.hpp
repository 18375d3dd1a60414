// The planes of volumes that a convolution meets, side by side: each element from its place.
#pragma once
#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct StackedPlanes;
}

template <>
struct Kernel<Reference, ops::StackedPlanes> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr TensorType x = Call::operand(0);
    constexpr auto c = Call::config();
    constexpr long own = x[1] / c.groups;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto [image, stacked, row, column, u, v] = kernel::reference::index_of(i, Call::result, a.n);
      const long k = stacked / own % c.kernel, plane = c.plane(image % c.places, k),
                 channel = stacked / own / c.kernel * own + stacked % own;
      a.result<T>()[i] =
          plane < 0 || plane >= x[2]
              ? T{}
              : a.operand<T>(0)[kernel::reference::place({image / c.places, channel, plane, row, column}, x, a.n)];
    }
  }
};

}  // namespace tenon
