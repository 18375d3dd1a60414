// Lines along an axis: running sums and products, elements by number. A thread for each line or element.
#pragma once
#include <tenon/backend/cpu/movement/index/cumsum.hpp>
#include <tenon/backend/cpu/movement/index/gather_elements.hpp>
#include <tenon/backend/cuda/step/neighbours.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {
namespace kernel::cuda {

/// Lines of a tensor of type `t` along an axis, on the device.
TENON_DEVICE constexpr AxisSplit lines_of(const TensorType& t, int axis, long n) {
  AxisSplit s;
  for (int k = 0; k < t.rank; ++k) (k < axis ? s.outer : k == axis ? s.count : s.inner) *= t.size(k, n);
  return s;
}

/// Base of a body with a thread for each line of the result: `Work::line<C>(a, s, line)`, where s is the result.
template <class Work, class C>
struct PerLine {
  static constexpr int threads = 128;
  static constexpr int axis = normalized_axis(C::config().axis, C::result.rank);
  TENON_DEVICE static constexpr AxisSplit split(long n) {
    constexpr TensorType y = C::result;
    constexpr int along = axis;
    return lines_of(y, along, n);
  }
  static long blocks(long n) { return blocks_for(split(n).outer * split(n).inner, threads); }
  __device__ static void block(const Arguments& a) {
    const AxisSplit s = split(a.n);
    const long line = thread_of_grid();
    if (line < s.outer * s.inner) Work::template line<C>(a, s, line);
  }
};
template <class Work>
struct OnLines : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<PerLine<Work, Call>>(a);
  }
};
/// The first element of a line.
TENON_DEVICE constexpr long first_of_line(const AxisSplit& s, long line) {
  return line / s.inner * s.count * s.inner + line % s.inner;
}

template <class Op>
struct RunningLines {
  template <class C>
  __device__ static void line(const Arguments& a, const AxisSplit& s, long number) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    const long first = first_of_line(s, number) + (c.reverse ? (s.count - 1) * s.inner : 0);
    run_lines<1>(a.operand<T>(0) + first, a.result<T>() + first,
                 RunningLine{s.count, c.reverse ? -s.inner : s.inner, c.exclusive != 0}, 1, Op());
  }
};
struct ProductGradient {
  template <class C>
  __device__ static void line(const Arguments& a, const AxisSplit& s, long number) {
    using T = typename C::Result;
    constexpr auto c = C::config();
    const long first = first_of_line(s, number) + (c.reverse ? (s.count - 1) * s.inner : 0);
    product_gradient(a.operand<T>(0) + first, a.operand<T>(1) + first, a.result<T>() + first,
                     reinterpret_cast<Accumulator<T>*>(a.workspace) + first,
                     RunningLine{s.count, c.reverse ? -s.inner : s.inner, c.exclusive != 0});
  }
};
struct SumByNumber {
  template <class C>
  __device__ static void line(const Arguments& a, const AxisSplit& s, long number) {
    using T = typename C::Result;
    using A = ScatterSum<T>;
    constexpr long count = ScatterLines::template count<C>;
    constexpr bool in_place = std::is_same_v<A, T>;
    const long first = first_of_line(s, number), given = number / s.inner * count * s.inner + number % s.inner;
    A* total;
    if constexpr (in_place) total = a.result<T>() + first;
    else total = reinterpret_cast<A*>(a.workspace) + first;
    add_by_number(a.operand<typename C::template Operand<0>>(0) + given, a.operand<T>(1) + given, count, s.inner, 1,
                  s.count, total);
    if constexpr (!in_place) {
      for (long i = 0; i < s.count; ++i) a.result<T>()[first + i * s.inner] = rounded_sum<T>(total[i * s.inner]);
    }
  }
};
struct ScatterKernel : OnLines<SumByNumber> {
  template <class Call>
  static constexpr long workspace(long n) {
    return ScatterLines::template in_place<Call> ? 0 : Call::result.count(n) * long(sizeof(double));
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::CumSum> : kernel::cuda::OnLines<kernel::cuda::RunningLines<kernel::RunningSum>> {};
template <>
struct Kernel<Cuda, ops::CumProd> : kernel::cuda::OnLines<kernel::cuda::RunningLines<kernel::RunningProduct>> {};
template <>
struct Kernel<Cuda, ops::CumProdGrad> : kernel::cuda::OnLines<kernel::cuda::ProductGradient> {
  template <class Call>
  static constexpr long workspace(long n) {
    return Call::result.count(n) * long(sizeof(Accumulator<typename Call::Result>));
  }
};
template <>
struct Kernel<Cuda, ops::ScatterElements> : kernel::cuda::ScatterKernel {};
template <>
struct Kernel<Cuda, ops::SortGrad> : kernel::cuda::ScatterKernel {};

template <>
struct Kernel<Cuda, ops::GatherElements> : kernel::cuda::Values<Kernel<Cuda, ops::GatherElements>> {
  template <class Call>
  __device__ static auto value(const Arguments& a, long i) {
    constexpr TensorType x = Call::operand(0), y = Call::result;
    constexpr int axis = normalized_axis(Call::config().axis, x.rank);
    constexpr long inner = x.span(axis + 1, x.rank), extent = x[axis], count = y[axis];
    const long row = kernel::table_row(a.operand<typename Call::template Operand<1>>(1)[i], extent);
    using T = typename Call::Result;
    return row < 0 ? T{} : a.operand<T>(0)[(i / (count * inner) * extent + row) * inner + i % inner];
  }
};

}  // namespace tenon
TENON_EXACT_END
