// ClipNumbers: the numbers of an update whose gradients are scaled down to a norm.
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ClipNumbers;
}

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::ClipNumbers> {
  template <class Call>
  static constexpr KernelWork work(long) {
    return {1, 32, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const float* const numbers = a.operand<float>(0);
    float* const to = a.result<float>();
    for (long i = 0; i < Call::result.count(1); ++i) to[i] = numbers[i];
    const double scale = static_cast<double>(numbers[2]), most = static_cast<double>(*a.operand<float>(2)),
                 norm = tenon::detail::libm::sqrt(*a.operand<double>(1)) * scale;
    if (!(norm <= most))  // a NaN makes all gradients NaN
      to[2] = static_cast<float>(scale * most / norm);
  }
};
TENON_EXACT_END

}  // namespace tenon
