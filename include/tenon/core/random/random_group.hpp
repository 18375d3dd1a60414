// Random words and numbers in groups, written so that the compiler turns each loop into vector instructions.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/math/elementary.hpp>
#include <tenon/core/random/philox.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::math {

/// Philox blocks drawn together, and the words they hold: element e of group g takes word e / 16 of block 16 g + e mod
/// 16.
inline constexpr int random_lanes = 16, random_group = 4 * random_lanes;

/// The 64 words of a group: word[k][l] is word k of philox(key, 16 group + l, high).
inline void draw_words(std::uint64_t key, std::uint64_t group, std::uint64_t high,
                       std::uint32_t (&word)[4][random_lanes]) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int l = 0; l < random_lanes; ++l) {
    // 16 divides 2^32: no carry
    word[0][l] = static_cast<std::uint32_t>(group * random_lanes) + static_cast<std::uint32_t>(l);
    word[1][l] = static_cast<std::uint32_t>((group * random_lanes) >> 32);
    word[2][l] = static_cast<std::uint32_t>(high);
    word[3][l] = static_cast<std::uint32_t>(high >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < random_lanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * word[0][l], p1 = std::uint64_t{0xCD9E8D57u} * word[2][l];
      word[0][l] = static_cast<std::uint32_t>(p1 >> 32) ^ word[1][l] ^ k0;
      word[1][l] = static_cast<std::uint32_t>(p1);
      word[2][l] = static_cast<std::uint32_t>(p0 >> 32) ^ word[3][l] ^ k1;
      word[3][l] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

/// Uniform in [0, 1) with 24 bits, as unit_float; through a signed number, which vectors convert in one instruction.
TENON_DEVICE inline float unit_number(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}

/// -2 log(x) for x = k 2^-24 in (0, 1]: x = 2^e m with m in [2/3, 4/3), log m = 2 atanh((m - 1) / (m + 1)) as a series.
TENON_DEVICE inline float minus_two_log(float x) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), exponent = (bits - 0x3f2aaaab) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23));
  const float s = (m - 1) / (m + 1), q = s * s;
  const float series = s * (2 + q * (2.0f / 3 + q * (2.0f / 5 + q * (2.0f / 7 + q * (2.0f / 9)))));
  return -2 * (static_cast<float>(exponent) * 0.69314718f + series);
}

/// Cosine and sine of 2 pi u for u in [0, 1): the nearest quarter turn, and a series for the rest within an eighth.
TENON_DEVICE inline void turn(float u, float& cosine, float& sine) {
  const std::int32_t quarter = static_cast<std::int32_t>(u * 4 + 0.5f);
  const float a = (u - static_cast<float>(quarter) * 0.25f) * 6.2831853f, q = a * a;
  const float c =
      1 + q * (-1.0f / 2 + q * (1.0f / 24 + q * (-1.0f / 720 + q * (1.0f / 40320 + q * (-1.0f / 3628800)))));
  const float s = a * (1 + q * (-1.0f / 6 + q * (1.0f / 120 + q * (-1.0f / 5040 + q * (1.0f / 362880)))));
  const bool swap = quarter & 1;
  const float first = swap ? s : c, second = swap ? c : s;
  cosine = (quarter + 1) & 2 ? -first : first;
  sine = quarter & 2 ? -second : second;
}

/// Two Gaussian numbers of mean 0 and deviation 1 from two words (Box and Muller 1958). No function of the C library is
/// called, and nothing is contracted: the same numbers come out on every machine.
[[gnu::always_inline]] TENON_DEVICE inline void gaussian_pair(std::uint32_t first, std::uint32_t second, float& a,
                                                              float& b) {
  const float radius = sqrt(minus_two_log(1 - unit_number(first)));
  float cosine, sine;
  turn(unit_number(second), cosine, sine);
  a = radius * cosine;
  b = radius * sine;
}
/// 64 of them from the words of a group.
inline void gaussian_numbers(const std::uint32_t (&word)[4][random_lanes], float (&number)[random_group]) {
  for (int pair = 0; pair < 4; pair += 2)
    for (int l = 0; l < random_lanes; ++l)
      gaussian_pair(word[pair][l], word[pair + 1][l], number[pair * random_lanes + l],
                    number[(pair + 1) * random_lanes + l]);
}

}  // namespace tenon::math

namespace tenon::inline TENON_ABI {
/// The next Gaussian number of a stream, from two of its words.
inline float draw_gaussian(Random& random) {
  const std::uint32_t first = random.word();
  float number, other;
  math::gaussian_pair(first, random.word(), number, other);
  return number;
}
}  // namespace tenon
TENON_EXACT_END
