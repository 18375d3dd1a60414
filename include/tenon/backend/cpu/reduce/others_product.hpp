// For each element the product of all others along some axes: the derivative of a product.
#pragma once
#include <tenon/graph/ir/kernel.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Offset of element `index` among the axes of `mask` (row-major over them), the other axes at 0.
TENON_DEVICE constexpr long masked_offset(const TensorType& t, unsigned mask, long n, long index) {
  long offset = 0, stride = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    const long extent = t.size(axis, n);
    if (mask >> axis & 1u) {
      offset += index % extent * stride;
      index /= extent;
    }
    stride *= extent;
  }
  return offset;
}

/// dx = dy · (product of the elements before) · (product of the elements after), for kept elements begin .. end - 1 of
/// the axes that `mask` does not name. `before` has room for the elements of one product. No division, so zeros are
/// fine.
template <class A, class T>
inline void others_product(const TensorType& type, unsigned mask, long n, const T* x, const T* dy, T* dx, long begin,
                           long end, A* before) {
  long count = 1;
  for (int axis = 0; axis < type.rank; ++axis)
    if (mask >> axis & 1u) count *= type.size(axis, n);
  for (long kept = begin; kept < end; ++kept) {
    const long start = masked_offset(type, ~mask, n, kept);
    A product = 1;
    for (long i = 0; i < count; ++i) {
      before[i] = product;
      product *= static_cast<A>(x[start + masked_offset(type, mask, n, i)]);
    }
    A behind = static_cast<A>(dy[kept]);
    for (long i = count; i-- > 0;) {
      const long at = start + masked_offset(type, mask, n, i);
      dx[at] = static_cast<T>(before[i] * behind);
      behind *= static_cast<A>(x[at]);
    }
  }
}

}  // namespace tenon::kernel

namespace tenon::inline TENON_ABI {

namespace ops {
struct ReduceProdGrad;
}

template <>
struct Kernel<Cpu, ops::ReduceProdGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return Call::operand(1).count(n);
  }
  template <class Call>
  static constexpr long factors(long n) {
    return Call::operand(1).count(n) ? Call::result.count(n) / Call::operand(1).count(n) : 0;
  }
  template <class Call>
  static constexpr long cost(long n) {
    return 4 * factors<Call>(n) + 1;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    return factors<Call>(n) * long(sizeof(Accumulator<typename Call::Result>));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using A = Accumulator<T>;
    kernel::others_product(Call::result, unsigned(Call::config().mask), a.n, a.operand<T>(0), a.operand<T>(1),
                           a.result<T>(), begin, end, reinterpret_cast<A*>(a.workspace));
  }
};

}  // namespace tenon
TENON_EXACT_END
