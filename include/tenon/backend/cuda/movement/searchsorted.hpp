// Places among sorted numbers: a thread for each value.
#pragma once
#include <tenon/backend/cpu/movement/index/searchsorted.hpp>
#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI {

namespace kernel::cuda {
struct FindPlace {
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    a.result<std::int32_t>()[i] = place_of_value<C>(a, i);
  }
};
}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::SearchSorted> : kernel::cuda::Elements<kernel::cuda::FindPlace> {};

}  // namespace tenon
