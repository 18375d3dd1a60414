// Rows and elements by number: other ones in their place. Places are sorted by row, as for the gradient of gather.
#pragma once
#include <tenon/backend/cpu/movement/index/scatter_rows.hpp>
#include <tenon/backend/cuda/movement/gather_grad.hpp>
#include <tenon/backend/cuda/movement/lines.hpp>

namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// The rows before any has changed.
struct OwnRows {
  template <class C>
  __device__ static auto value(const Arguments& a, long i) {
    return a.operand<typename C::Result>(2)[i];
  }
};
/// A thread for each sorted place and column: the first place of a row takes all that is given for it.
template <class C>
struct ChangeRows {
  using Sums = SumsByRow<C>;
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(Sums::places(n) * Sums::length, threads); }
  __device__ static void block(const Arguments& a) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    const long i = thread_of_grid(), at = i / Sums::length, column = i % Sums::length, places = Sums::places(a.n);
    if (at >= places) return;
    const RowPlace* const keys = Sums::sorted(a);
    const long row = row_of(keys[at]);
    if (row >= Sums::rows || (at > 0 && row_of(keys[at - 1]) == row)) return;
    T own = a.operand<T>(2)[row * Sums::length + column];
    for (long k = at; k < places && row_of(keys[k]) == row; ++k)
      own = updated<int(c.update)>(own, a.operand<T>(1)[place_of(keys[k]) * Sums::length + column]);
    a.result<T>()[row * Sums::length + column] = own;
  }
};
struct ChangeElements {
  template <class C>
  __device__ static void line(const Arguments& a, const AxisSplit& s, long number) {
    using T = typename C::Result;
    constexpr TensorType numbers = C::operand(0);
    constexpr auto c = C::config();
    constexpr int axis = normalized_axis(c.axis, numbers.rank);
    constexpr long count = numbers.span(axis, axis + 1);
    const long first = first_of_line(s, number), given = number / s.inner * count * s.inner + number % s.inner;
    for (long i = 0; i < s.count; ++i) a.result<T>()[first + i * s.inner] = a.operand<T>(2)[first + i * s.inner];
    for (long j = 0; j < count; ++j) {
      const long from = given + j * s.inner,
                 row = table_row(a.operand<typename C::template Operand<0>>(0)[from], s.count);
      if (row < 0) continue;
      T& own = a.result<T>()[first + row * s.inner];
      own = updated<c.update>(own, a.operand<T>(1)[from]);
    }
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::UnsortedSegmentSum> : Kernel<Cuda, ops::GatherGrad> {};
template <>
struct Kernel<Cuda, ops::UpdateElements> : kernel::cuda::OnLines<kernel::cuda::ChangeElements> {};

template <>
struct Kernel<Cuda, ops::FlatNumber> : kernel::cuda::Values<Kernel<Cuda, ops::FlatNumber>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    using I = typename Call::Result;
    constexpr auto c = Call::config();
    const I number = a.operand<I>(Call::operands - 1)[i], own = number < 0 ? number + I(c.extent) : number;
    if constexpr (Call::operands == 1) return own;
    else return I(a.operand<I>(0)[i] * I(c.extent) + own);
  }
};

template <>
struct Kernel<Cuda, ops::UpdateRows> : kernel::cuda::Whole {
  template <class Call>
  static constexpr long workspace(long n) {
    return kernel::cuda::SumsByRow<Call>::bytes(n);
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using namespace kernel::cuda;
    Arguments pass = a;
    launch_blocks<PerValue<OwnRows, Call>>(a);
    pass.immediate = sort_places<Call>(a);
    launch_blocks<ChangeRows<Call>>(pass);
  }
};

}  // namespace tenon
