// Elements that move: parts of tensors, tensors one after another, other orders of the axes, parts put into a whole.
#pragma once
#include <numeric>

#include <tenon/backend/cpu/movement/strided.hpp>
#include <tenon/backend/cuda/index.hpp>
#include <tenon/backend/cuda/movement/fill.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Concat;
struct Pad;
struct Slice;
struct SliceGrad;
struct Split;
struct Transpose;
}  // namespace ops

namespace kernel::cuda {

/// A body in which each element of the result is a copy. `Copy::source<C>(a, i)` is where element i comes from, or
/// null: then it is `Copy::filler<C>(a)`, or 0. `Copy::piece<C>()` elements of the result are neighbours there, too,
/// from each multiple of that on.
template <class Copy, class C>
struct CopyElements {
  using T = Moved<typename C::Result>;
  static constexpr int threads = 256, together = together_of<T>;
  static constexpr int unit = int(std::gcd(Copy::template piece<C>(), long(together)));

  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = result_count<C>(a.n) - first;
    if (left <= 0) return;
    T value = 0;
    if constexpr (requires { Copy::template filler<C>(a); }) value = Copy::template filler<C>(a);
    Neighbours<T, together> own;
#pragma unroll
    for (int i = 0; i < together; i += unit) {
      const void* const from = i < left ? Copy::template source<C>(a, first + i) : nullptr;
      Neighbours<T, unit> part;
      if (from) part = load_neighbours<unit>(static_cast<const T*>(from), 0, unit);
      else {
#pragma unroll
        for (int k = 0; k < unit; ++k) part.element[k] = value;
      }
#pragma unroll
      for (int k = 0; k < unit; ++k) own.element[i + k] = part.element[k];
    }
    store_neighbours(own, a.template result<T>(), first, left);
  }
};
/// Base of a kernel with such a body.
template <class Op>
struct Copies : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    launch_blocks<CopyElements<Kernel<Cuda, Op>, Call>>(a);
  }
};

/// Base of a kernel whose `from<Call>()`, Affine or Put, says where elements of operand 0 go.
template <class Op>
struct Places : Copies<Op> {
  template <class Call>
  static constexpr long piece() {
    return Kernel<Cuda, Op>::template from<Call>().run();
  }
  template <class Call>
  __device__ static const void* source(const Arguments& a, long i) {
    constexpr auto from = Kernel<Cuda, Op>::template from<Call>();
    const long at = from.offset(i, a.n);
    return at < 0 ? nullptr : a.operand<typename Call::Result>(0) + at;
  }
};

/// The part of a whole that the operator's window `c` covers.
template <class SliceWindow>
constexpr Affine cut(const SliceWindow& c, const TensorType& whole, const TensorType& part) {
  Affine walk;
  for (int axis = 0; axis < whole.rank; ++axis) {
    const int k = axis - c.axis(0);
    const bool inside = k >= 0 && k < SliceWindow::axes;
    const long stride = whole.span(axis + 1, whole.rank), first = inside ? c.first[k] : 0;
    walk.add(part.extent[axis], stride * (inside ? c.step[k] : 1));
    if (first < 0) walk.start_per_sample -= first * stride;
    else walk.start += first * stride;
  }
  return walk;
}

/// Where elements of a whole come from into which a part is put: along each axis element first + j step is element j
/// of the part.
struct Put {
  int rank = 0;
  long whole[max_rank]{}, part[max_rank]{}, first[max_rank]{}, step[max_rank]{}, stride[max_rank]{};

