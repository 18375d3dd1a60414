// One element of each row by its class number, and the gradient.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ClassValue;
struct ClassValueGrad;
}  // namespace ops

template <>
struct Kernel<Cuda, ops::ClassValue> : kernel::cuda::Values<Kernel<Cuda, ops::ClassValue>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long row) {
    using T = typename Call::Result;
    constexpr TensorType x = Call::operand(0);
    constexpr long classes = x.last();
    const long label = long(a.operand<typename Call::template Operand<1>>(1)[row]);
    return label < 0 || label >= classes ? T{} : a.operand<T>(0)[row * classes + label];
  }
};

template <>
struct Kernel<Cuda, ops::ClassValueGrad> : kernel::cuda::Values<Kernel<Cuda, ops::ClassValueGrad>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    const long label = long(a.operand<typename Call::template Operand<0>>(0)[i / c.classes]);
    return label == i % c.classes ? a.operand<T>(1)[i / c.classes] : T{};
  }
};

}  // namespace tenon
