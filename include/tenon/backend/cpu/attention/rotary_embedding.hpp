// Rotary positions: row by row, a pair of features at a time.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RotaryEmbedding;
}

namespace kernel {
/// Sizes of a call, and the position of a row, for all targets.
template <class Call>
struct RotaryLayout {
  static constexpr TensorType x = Call::operand(0), table = Call::operand(1);
  static constexpr long features = x.last(), tokens = x[x.rank - 2], width = table[1], half = width / 2;
  static constexpr bool interleaved = int(Call::config().form) == 1, inverse = Call::config().inverse != 0;

  TENON_DEVICE static long position(const Arguments& a, long row) {
    if constexpr (Call::operands == 2) return row % tokens;
    else return long(a.operand<typename Call::template Operand<2>>(2)[row / tokens]) + row % tokens;
  }
  /// Of pair number i of a head: its first and its second feature.
  TENON_DEVICE static constexpr long first(long i) { return interleaved ? 2 * i : i; }
  TENON_DEVICE static constexpr long second(long i) { return interleaved ? 2 * i + 1 : i + half; }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::RotaryEmbedding> {
  // An item is a row.
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.last() > 0 ? Call::result.count(n) / Call::result.last() : 0;
  }
  template <class Call>
  static constexpr long cost(long) {
    return Call::result.last();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using Layout = kernel::RotaryLayout<Call>;
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    using A = Compute<T>;
    for (long row = begin; row < end; ++row) {
      const P *const cosine = a.operand<P>(1) + Layout::position(a, row) * Layout::width, *const sine =
                                                                                              cosine + Layout::half;
      for (long base = row * Layout::features; base < (row + 1) * Layout::features; base += Layout::width) {
        const T* const x = a.operand<T>(0) + base;
        T* const y = a.result<T>() + base;
        for (long i = 0; i < Layout::half; ++i) {
          const A c = static_cast<A>(cosine[i]), s = static_cast<A>(Layout::inverse ? -sine[i] : sine[i]);
          const A p = static_cast<A>(x[Layout::first(i)]), q = static_cast<A>(x[Layout::second(i)]);
          y[Layout::first(i)] = static_cast<T>(p * c - q * s);
          y[Layout::second(i)] = static_cast<T>(q * c + p * s);
        }
      }
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
