// Rotary positions: each feature with its partner, in double.
#pragma once
#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct RotaryEmbedding;
}

template <>
struct Kernel<Reference, ops::RotaryEmbedding> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    using P = typename Call::template Operand<1>;
    constexpr TensorType x = Call::operand(0), table = Call::operand(1);
    constexpr long tokens = x[x.rank - 2], width = table[1], half = width / 2;
    constexpr bool interleaved = int(Call::config().form) == 1;
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const long row = i / x.last(), f = i % width, pair = interleaved ? f / 2 : f % half;
      const bool second = interleaved ? f % 2 == 1 : f >= half;
      const long partner = i + (interleaved ? 1 : half) * (second ? -1 : 1);
      long position = row % tokens;
      if constexpr (Call::operands == 3)
        position += long(a.operand<typename Call::template Operand<2>>(2)[row / tokens]);
      const double cosine = static_cast<double>(a.operand<P>(1)[position * width + pair]),
                   sine = static_cast<double>(a.operand<P>(1)[position * width + half + pair]) *
                          (Call::config().inverse ? -1 : 1) * (second ? 1 : -1);
      a.result<T>()[i] = kernel::reference::rounded<T>(static_cast<double>(a.operand<T>(0)[i]) * cosine +
                                                       static_cast<double>(a.operand<T>(0)[partner]) * sine);
    }
  }
};

}  // namespace tenon
