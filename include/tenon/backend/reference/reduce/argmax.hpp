// ArgMax: a search along an axis for the first of the best elements.
#pragma once
#include <cstdint>

#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ArgMax;
}

template <>
struct Kernel<Reference, ops::ArgMax> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using C = Compute<typename Call::template Operand<0>>;
    constexpr TensorType x = Call::operand(0);
    constexpr int axis = normalized_axis(Call::config().axis, x.rank);
    TensorType lines = x;  // one element for each search
    lines.extent[axis] = 1;
    for (long i = 0; i < lines.count(a.n); ++i) {
      auto index = kernel::reference::index_of(i, lines, a.n);
      const auto element = [&](long at) {
        index[std::size_t(axis)] = at;
        return static_cast<C>(
            a.operand<typename Call::template Operand<0>>(0)[kernel::reference::place(index, x, a.n)]);
      };
      long best = 0;
      for (long at = 1; at < x.size(axis, a.n); ++at) {
        const C v = element(at), w = element(best);
        const bool better = v != v ? w == w : Call::config().smallest ? v < w : v > w;  // NaN beats all numbers
        if (better) best = at;
      }
      a.result<std::int32_t>()[i] = static_cast<std::int32_t>(best);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
