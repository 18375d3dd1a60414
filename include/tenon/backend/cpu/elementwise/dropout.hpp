// Dropout: elements become 0 where a random word is small, the rest is scaled.
#pragma once
#include <tenon/core/memory/arena.hpp>
#include <tenon/core/random/random_group.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Dropout;
}

namespace kernel {
/// An element is dropped if the upper 24 bits of its word, as a number in [0, 1), are below the rate: if they are less
/// than this.
TENON_DEVICE inline std::uint32_t dropped_words(float rate) {
  const float words = rate * 0x1p24f;
  const auto whole = static_cast<std::uint32_t>(words);
  return whole + (static_cast<float>(whole) < words);
}
/// The rate by which a call drops: 0 where its cell evaluates, as set_train(false) of a part of a network says.
template <class Call>
TENON_DEVICE float dropout_rate(const Arguments& a) {
  if constexpr (Call::operands == 4)
    if (static_cast<int>(*a.operand<float>(2)) & tenon::detail::by_set_train) return 0;
  return *a.operand<float>(1);
}
/// Seed and step.
template <class Call>
TENON_DEVICE const std::uint64_t* dropout_state(const Arguments& a) {
  return a.operand<std::uint64_t>(Call::operands - 1);
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Dropout> {
  template <class Call>
  static constexpr long items(long n) {
    return (Call::result.count(n) + math::random_group - 1) / math::random_group;
  }
  template <class Call>
  static constexpr long cost(long) {
    return 4L * math::random_group;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using C = Compute<T>;
    const float rate = kernel::dropout_rate<Call>(a);
    const C scale = C(1) / (C(1) - C(rate));
    const std::uint32_t dropped = kernel::dropped_words(rate);
    const std::uint64_t *state = kernel::dropout_state<Call>(a), key = hash_number(a.immediate, state[0]);
    const long count = Call::result.count(a.n);
    for (long group = begin; group < end; ++group) {
      std::uint32_t word[4][math::random_lanes];
      math::draw_words(key, static_cast<std::uint64_t>(group), state[1], word);
      std::int32_t kept[math::random_group];  // all bits set, or none
      for (int k = 0; k < 4; ++k)
        for (int l = 0; l < math::random_lanes; ++l)
          kept[k * math::random_lanes + l] = -static_cast<std::int32_t>((word[k][l] >> 8) >= dropped);
      const long first = group * math::random_group;
      const T* x = a.operand<T>(0) + first;
      T* y = a.result<T>() + first;
      if (first + math::random_group <= count) apply_mask(kept, x, y, scale, math::random_group);
      else apply_mask(kept, x, y, scale, count - first);
    }
  }

 private:
  // By bits, so that an infinite element becomes 0 when it is dropped, and vectors need no branch.
  template <class T, class C>
  [[gnu::always_inline]] static void apply_mask(const std::int32_t* kept, const T* x, T* y, C scale, long count) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    for (long i = 0; i < count; ++i) {
      const T scaled = static_cast<T>(static_cast<C>(x[i]) * scale);
      y[i] = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(scaled) & static_cast<Bits>(kept[i])));
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
