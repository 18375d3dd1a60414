// Dropout: each element by its own random word.
#pragma once
#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>
#include <tenon/core/random/philox.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Dropout;
}

template <>
struct Kernel<Reference, ops::Dropout> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const float rate = kernel::dropout_rate<Call>(a);
    const std::uint64_t *const state = kernel::dropout_state<Call>(a), step = state[1],
                               key = hash_number(a.immediate, state[0]);
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      // 64 elements share 16 blocks: the first 16 have their first words, the next 16 the second ones, ...
      const Philox4 block = philox(key, std::uint64_t(i / 64 * 16 + i % 16), step);
      const double kept = static_cast<double>(a.operand<T>(0)[i]) / (1 - static_cast<double>(rate));
      a.result<T>()[i] = unit_float(block.word[i % 64 / 16]) < rate ? T{} : kernel::reference::rounded<T>(kept);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