  constexpr long run() const {
    const int k = rank - 1;
    if (rank == 0 || step[k] != 1) return 1;
    return std::gcd(std::gcd(whole[k], part[k]), first[k]);
  }
  /// -1: it is not in the part.
  TENON_DEVICE constexpr long offset(long i, long n) const {
    long at = 0;
    bool inside = true;
#pragma unroll
    for (int axis = max_rank - 1; axis >= 0; --axis)
      if (axis < rank) {
        const long distance = (axis ? i % whole[axis] : i) - (first[axis] < 0 ? -first[axis] * n : first[axis]);
        const long j = distance / step[axis], count = part[axis] < 0 ? -part[axis] * n : part[axis];
        inside &= j * step[axis] == distance && j >= 0 && j < count;
        at += j * stride[axis];
        if (axis) i /= whole[axis];
      }
    return inside ? at : -1;
  }
};
/// Axes outside of the window join their neighbours.
template <class SliceWindow>
constexpr Put put(const SliceWindow& c, const TensorType& whole, const TensorType& part) {
  Put place;
  for (int axis = 0; axis < whole.rank; ++axis) {
    const int k = axis - c.axis(0), last = place.rank - 1;
    const bool inside = k >= 0 && k < SliceWindow::axes && (whole.extent[axis] != part.extent[axis] || c.step[k] != 1);
    const long extent = whole.extent[axis];
    if (!inside && extent == 1) continue;
    if (last >= 0 && !inside && extent > 0 && place.step[last] == 1) {  // moves along with the axis before
      place.whole[last] *= extent, place.part[last] *= extent, place.first[last] *= extent;
      continue;
    }
    place.whole[place.rank] = extent, place.part[place.rank] = part.extent[axis];
    place.first[place.rank] = inside ? c.first[k] : 0;
    place.step[place.rank++] = inside ? c.step[k] : 1;
  }
  long stride = 1;
  for (int axis = place.rank - 1; axis >= 0; stride *= place.part[axis--]) place.stride[axis] = stride;
  return place;
}

template <class C>
constexpr Affine transposition() {
  constexpr TensorType x = C::operand(0);
  int order[max_rank]{};
  C::Op::positive(C::config(), x.rank, order);
  Affine from;
  for (int k = 0; k < x.rank; ++k) from.add(x.extent[order[k]], x.span(order[k] + 1, x.rank));
  return from;
}
/// The axis of the result along which the source has neighbours, where transposing it with the last one pays; else -1.
constexpr int axis_across(const Affine& from) {
  if (from.rank < 2 || from.stride[from.rank - 1] == 1 || from.extent[from.rank - 1] < 8) return -1;
  for (int axis = from.rank - 2; axis >= 0; --axis)
    if (from.stride[axis] == 1 && from.extent[axis] >= 8) return axis;
  return -1;
}
/// Transposes the two axes in squares: whole lines of memory on both sides.
template <class C>
struct TransposeSquares {
  using T = Moved<typename C::Result>;
  static constexpr int threads = 256, side = 32, step = threads / side;
  static constexpr Affine from = transposition<C>();
  static constexpr int across = axis_across(from), last = from.rank - 1;
  static constexpr long rows = from.extent[across], columns = from.extent[last], row_squares = blocks_for(rows, side),
                        column_squares = blocks_for(columns, side), stride = from.stride[last];

  static long blocks(long n) {
    return rows * columns > 0 ? result_count<C>(n) / (rows * columns) * row_squares * column_squares : 0;
  }
  __device__ static void block(const Arguments& a) {
    constexpr Affine walk = from;
    const long square = blockIdx.x;
    const long first_column = square % column_squares * side, first_row = square / column_squares % row_squares * side;
    long index = square / column_squares / row_squares, source = walk.start, result = 0, pitch = 1, row_pitch = 0;
#pragma unroll
    for (int axis = max_rank - 1; axis >= 0; --axis) {
      if (axis > last) continue;
      if (axis == across) row_pitch = pitch;
      else if (axis < last) {
        const long here = axis ? index % walk.extent[axis] : index;
        source += here * walk.stride[axis], result += here * pitch;
        if (axis) index /= walk.extent[axis];
      }
      pitch *= walk.extent[axis];
    }
    __shared__ T element[side][side + 1];
    const int lane = int(threadIdx.x) % side, line = int(threadIdx.x) / side;
    const T* const x = a.operand<T>(0) + source + first_row + first_column * stride;
#pragma unroll
    for (int c = line; c < side; c += step)
      if (first_row + lane < rows && first_column + c < columns) element[c][lane] = x[lane + c * stride];
    __syncthreads();
    T* const y = a.result<T>() + result + first_row * row_pitch + first_column;
#pragma unroll
    for (int r = line; r < side; r += step)
      if (first_row + r < rows && first_column + lane < columns) y[r * row_pitch + lane] = element[lane][r];
  }
};

}  // namespace kernel::cuda

