// Random numbers: 64 elements at a time, from the words of 16 Philox blocks.
#pragma once
#include <tenon/core/random/random_number.hpp>
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct RandomNumbers;
}

template <>
struct Kernel<Cpu, ops::RandomNumbers> {
  template <class Call>
  static constexpr long items(long n) {
    return (Call::result.count(n) + math::random_group - 1) / math::random_group;
  }
  template <class Call>
  static constexpr long cost(long) {
    return 8L * math::random_group;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    const std::uint64_t *state = a.operand<std::uint64_t>(1), key = hash_number(a.immediate, state[0]);
    const long count = Call::result.count(a.n);
    for (long group = begin; group < end; ++group) {
      std::uint32_t word[4][math::random_lanes];
      math::draw_words(key, static_cast<std::uint64_t>(group), state[1], word);
      const long first = group * math::random_group;
      if (first + math::random_group <= count) numbers<Call>(word, key, first, state[1], a.result<T>() + first);
      else {
        T drawn[math::random_group];
        numbers<Call>(word, key, first, state[1], drawn);
        for (long i = first; i < count; ++i) a.result<T>()[i] = drawn[i - first];
      }
    }
  }

 private:
  template <class Call, class T>
  [[gnu::always_inline]] static void numbers(const std::uint32_t (&word)[4][math::random_lanes], std::uint64_t key,
                                             long first, std::uint64_t step, T* to) {
    constexpr auto c = Call::config();
    const std::uint32_t* const words = word[0];
    if constexpr (c.kind == RandomKind::normal || c.kind == RandomKind::truncated_normal) {
      float number[math::random_group];
      math::gaussian_vectors(word, number);
      if constexpr (c.kind == RandomKind::truncated_normal)
        for (int i = 0; i < math::random_group; ++i)
          if (!(number[i] * number[i] <= 4))
            number[i] = math::within_two(number[i], key, static_cast<std::uint64_t>(first + i), step);
      for (int i = 0; i < math::random_group; ++i) to[i] = static_cast<T>(number[i]);
    } else {
      for (int i = 0; i < math::random_group; ++i) to[i] = math::number_of_word<T, c.kind>(words[i], c.low, c.bound);
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
