// Random numbers: each element by its own words.
#pragma once
#include <tenon/backend/reference/index.hpp>
#include <tenon/core/random/random_number.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RandomNumbers;
}

template <>
struct Kernel<Reference, ops::RandomNumbers> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const std::uint64_t seed = a.operand<std::uint64_t>(1)[0], step = a.operand<std::uint64_t>(1)[1],
                        key = hash_number(a.immediate, seed);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      // 64 elements share 16 blocks: the first 16 have their first words, the next 16 the second ones, ...
      const Philox4 block = philox(key, std::uint64_t(i / 64 * 16 + i % 16), step);
      a.result<T>()[i] =
          math::random_element<T, c.kind>(block, int(i % 64 / 16), key, std::uint64_t(i), step, c.low, c.bound);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