template <>
struct Kernel<Cuda, ops::Slice> : kernel::cuda::Places<ops::Slice> {
  template <class Call>
  static constexpr auto from() {
    return kernel::cuda::cut(Call::config(), Call::operand(0), Call::result);
  }
};
template <>
struct Kernel<Cuda, ops::Split> : kernel::cuda::Places<ops::Split> {
  template <class Call>
  static constexpr auto from() {
    return kernel::cuda::cut(Call::Op::window(Call::config(), Call::operand(0)), Call::operand(0), Call::result);
  }
};
template <>
struct Kernel<Cuda, ops::SliceGrad> : kernel::cuda::Places<ops::SliceGrad> {
  template <class Call>
  static constexpr auto from() {
    return kernel::cuda::put(Call::config(), Call::result, Call::operand(0));
  }
};
template <>
struct Kernel<Cuda, ops::Pad> : kernel::cuda::Places<ops::Pad> {
  template <class Call>
  static constexpr auto from() {
    return kernel::cuda::put(Call::Op::window(Call::config(), Call::operand(0)), Call::result, Call::operand(0));
  }
  template <class Call>
  __device__ static auto filler(const Arguments& a) {
    return kernel::cuda::immediate_value<kernel::Moved<typename Call::Result>>(a);
  }
};

template <>
struct Kernel<Cuda, ops::Transpose> : kernel::cuda::Places<ops::Transpose> {
  template <class Call>
  static constexpr auto from() {
    return kernel::cuda::transposition<Call>();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    if constexpr (kernel::cuda::axis_across(from<Call>()) >= 0)
      kernel::cuda::launch_blocks<kernel::cuda::TransposeSquares<Call>>(a);
    else kernel::cuda::Places<ops::Transpose>::template run<Call>(a, begin, end);
  }
};

template <>
struct Kernel<Cuda, ops::Concat> : kernel::cuda::Copies<ops::Concat> {
  // Elements of an operand after one index of the axes before the joined one; of a batch of one if those are the batch.
  template <class Call>
  static constexpr long length(const TensorType& operand) {
    return operand.span(normalized_axis(Call::config().axis, operand.rank), operand.rank);
  }
  template <class Call>
  static constexpr long piece() {
    long common = 0;
    for (int k = 0; k < Call::operands; ++k) common = std::gcd(common, length<Call>(Call::operand(k)));
    return common;
  }
  template <class Call>
  __device__ static const void* source(const Arguments& a, long i) {
    using T = typename Call::Result;
    constexpr TensorType y = Call::result;
    constexpr long axis = normalized_axis(Call::config().axis, y.rank), total = length<Call>(y);
    const long samples = axis == 0 && y.batched() ? a.n : 1;
    const long row = axis == 0 ? 0 : i / total;
    long left = i - row * total;
    const T* from = nullptr;
    const auto look = [&]<int K>(std::integral_constant<int, K>) {
      constexpr long own = length<Call>(Call::operand(K));
      if (!from && left < own * samples) from = a.template operand<T>(K) + row * own + left;
      left -= own * samples;
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (look(std::integral_constant<int, K>()), ...);
    }(std::make_integer_sequence<int, Call::operands>());
    return from;
  }
};

}  // namespace tenon
