// One random number from the words of a Philox block, the same on all targets.
#pragma once
#include <tenon/core/random/random_group.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// What a random number is: uniform in [0, 1) with 24 bits; Gaussian; Gaussian within two deviations; an odd multiple
/// of 2^-24 in (0, 1), whose logarithm is finite; a whole number in low .. low + bound - 1; any int32.
enum class RandomKind : int { uniform, normal, truncated_normal, positive, integer, word };

namespace math {

/// The number for a word, of a kind that is not Gaussian.
template <class T, RandomKind kind>
[[gnu::always_inline]] TENON_DEVICE inline T number_of_word(std::uint32_t word, [[maybe_unused]] int low,
                                                            [[maybe_unused]] int bound) {
  if constexpr (kind == RandomKind::uniform) return static_cast<T>(unit_number(word));
  else if constexpr (kind == RandomKind::positive)
    return static_cast<T>(static_cast<float>(static_cast<std::int32_t>(word >> 9 << 1 | 1)) * 0x1p-24f);
  else if constexpr (kind == RandomKind::integer)
    return static_cast<T>(low +
                          static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint32_t>(bound) >> 32));
  else return static_cast<T>(static_cast<std::int32_t>(word));
}

/// gaussian_numbers in vectors: compilers make none of a scalar root, which may set errno.
inline void gaussian_vectors(const std::uint32_t (&word)[4][random_lanes], float (&number)[random_group]) {
  using V = Simd < float, simd_width<float><random_lanes ? simd_width<float> : random_lanes>;
  for (int pair = 0; pair < 4; pair += 2) {
    float radius[random_lanes];
    for (int l = 0; l < random_lanes; ++l) radius[l] = minus_two_log(1 - unit_number(word[pair][l]));
    for (int l = 0; l < random_lanes; l += V::width) square_root(V::load(radius + l)).store(radius + l);
    float* const to = number + pair * random_lanes;
    for (int l = 0; l < random_lanes; ++l) {
      float cosine, sine;
      turn(unit_number(word[pair + 1][l]), cosine, sine);
      to[l] = radius[l] * cosine;
      to[random_lanes + l] = radius[l] * sine;
    }
  }
}

/// A Gaussian number beyond two deviations is drawn again, from words that only this element has.
TENON_DEVICE inline float within_two(float number, std::uint64_t key, std::uint64_t element, std::uint64_t step) {
  for (std::uint64_t attempt = 1; !(number * number <= 4); ++attempt) {
    const Philox4 block = philox(hash_number(attempt, key), element, step);
    float second;
    gaussian_pair(block.word[0], block.word[1], number, second);
    if (!(number * number <= 4)) number = second;
    if (!(number * number <= 4)) gaussian_pair(block.word[2], block.word[3], number, second);
    if (!(number * number <= 4)) number = second;
  }
  return number;
}

/// Element `element`, which has word k of a block: element e of 64 has word e / 16 of block e mod 16.
template <class T, RandomKind kind>
TENON_DEVICE inline T random_element(const Philox4& block, int k, std::uint64_t key, std::uint64_t element,
                                     std::uint64_t step, int low, int bound) {
  if constexpr (kind == RandomKind::normal || kind == RandomKind::truncated_normal) {
    float first, second;
    gaussian_pair(block.word[k & 2], block.word[(k & 2) + 1], first, second);
    const float number = k & 1 ? second : first;
    return static_cast<T>(kind == RandomKind::normal ? number : within_two(number, key, element, step));
  } else return number_of_word<T, kind>(block.word[k], low, bound);
}

}  // namespace math
}  // namespace tenon
TENON_EXACT_END
