// A random order of 0 .. n-1 that is computed position by position, without storing it.
#pragma once
#include <bit>
#include <cstdint>

#include <tenon/core/random/philox.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A bijection of 0 .. size-1 chosen by a key. Up to 16 are drawn one by one (Fisher and Yates): each order comes
/// equally often, which a few bits of a network do not give. Beyond, it is a Feistel network over the next power of two
/// (Luby and Rackoff, 1988); a result beyond the range is sent through again until it falls inside (Black and Rogaway,
/// "Ciphers with arbitrary finite domains", 2002), less than twice on average. About 50 ns per position.
class Permutation {
 public:
  [[gnu::noinline]] constexpr Permutation(long size, std::uint64_t key)
      : size_(static_cast<std::uint64_t>(size)), key_(key) {
    if (size_ <= most_drawn) {
      draw();
      return;
    }
    const int bits = size > 1 ? int(std::bit_width(size_ - 1)) : 0;
    low_bits_ = bits / 2;
    low_mask_ = mask(low_bits_);
    high_mask_ = mask(bits - low_bits_);
  }

  [[gnu::noinline]] constexpr long operator()(long position) const {
    std::uint64_t value = static_cast<std::uint64_t>(position);
    if (size_ <= most_drawn) return static_cast<long>(drawn_ >> 4 * value & 15);
    do value = once(value);
    while (value >= size_);
    return static_cast<long>(value);
  }

  constexpr std::uint64_t key() const { return key_; }

 private:
  static constexpr std::uint64_t most_drawn = 16;
  [[gnu::cold, gnu::noinline]] constexpr void draw() {
    for (std::uint64_t last = size_; last-- > 1;) {
      const std::uint64_t other = (hash_number(last, key_) >> 32) * (last + 1) >> 32;
      const std::uint64_t change = (drawn_ >> 4 * last ^ drawn_ >> 4 * other) & 15;
      drawn_ ^= (change << 4 * last) ^ (change << 4 * other);
    }
  }
  static constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }
  constexpr std::uint64_t once(std::uint64_t value) const {
    std::uint64_t low = value & low_mask_, high = value >> low_bits_;
    for (std::uint64_t round = 0; round < 10; round += 2) {
      high ^= hash_number(low, key_ + round) & high_mask_;
      low ^= hash_number(high, key_ + round + 1) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  std::uint64_t size_, key_, low_mask_ = 0, high_mask_ = 0;
  std::uint64_t drawn_ = 0xfedcba9876543210;  // 4 bits per position
  int low_bits_ = 0;
};

}  // namespace tenon::dataset
