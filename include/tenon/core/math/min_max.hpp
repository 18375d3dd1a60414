// The smaller and the larger of two numbers, without <algorithm>, which in C++20 has the algorithms of ranges, too:
// each program would compile them (9 MB with g++ 12).
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::math {

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace tenon::math
