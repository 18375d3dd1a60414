// Gather, rows of a table by number.
#pragma once
#include <tenon/backend/cpu/movement/index/gather.hpp>
#include <tenon/backend/cuda/movement/copy.hpp>

namespace tenon::inline TENON_ABI {

template <>
struct Kernel<Cuda, ops::Gather> : kernel::cuda::Copies<ops::Gather> {
  template <class Call>
  static constexpr long piece() {
    return Call::operand(0).span(1, Call::operand(0).rank);
  }
  template <class Call>
  __device__ static const void* source(const Arguments& a, long i) {
    constexpr TensorType table = Call::operand(0);
    constexpr long length = table.span(1, table.rank);
    const auto* const number = a.operand<typename Call::template Operand<1>>(1);
    const long row = kernel::table_row(number[i / length], table[0]);
    return row < 0 ? nullptr : a.operand<typename Call::Result>(0) + row * length + i % length;
  }
};

}  // namespace tenon
