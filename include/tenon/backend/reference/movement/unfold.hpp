// The windows of images as columns, and sums of such columns: each pair of a pixel and an element of a window.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>
#include <tenon/core/math/wrapping.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Im2Col;
struct Col2Im;
}  // namespace ops

namespace kernel::reference {
/// Calls f(element of the columns, pixel) for all pairs that belong together.
template <class Config, class F>
void each_tap_of_windows(const Config& c, long elements, F f) {
  const long windows = long(c.rows) * c.columns, taps = long(c.kh) * c.kw;
  for (long i = 0; i < elements; ++i) {
    const long k = i / windows % taps, row = c.row(k, i % windows / c.columns), column = c.column(k, i % c.columns);
    if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
    f(i, (i / windows / taps * c.height + row) * c.width + column);
  }
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Im2Col> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = T{};
    kernel::reference::each_tap_of_windows(Call::config(), Call::result.count(a.n),
                                           [&](long i, long pixel) { a.result<T>()[i] = a.operand<T>(0)[pixel]; });
  }
};
template <>
struct Kernel<Reference, ops::Col2Im> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using A = std::conditional_t<is_floating(dtype_of<T>), double, T>;
    std::vector<A> sum(static_cast<std::size_t>(Call::result.count(a.n)));
    kernel::reference::each_tap_of_windows(Call::config(), Call::operand(0).count(a.n), [&](long i, long pixel) {
      A& to = sum[std::size_t(pixel)];
      if constexpr (is_floating(dtype_of<T>)) to += static_cast<A>(a.operand<T>(0)[i]);
      else to = math::wrapping_add(to, a.operand<T>(0)[i]);
    });
    for (std::size_t i = 0; i < sum.size(); ++i)
      if constexpr (is_floating(dtype_of<T>)) a.result<T>()[i] = kernel::reference::rounded<T>(sum[i]);
      else a.result<T>()[i] = sum[i];
  }
};

}  // namespace tenon
TENON_EXACT_END
