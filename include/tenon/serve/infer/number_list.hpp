// The numbers of a JSON array, kept without loss until the dtype of their tensor is known.
#pragma once
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::serving {

/// Numbers or booleans, 8 bytes each. Whole numbers of 64 bits stay exact as long as one integer type has all of them.
class NumberList {
 public:
  std::size_t size() const { return bits_.size(); }
  bool has_flags() const { return kind_ == Kind::flags; }

  /// Adds a boolean; false if there are numbers.
  bool add_flag(bool value) {
    if (kind_ == Kind::none) kind_ = Kind::flags;
    bits_.push_back(value);
    return kind_ == Kind::flags;
  }
  /// Adds a whole number that is written with a minus; false if there are booleans. -0 is 0, or -0.0 in a datatype that
  /// has it.
  bool add_negative(std::int64_t value) {
    if (value != 0) return add_signed(value);
    if (kind_ == Kind::none) kind_ = Kind::whole;
    if (kind_ == Kind::real) return push_real(-0.0, -0.0f), true;
    minus_zeros_.push_back(bits_.size());
    bits_.push_back(0);
    return kind_ != Kind::flags;
  }
  /// Adds another whole number; false if there are booleans.
  bool add_whole(std::uint64_t value) {
    if (!(value >> 63)) return kind_ == Kind::large ? bits_.push_back(value), true : add_signed(std::int64_t(value));
    if (kind_ == Kind::none) kind_ = Kind::large;
    if (kind_ == Kind::whole) negative_ ? become_real() : void(kind_ = Kind::large);
    if (kind_ == Kind::real) push_real(double(value), float(value));
    else bits_.push_back(value);
    return kind_ != Kind::flags;
  }
  /// Adds the number that a text is nearest to; false if there are booleans.
  bool add_real(double value, std::string_view number) {
    if (kind_ == Kind::flags) return false;
    if (kind_ != Kind::real) become_real();
    float rounded = float(value);
    if (may_round_twice(value)) std::from_chars(number.data(), number.data() + number.size(), rounded);
    push_real(value, rounded);
    return true;
  }

  /// Writes all as elements of a dtype. Returns what is wrong with them, or nothing.
  std::string write(Dtype dtype, std::byte* to) const {
    switch (dtype) {
      case Dtype::bool_: return write_flags(to);
      case Dtype::int8: return write_whole<std::int8_t>(to);
      case Dtype::int16: return write_whole<std::int16_t>(to);
      case Dtype::int32: return write_whole<std::int32_t>(to);
      case Dtype::int64: return write_whole<std::int64_t>(to);
      case Dtype::uint8: return write_whole<std::uint8_t>(to);
      case Dtype::uint16: return write_whole<std::uint16_t>(to);
      case Dtype::uint32: return write_whole<std::uint32_t>(to);
      case Dtype::uint64: return write_whole<std::uint64_t>(to);
      case Dtype::float32: return write_real<float>(to);
      case Dtype::float64: return write_real<double>(to);
      case Dtype::float16:
      case Dtype::bfloat16: return "has no form in JSON: send its bytes with binary_data_size";
    }
    return "has an unknown datatype";
  }

 private:
  enum class Kind : unsigned char { none, flags, whole, large, real };  // large: whole, not negative, above 2^63

  // Whether rounding the text to float64 and then to float32 may give another float32 than rounding it once.
  static bool may_round_twice(double value) {
    constexpr std::uint64_t lost = (std::uint64_t{1} << 29) - 1, half = std::uint64_t{1} << 28;
    return (std::bit_cast<std::uint64_t>(value) & lost) == half ||
           std::abs(value) < double(std::numeric_limits<float>::min());
  }
  bool add_signed(std::int64_t value) {
    if (kind_ == Kind::none) kind_ = Kind::whole;
    if (kind_ == Kind::large) become_real();
    if (kind_ == Kind::real) push_real(double(value), float(value));
    else bits_.push_back(std::uint64_t(value)), negative_ |= value < 0;
    return kind_ != Kind::flags;
  }
  void push_real(double value, float rounded) {
    if (rounded != float(value)) rounded_.push_back({bits_.size(), rounded});
    bits_.push_back(std::bit_cast<std::uint64_t>(value));
  }
  template <class T>
  T real_at(std::size_t k) const {
    if (kind_ == Kind::whole) return T(std::int64_t(bits_[k]));
    if (kind_ == Kind::large) return T(bits_[k]);
    return T(std::bit_cast<double>(bits_[k]));
  }
  void become_real() {
    NumberList real;
    real.bits_.reserve(bits_.capacity());
    for (std::size_t k = 0; k < bits_.size(); ++k) real.push_real(real_at<double>(k), real_at<float>(k));
    for (const std::size_t k : minus_zeros_) real.bits_[k] = std::bit_cast<std::uint64_t>(-0.0);
    bits_ = std::move(real.bits_), rounded_ = std::move(real.rounded_);
    minus_zeros_.clear();
    kind_ = Kind::real;
  }
  template <class T>
  static void put(std::byte* to, std::size_t k, T value) {
    std::memcpy(to + k * sizeof(T), &value, sizeof(T));
  }
  std::string write_flags(std::byte* to) const {
    if (kind_ != Kind::flags && size()) return "has numbers, BOOL takes true and false";
    for (std::size_t k = 0; k < size(); ++k) put(to, k, bits_[k] != 0);
    return {};
  }
  template <class T>
  std::string write_whole(std::byte* to) const {
    if (kind_ == Kind::flags) return "has booleans, its datatype takes numbers";
    if (kind_ == Kind::real) return "has a number that is not whole, or that no integer has";
    for (std::size_t k = 0; k < size(); ++k) {
      const bool fits = kind_ == Kind::large ? std::in_range<T>(bits_[k]) : std::in_range<T>(std::int64_t(bits_[k]));
      if (!fits) return "has a number outside of its datatype";
      put(to, k, T(bits_[k]));
    }
    return {};
  }
  template <class T>
  std::string write_real(std::byte* to) const {
    if (kind_ == Kind::flags) return "has booleans, its datatype takes numbers";
    auto next = rounded_.begin();
    for (std::size_t k = 0; k < size(); ++k) {
      T value = real_at<T>(k);
      if constexpr (std::is_same_v<T, float>)
        if (next != rounded_.end() && next->place == k) value = next++->value;
      if (!std::isfinite(value)) return "has a number outside of its datatype";
      put(to, k, value);
    }
    for (const std::size_t k : minus_zeros_) put(to, k, T(-0.0));
    return {};
  }

  // A float32 that is not the nearest to the float64 in its place, which is rounded already.
  struct Rounded {
    std::size_t place;
    float value;
  };

  std::vector<std::uint64_t> bits_;
  std::vector<Rounded> rounded_;
  std::vector<std::size_t> minus_zeros_;  // places of -0 among whole numbers
  Kind kind_ = Kind::none;
  bool negative_ = false;
};

}  // namespace tenon::serving
