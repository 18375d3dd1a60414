// Copies of elements that stand at regular distances: what transpose and slice have in common.
#pragma once
#include <tenon/backend/cpu/gemm/pack.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI::kernel {

/// Where the elements of a row-major result stand in the source: result (i, j, ...) is source[start + i stride[0] +
/// ...].
struct Strided {
  int rank = 0;
  long extent[max_rank]{}, stride[max_rank]{}, start = 0;

  constexpr void add(long extent_of_axis, long stride_of_axis) {
    if (extent_of_axis == 1) return;
    if (rank && stride[rank - 1] == stride_of_axis * extent_of_axis) {  // one walk with the axis before
      extent[rank - 1] *= extent_of_axis;
      stride[rank - 1] = stride_of_axis;
    } else {
      extent[rank] = extent_of_axis;
      stride[rank++] = stride_of_axis;
    }
  }
  constexpr long count() const {
    long product = 1;
    for (int axis = 0; axis < rank; ++axis) product *= extent[axis];
    return product;
  }
  /// The axis along which source elements are neighbours, if that is not the last one; else -1.
  constexpr int neighbours() const {
    if (rank < 2 || stride[rank - 1] == 1) return -1;
    for (int axis = rank - 2; axis >= 0; --axis)
      if (stride[axis] == 1) return axis;
    return -1;
  }
};

inline constexpr long strided_tile = 16;

/// Parts in which threads share the copy: rows of the result, or blocks of 16 rows of a transposition.
constexpr long strided_items(const Strided& s) {
  if (s.rank == 0) return 1;
  if (s.count() == 0) return 0;
  const int across = s.neighbours();
  const long rows = s.count() / s.extent[s.rank - 1];
  return across < 0 ? rows : rows / s.extent[across] * ((s.extent[across] + strided_tile - 1) / strided_tile);
}

namespace detail {
template <class T>
inline void copy_line(const T* source, long stride, T* result, long count) {
  if (stride == 1) __builtin_memcpy(result, source, std::size_t(count) * sizeof(T));
  else
    for (long i = 0; i < count; ++i) result[i] = source[i * stride];
}
// A transposition of up to 16 rows: whole cache lines on both sides, elements of 4 and 8 bytes in vectors.
template <class T>
inline void copy_tiles(const T* source, long stride, T* result, long result_stride, long rows, long columns) {
  for (long first = 0; first < columns; first += strided_tile) {
    const long count = columns - first < strided_tile ? columns - first : strided_tile;
    if constexpr (sizeof(T) >= 4)
      transpose_copy(source + first * stride, stride, result + first, result_stride, count, rows, count);
    else
      for (long row = 0; row < rows; ++row)
        for (long column = first; column < first + count; ++column)
          result[row * result_stride + column] = source[row + column * stride];
  }
}
}  // namespace detail

/// Copies the parts [begin, end) of strided_items(s).
template <class T>
void strided_copy(const Strided& s, const T* source, T* result, long begin, long end) {
  if (s.rank == 0) {
    if (begin < end) result[0] = source[s.start];
    return;
  }
  const int last = s.rank - 1, across = s.neighbours();
  const long columns = s.extent[last];
  const long blocks = across < 0 ? 1 : (s.extent[across] + strided_tile - 1) / strided_tile;
  for (long item = begin; item < end; ++item) {
    const long first = item % blocks * strided_tile;  // row of the block, along the axis `across`
    long index = item / blocks, from = s.start, to = 0, pitch = columns, across_pitch = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      if (axis == across) {
        across_pitch = pitch;
      } else {
        from += index % s.extent[axis] * s.stride[axis];
        to += index % s.extent[axis] * pitch;
        index /= s.extent[axis];
      }
      pitch *= s.extent[axis];
    }
    if (across < 0) {
      detail::copy_line(source + from, s.stride[last], result + to, columns);
    } else {
      const long rows = s.extent[across] - first < strided_tile ? s.extent[across] - first : strided_tile;
      detail::copy_tiles(source + from + first, s.stride[last], result + to + first * across_pitch, across_pitch, rows,
                         columns);
    }
  }
}

/// Bytes move, whatever they mean: one instance of the copy per element size.
template <class T>
using Moved = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                 std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Base of the kernel of Op if it moves each element of the result from operand 0: its copy<Call>(n) says from where.
template <class Op>
struct CopiesStrided {
  template <class Call>
  static constexpr long items(long n) {
    return strided_items(Kernel<Cpu, Op>::template copy<Call>(n));
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = Moved<typename Call::Result>;
    strided_copy(Kernel<Cpu, Op>::template copy<Call>(a.n), a.operand<T>(0), a.result<T>(), begin, end);
  }
};

}  // namespace tenon::kernel
