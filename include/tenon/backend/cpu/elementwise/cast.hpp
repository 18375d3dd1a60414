// Cast: the conversion of elements to another dtype, as an element-wise loop.
#pragma once
#include <tenon/backend/cpu/elementwise/elementwise.hpp>
#include <tenon/core/math/convert.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Cast;
}

template <>
struct Kernel<Cpu, ops::Cast> {
  template <class Result>
  struct To {
    template <class X>
    [[gnu::always_inline]] auto operator()(X x) const {
      // the store rounds
      if constexpr (is_half<Result> && (is_half<X> || std::is_same_v<X, float>)) return static_cast<float>(x);
      else return math::convert<Result>(x);
    }
  };
  template <class Call>
  static constexpr long items(long n) {
    return kernel::RowLayout<Call>::items(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    kernel::elementwise<Call, To<typename Call::Result>>(a, begin, end);
  }
};

}  // namespace tenon
TENON_EXACT_END
