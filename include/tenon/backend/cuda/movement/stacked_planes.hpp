// The planes of volumes that a convolution meets, side by side: each element from its place.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct StackedPlanes;
}

template <>
struct Kernel<Cuda, ops::StackedPlanes> : kernel::cuda::Values<Kernel<Cuda, ops::StackedPlanes>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    constexpr TensorType x = Call::operand(0);
    constexpr auto c = Call::config();
    constexpr long pixels = long(x[3]) * x[4], own = x[1] / c.groups;
    const long channel = i / pixels % own, k = i / pixels / own % c.kernel,
               group = i / pixels / own / c.kernel % c.groups, image = i / pixels / x[1] / c.kernel,
               plane = c.plane(image % c.places, k);
    if (plane < 0 || plane >= x[2]) return T{};
    return a.operand<T>(0)[((image / c.places * x[1] + group * own + channel) * x[2] + plane) * pixels + i % pixels];
  }
};

}  // namespace tenon
