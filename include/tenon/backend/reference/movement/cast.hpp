// Cast: each element converted, defined for every value.
#pragma once
#include <cmath>
#include <limits>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Cast;
}

template <>
struct Kernel<Reference, ops::Cast> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using From = typename Call::template Operand<0>;
    for (long i = 0; i < Call::result.count(a.n); ++i)
      a.result<typename Call::Result>()[i] = converted<typename Call::Result>(a.operand<From>(0)[i]);
  }

 private:
  template <class To, class From>
  static To converted(From x) {
    if constexpr (std::is_same_v<To, From>) return x;
    else if constexpr (std::is_same_v<To, bool>) return x != From(0);
    else if constexpr (is_floating(dtype_of<To>)) return kernel::reference::rounded<To>(static_cast<long double>(x));
    else if constexpr (!is_floating(dtype_of<From>)) return static_cast<To>(x);  // wraps around
    else {
      using Limits = std::numeric_limits<To>;
      const double value = static_cast<double>(x), above = std::ldexp(1.0, Limits::digits);  // the largest To and 1
      if (value != value) return 0;
      if (value >= above) return Limits::max();
      if (value < static_cast<double>(Limits::lowest())) return Limits::lowest();
      return static_cast<To>(value);  // towards zero
    }
  }
};

}  // namespace tenon
TENON_EXACT_END
