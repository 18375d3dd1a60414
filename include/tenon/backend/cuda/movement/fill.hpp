// Tensors whose elements follow from their index: numbers, tables, one-hot vectors; one side of a diagonal.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Arange;
template <class Values>
struct ConstantTable;
struct FullLike;
struct OneHot;
struct Triangle;
}  // namespace ops

namespace kernel::cuda {
/// The number that a call has been given in its immediate.
template <class T>
TENON_DEVICE T immediate_value(const Arguments& a) {
  T value;
  memcpy(static_cast<void*>(&value), &a.immediate, sizeof(T));
  return value;
}
template <class T, long count>
struct Table {
  T element[count];
};
template <class T, long count>
constexpr Table<T, count> table_of(const T* values) {
  Table<T, count> table{};
  for (long i = 0; i < count; ++i) table.element[i] = values[i];
  return table;
}
}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::FullLike> : kernel::cuda::Values<Kernel<Cuda, ops::FullLike>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long) {
    return kernel::cuda::immediate_value<typename Call::Result>(a);
  }
};

template <>
struct Kernel<Cuda, ops::Arange> : kernel::cuda::Values<Kernel<Cuda, ops::Arange>> {
  template <class Call>
  __device__ static auto value(const Arguments&, long i) {
    constexpr auto c = Call::config();
    return static_cast<typename Call::Result>(c.start + i * c.step);
  }
};

template <class Values>
struct Kernel<Cuda, ops::ConstantTable<Values>> : kernel::cuda::Values<Kernel<Cuda, ops::ConstantTable<Values>>> {
  template <class Call>
  __device__ static auto value(const Arguments&, long i) {
    using T = typename Call::Result;
    constexpr long count = kernel::cuda::result_count<Call>(1);
    static constexpr auto table = kernel::cuda::table_of<T, count>(&Values::values[0]);  // in the device's memory
    return table.element[i];
  }
};

template <>
struct Kernel<Cuda, ops::OneHot> : kernel::cuda::Values<Kernel<Cuda, ops::OneHot>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    constexpr auto c = Call::config();
    const long number = long(a.operand<typename Call::template Operand<0>>(0)[i / c.depth]);
    return static_cast<typename Call::Result>(number == i % c.depth ? c.on : c.off);
  }
};

template <>
struct Kernel<Cuda, ops::Triangle> : kernel::cuda::Values<Kernel<Cuda, ops::Triangle>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using T = typename Call::Result;
    constexpr auto c = Call::config();
    constexpr TensorType y = Call::result;
    const long column = i % y.last(), border = i / y.last() % y.size(y.rank - 2, a.n) + c.diagonal;
    return (c.upper ? column >= border : column <= border) ? a.operand<T>(0)[i] : static_cast<T>(c.value);
  }
};

}  // namespace tenon
