// Products of float32 matrices are computed in the object of its own; the template knows their sizes.
#pragma once
#include <tenon/backend/reference/kernels.hpp>

#include "product.hpp"

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Separate, ops::MatMul> : Kernel<Reference, ops::MatMul> {
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr TensorType x = Call::operand(0), z = Call::result;
    constexpr bool transposes = Call::Op::first(Call::config()) || Call::Op::second(Call::config());
    if constexpr (z.dtype == Dtype::float32 && z.rank == 2 && !transposes)
      separate_product(a.operand<float>(0), a.operand<float>(1), a.result<float>(), z.size(0, a.n), z.size(1, a.n),
                       x.size(1, a.n));
    else Kernel<Reference, ops::MatMul>::run<Call>(a, begin, end);
  }
};

}  // namespace tenon
