// The elements at the places of maxima: a thread per element.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct MaxPool2dTaken;
}

template <>
struct Kernel<Cuda, ops::MaxPool2dTaken> : kernel::cuda::Values<Kernel<Cuda, ops::MaxPool2dTaken>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    constexpr auto c = Call::config();
    constexpr long windows = long(c.oh) * c.ow, pixels = long(c.h) * c.w;
    const long plane = i / windows, place = long(a.operand<typename Call::template Operand<0>>(0)[i]);
    return a.operand<typename Call::Result>(1)[plane * pixels + Call::Op::from(c, i - plane * windows, place)];
  }
};

}  // namespace tenon
