// Element types: the enumeration that files and graphs use, and the C++ type of each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tenon/core/float/half.hpp>

namespace tenon::inline TENON_ABI {

enum class Dtype : int {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};

namespace detail {
struct DtypeRow {
  std::string_view name, title;  // "float32" as in numpy, "Float32" as MindSpore prints it
  std::size_t bytes;
};
inline constexpr DtypeRow dtype_rows[]{
    {"bool", "Bool", 1},       {"int8", "Int8", 1},       {"int16", "Int16", 2},       {"int32", "Int32", 4},
    {"int64", "Int64", 8},     {"uint8", "UInt8", 1},     {"uint16", "UInt16", 2},     {"uint32", "UInt32", 4},
    {"uint64", "UInt64", 8},   {"float16", "Float16", 2}, {"bfloat16", "BFloat16", 2}, {"float32", "Float32", 4},
    {"float64", "Float64", 8},
};

template <Dtype D>
struct TypeOf;
template <>
struct TypeOf<Dtype::bool_> {
  using type = bool;
};
template <>
struct TypeOf<Dtype::int8> {
  using type = std::int8_t;
};
template <>
struct TypeOf<Dtype::int16> {
  using type = std::int16_t;
};
template <>
struct TypeOf<Dtype::int32> {
  using type = std::int32_t;
};
template <>
struct TypeOf<Dtype::int64> {
  using type = std::int64_t;
};
template <>
struct TypeOf<Dtype::uint8> {
  using type = std::uint8_t;
};
template <>
struct TypeOf<Dtype::uint16> {
  using type = std::uint16_t;
};
template <>
struct TypeOf<Dtype::uint32> {
  using type = std::uint32_t;
};
template <>
struct TypeOf<Dtype::uint64> {
  using type = std::uint64_t;
};
template <>
struct TypeOf<Dtype::float16> {
  using type = tenon::float16;
};
template <>
struct TypeOf<Dtype::bfloat16> {
  using type = tenon::bfloat16;
};
template <>
struct TypeOf<Dtype::float32> {
  using type = float;
};
template <>
struct TypeOf<Dtype::float64> {
  using type = double;
};

template <class T>
constexpr int dtype_index() {
  if constexpr (std::is_same_v<T, bool>) return int(Dtype::bool_);
  else if constexpr (std::is_same_v<T, tenon::float16>) return int(Dtype::float16);
  else if constexpr (std::is_same_v<T, tenon::bfloat16>) return int(Dtype::bfloat16);
  else if constexpr (std::is_same_v<T, float>) return int(Dtype::float32);
  else if constexpr (std::is_same_v<T, double>) return int(Dtype::float64);
  else if constexpr (std::is_integral_v<T>) {  // long and long long both are int64
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return (std::is_signed_v<T> ? int(Dtype::int8) : int(Dtype::uint8)) + log2;
  } else return -1;
}
}  // namespace detail

/// The C++ type that holds one element: `CppType<Dtype::float32>` is float.
template <Dtype D>
using CppType = typename detail::TypeOf<D>::type;

/// True for the types a tensor can hold.
template <class T>
concept Element = detail::dtype_index<std::remove_cv_t<T>>() >= 0;

/// The dtype of a C++ type: `dtype_of<float>` is Dtype::float32.
template <Element T>
inline constexpr Dtype dtype_of = static_cast<Dtype>(detail::dtype_index<std::remove_cv_t<T>>());

constexpr std::string_view name(Dtype d) { return detail::dtype_rows[int(d)].name; }
constexpr std::string_view title(Dtype d) { return detail::dtype_rows[int(d)].title; }
namespace detail {
// The sizes in one number, a digit each: where code runs, on a device too, no table is read.
inline constexpr std::uint64_t dtype_sizes = [] {
  std::uint64_t digits = 0;
  for (std::size_t i = 0; i < std::size(dtype_rows); ++i) digits |= std::uint64_t{dtype_rows[i].bytes} << 4 * i;
  return digits;
}();
}  // namespace detail
TENON_DEVICE constexpr std::size_t size_of(Dtype d) { return detail::dtype_sizes >> 4 * int(d) & 15; }
TENON_DEVICE constexpr bool is_floating(Dtype d) { return d >= Dtype::float16; }
TENON_DEVICE constexpr bool is_half_dtype(Dtype d) { return d == Dtype::float16 || d == Dtype::bfloat16; }
TENON_DEVICE constexpr bool is_signed_integer(Dtype d) { return d >= Dtype::int8 && d <= Dtype::int64; }

/// The type in which T is computed: 16-bit floats in float, the others in themselves.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

/// The type in which sums of T are carried: 16-bit floats add up in float, small integers in 64 bits.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                       std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>>;

}  // namespace tenon
