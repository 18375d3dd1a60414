// ReverseSequence: each element from its step.
#pragma once
#include <cstdint>

#include <tenon/backend/cuda/step/neighbours.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ReverseSequence;
}

template <>
struct Kernel<Cuda, ops::ReverseSequence> : kernel::cuda::Values<Kernel<Cuda, ops::ReverseSequence>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    constexpr TensorType y = Call::result;
    constexpr long steps = y[1], size = y.span(2, y.rank);
    const long row = i / size, sample = row / steps,
               from = Call::Op::from(row - sample * steps, a.operand<std::int32_t>(1)[sample], steps);
    return a.operand<typename Call::Result>(0)[(sample * steps + from) * size + (i - row * size)];
  }
};

}  // namespace tenon
