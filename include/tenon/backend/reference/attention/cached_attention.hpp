// Attention to a cache of keys and values: a query at a time, in double.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/reduce/softmax.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct UpdateCache;
struct CachedAttention;
}  // namespace ops

template <>
struct Kernel<Reference, ops::UpdateCache> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr TensorType cache = Call::operand(0), x = Call::operand(1);
    constexpr bool transposed = Call::config().transposed != 0;
    constexpr long features = cache[transposed ? 1 : 2], length = cache[transposed ? 2 : 1];
    for (long b = 0; b < x[0]; ++b)
      for (long t = 0; t < x[1]; ++t)
        for (long f = 0; f < features; ++f) {
          const long at = long(a.operand<typename Call::template Operand<2>>(2)[b]) + t;
          a.changed<T>(0)[transposed ? (b * features + f) * length + at : (b * length + at) * features + f] =
              a.operand<T>(1)[(b * x[1] + t) * x[2] + Call::config().part * features + f];
        }
  }
};

template <>
struct Kernel<Reference, ops::CachedAttention> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr TensorType q = Call::operand(0), cached = Call::operand(2);
    constexpr long features = cached[2], length = cached[1], width = features / Call::config().heads;
    const double scale =
        Call::config().scale != 0 ? static_cast<double>(Call::config().scale) : 1 / std::sqrt(double(width));
    for (long b = 0; b < q[0]; ++b)
      for (long t = 0; t < q[1]; ++t)
        for (long first = 0; first < features; first += width) {
          const long seen = long(a.operand<typename Call::template Operand<3>>(3)[b]) + t + 1;
          const T *const query = a.operand<T>(0) + (b * q[1] + t) * q[2] + first,
                         *const keys = a.operand<T>(1) + (b * features + first) * length,
                         *const values = a.operand<T>(2) + b * length * features + first;
          std::vector<double> weight(static_cast<std::size_t>(seen));
          for (long j = 0; j < seen; ++j)
            weight[std::size_t(j)] = scale * kernel::reference::sum_of(width, [&](long f) {
                                       return static_cast<double>(query[f]) * static_cast<double>(keys[f * length + j]);
                                     });
          const kernel::reference::Exponentials of(seen, [&](long j) { return weight[std::size_t(j)]; });
          for (double& w : weight) w = of.share(w);
          for (long f = 0; f < width; ++f)
            a.result<T>()[(b * q[1] + t) * features + first + f] = static_cast<T>(kernel::reference::sum_of(
                seen, [&](long j) { return weight[std::size_t(j)] * static_cast<double>(values[j * features + f]); }));
        }
  }
};

}  // namespace tenon
