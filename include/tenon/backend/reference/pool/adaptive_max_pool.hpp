// Adaptive maximum pooling and its gradient: window by window.
#pragma once
#include <vector>

#include <tenon/backend/reference/pool/pool.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct AdaptiveMaxPool;
struct AdaptiveMaxPoolGrad;
}  // namespace ops

template <>
struct Kernel<Reference, ops::AdaptiveMaxPool> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const TensorType &x = Call::operand(0), &y = Call::result;
    for (long k = 0; k < y.count(a.n); ++k) {
      const kernel::reference::Index at = kernel::reference::index_of(k, y, a.n);
      std::vector<long> window;
      for (long row = c.rows().begin(at[2]); row < c.rows().end(at[2]); ++row)
        for (long column = c.columns().begin(at[3]); column < c.columns().end(at[3]); ++column)
          window.push_back(kernel::reference::place({at[0], at[1], row, column}, x, a.n));
      const long best = kernel::reference::largest_of(window, a.operand<T>(0));
      a.result<T>()[k] = a.operand<T>(0)[best];
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[k] = static_cast<std::int32_t>(best % (long(c.h) * c.w));
    }
  }
};

/// Operands places, dy.
template <>
struct Kernel<Reference, ops::AdaptiveMaxPoolGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const long pixels = long(c.h) * c.w, windows = long(c.oh) * c.ow;
    std::vector<double> dx(std::size_t(Call::result.count(a.n)));
    for (long k = 0; k < Call::operand(1).count(a.n); ++k)
      dx[std::size_t(k / windows * pixels + a.operand<std::int32_t>(0)[k])] += static_cast<double>(a.operand<T>(1)[k]);
    for (std::size_t i = 0; i < dx.size(); ++i) a.result<T>()[i] = static_cast<T>(dx[i]);
  }
};

}  // namespace tenon
TENON_EXACT_END
