// Random numbers as a function: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once
#include <cstdint>

#include <tenon/core/float/largest_below.hpp>

namespace tenon::inline TENON_ABI {

struct Philox4 {
  std::uint32_t word[4]{};
};

/// Four random words for a 128-bit counter and a 64-bit key. The same arguments give the same words everywhere.
TENON_DEVICE constexpr Philox4 philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high = 0) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in [0, 1) with 24 bits.
TENON_DEVICE constexpr float unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// 64-bit FNV-1a, to turn a name into a key. Chain calls by passing the result as the seed.
constexpr std::uint64_t hash_bytes(const char* bytes, std::uint64_t length,
                                   std::uint64_t seed = 14695981039346656037ull) {
  for (std::uint64_t i = 0; i < length; ++i) seed = (seed ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull;
  return seed;
}
/// Mixes a number into a hash. Small numbers and small seeds give different results, too.
TENON_DEVICE constexpr std::uint64_t hash_number(std::uint64_t number, std::uint64_t seed) {
  std::uint64_t z = (seed + 0x9e3779b97f4a7c15ull) * 0xd1342543de82ef95ull + number;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

TENON_EXACT_BEGIN
/// A stream of numbers for host-side work (shuffling, drawing, initial values): key and position are its whole state.
/// Transforms of a data set get one for each sample; `Random random(7);` makes one, the same on every machine.
class Random {
 public:
  explicit constexpr Random(std::uint64_t key) : key_(key) {}
  /// 32 random bits.
  [[gnu::noinline]] constexpr std::uint32_t word() {
    if (used_ == 4) block_ = philox(key_, position_++), used_ = 0;
    return block_.word[used_++];
  }
  /// Uniform in [0, 1).
  constexpr float uniform() { return unit_float(word()); }
  /// Uniform in [low, high), or low if that is empty. Rounding would make one draw of a thousand high where the two are
  /// close: it is the largest number below instead.
  constexpr float uniform(float low, float high) {
    const float drawn = low + (high - low) * uniform();
    return drawn < high || !(low < high) ? drawn : next_below(high);
  }
  /// Gaussian with this mean and standard deviation, from two words (Box and Muller 1958). Defined in
  /// core/random/random_group.hpp, which tenon.hpp and dataset/dataset.hpp include.
  template <class Words = Random>
  float normal(float mean = 0, float deviation = 1) {
    return mean + deviation * draw_gaussian(static_cast<Words&>(*this));
  }
  /// Uniform in 0 .. bound - 1, bound <= 2^32, by multiplication (bias below 2^-32 * bound).
  constexpr std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(word() * bound >> 32); }

 private:
  std::uint64_t key_, position_ = 0;
  Philox4 block_{};
  int used_ = 4;
};

TENON_EXACT_END

/// The state of the random operators in a turn of a loop: another step, so that turns draw different numbers. `state`:
/// seed and step outside of the loop.
TENON_DEVICE constexpr void turn_random_state(std::uint64_t* to, const std::uint64_t* state, long turn) {
  const std::uint64_t step = hash_number(std::uint64_t(turn) + 1, state[1]);
  to[0] = state[0], to[1] = step;
}

}  // namespace tenon
