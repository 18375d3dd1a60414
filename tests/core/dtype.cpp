// The table of dtypes agrees with the C++ types.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/core/dtype.hpp>

using namespace tenon;

namespace {
template <int I>
void row() {
  constexpr Dtype d = Dtype(I);
  using T = CppType<d>;
  static_assert(dtype_of<T> == d && dtype_of<const T> == d && size_of(d) == sizeof(T));
  constexpr bool floating = std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
  static_assert(is_floating(d) == floating);
  static_assert(is_signed_integer(d) == (std::is_integral_v<T> && std::is_signed_v<T>));
  CHECK(detail::dtype_rows[I].bytes == sizeof(T));
  std::string_view n = name(d), t = title(d);
  CHECK(n.size() == t.size());
  for (std::size_t i = 0; i < n.size(); ++i) CHECK((n[i] | 32) == (t[i] | 32));  // the same word in other letters
}
template <int... I>
void rows(std::integer_sequence<int, I...>) {
  (row<I>(), ...);
}
}  // namespace

TEST_CASE("each dtype: C++ type, size, kind, names") {
  rows(std::make_integer_sequence<int, 13>{});
  CHECK(std::size(detail::dtype_rows) == 13);
}

TEST_CASE("names as NumPy and MindSpore write them") {
  CHECK(name(Dtype::bool_) == "bool");
  CHECK(title(Dtype::uint8) == "UInt8");
  CHECK(title(Dtype::bfloat16) == "BFloat16");
  CHECK(name(Dtype::float64) == "float64");
}

TEST_CASE("all 64-bit integers of C++ are int64 or uint64, other types are none") {
  static_assert(dtype_of<long> == Dtype::int64 && dtype_of<long long> == Dtype::int64 &&
                dtype_of<unsigned long long> == Dtype::uint64);
  static_assert(!Element<void*> && !Element<long double> && !Element<char*>);
  static_assert(std::is_same_v<Accumulator<float16>, float> && std::is_same_v<Accumulator<bfloat16>, float> &&
                std::is_same_v<Accumulator<double>, double> && std::is_same_v<Accumulator<std::int8_t>, std::int64_t>);
}
