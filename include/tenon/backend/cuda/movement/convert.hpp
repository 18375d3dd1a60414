// Elements in another dtype, and repeated along axes: loops of element-wise operators around other functions.
#pragma once
#include <tenon/backend/cuda/elementwise.hpp>
#include <tenon/core/math/convert.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct BroadcastTo;
struct Cast;
}  // namespace ops

template <>
struct Kernel<Cuda, ops::Cast> : kernel::cuda::ElementwiseLaunch {
  template <class T, class X>
  TENON_DEVICE static T element(X x) {
    return math::convert<T>(x);
  }
};
template <>
struct Kernel<Cuda, ops::BroadcastTo> : kernel::cuda::ElementwiseLaunch {
  template <class T>
  TENON_DEVICE static T element(T x) {
    return x;
  }
};

}  // namespace tenon
TENON_EXACT_END
