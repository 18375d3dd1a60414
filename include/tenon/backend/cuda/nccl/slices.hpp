// The operators on tensors in slices on a GPU (ops/collective/slices.hpp, slice_rows.hpp, slice_classes.hpp).
#pragma once
#include <tenon/backend/cuda/movement/copy.hpp>
#include <tenon/backend/cuda/nccl/operators.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
template <FixedString group>
struct AgreeOnFlag;
template <FixedString group>
struct GatherSlices;
struct RowsOrZeros;
template <FixedString group>
struct SliceClasses;
template <FixedString group>
struct SliceRows;
template <FixedString group>
struct SumSlices;
template <FixedString group>
struct TakeSlice;
}  // namespace ops

namespace kernel::cuda {

/// Bytes of a row along the last axis.
template <class T>
constexpr std::size_t row_bytes(const TensorType& type) {
  return std::size_t(type.last()) * sizeof(T);
}
struct SumSlicesAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    NcclCall call(C::Op::ranks(), C::Op::name, called<C>(Called::all_reduce, int(dist::ReduceOp::sum), a, true));
    all_reduce_there<dist::detail::Add>(call, a.operand<T>(0), a.result<T>(), operand_count<C, 0>(a.n));
    call.wait();
  }
};
struct GatherSlicesAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    NcclCall call(C::Op::ranks(C::config().slices), C::Op::name, called<C>(Called::all_gather, 0, a));
    std::byte* const all = NcclCall::room(bytes<C>(a) * std::size_t(call.size()));
    call.gather(a.operand<T>(0), bytes<C>(a), all);
    constexpr std::size_t row = row_bytes<T>(C::operand(0)), whole = row_bytes<T>(C::result);
    auto* const y = reinterpret_cast<std::byte*>(a.result<T>());
    for (std::size_t part = 0; row > 0 && part < std::size_t(call.size()); ++part)
      copy_there_by_rows(y + part * row, whole, all + part * bytes<C>(a), row, row, bytes<C>(a) / row);
    call.wait();
  }
};
struct TakeSliceAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    const auto own = std::size_t(C::Op::ranks(C::config().slices).rank());
    constexpr std::size_t row = row_bytes<T>(C::result), whole = row_bytes<T>(C::operand(0));
    const auto* const x = reinterpret_cast<const std::byte*>(a.operand<T>(0));
    if (whole > 0)
      copy_there_by_rows(reinterpret_cast<std::byte*>(a.result<T>()), row, x + own * row, whole, row,
                         bytes<C>(a) / whole);
  }
};
/// A thread finds the place of a row in the slice.
template <class T>
struct RowsInSlice {
  static constexpr int threads = 256;
  const T* from;
  T* to;
  long count, first, rows, all;
  __device__ void block(const Arguments&) const {
    const long i = thread_of_grid();
    if (i >= count) return;
    const long own = (from[i] < 0 ? long(from[i]) + all : long(from[i])) - first;
    to[i] = T(own >= 0 && own < rows ? own : rows);
  }
};
struct SliceRowsAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    using T = typename C::Result;
    constexpr typename C::Op::Config c = C::config();
    const long count = operand_count<C, 0>(a.n), first = long(C::Op::ranks(c.slices).rank()) * c.rows;
    const RowsInSlice<T> body{a.operand<T>(0), a.result<T>(), count, first, c.rows, long(c.rows) * c.slices};
    if (count > 0) launch_blocks(body, a, blocks_for(count, body.threads));
  }
};
struct AgreeAmongRanks : AmongRanks {
  template <class C>
  static void run(const Arguments& a, long, long) {
    auto* const flag = a.changed<std::int32_t>(0);
    NcclCall call(C::Op::ranks(), C::Op::name,
                  {Called::all_reduce, int(dist::ReduceOp::max), int(Dtype::int32), 0, sizeof *flag});
    all_reduce_there<dist::detail::Larger>(call, flag, flag, 1);
    call.wait();
  }
};

}  // namespace kernel::cuda

template <FixedString group>
struct Kernel<Cuda, ops::AgreeOnFlag<group>> : kernel::cuda::AgreeAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::GatherSlices<group>> : kernel::cuda::GatherSlicesAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::SliceClasses<group>> : kernel::cuda::SliceRowsAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::SliceRows<group>> : kernel::cuda::SliceRowsAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::SumSlices<group>> : kernel::cuda::SumSlicesAmongRanks {};
template <FixedString group>
struct Kernel<Cuda, ops::TakeSlice<group>> : kernel::cuda::TakeSliceAmongRanks {};

template <>
struct Kernel<Cuda, ops::RowsOrZeros> : kernel::cuda::Copies<ops::RowsOrZeros> {
  template <class Call>
  static constexpr long piece() {
    return Call::operand(0).span(1, Call::operand(0).rank);
  }
  template <class Call>
  __device__ static const void* source(const Arguments& a, long i) {
    constexpr TensorType table = Call::operand(0);
    constexpr long length = table.span(1, table.rank);
    const auto row = long(a.operand<typename Call::template Operand<1>>(1)[i / length]);
    return row >= table[0] ? nullptr : a.operand<typename Call::Result>(0) + row * length + i % length;
  }
};

}  // namespace tenon
