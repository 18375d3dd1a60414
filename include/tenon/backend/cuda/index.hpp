// Where the elements of a result come from, by their index.
#pragma once
#include <numeric>

#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Where elements of a row-major result come from: element (i, j, ...) is element start + i stride[0] + ... of the
/// source, plus start_per_sample for each sample. An extent of -k is k n, and may be the first one.
struct Affine {
  int rank = 0;
  long extent[max_rank]{}, stride[max_rank]{}, start = 0, start_per_sample = 0;

  constexpr void add(long extent_of_axis, long stride_of_axis) {
    if (extent_of_axis == 1) return;
    if (rank && extent_of_axis > 0 && stride[rank - 1] == stride_of_axis * extent_of_axis) {
      extent[rank - 1] *= extent_of_axis;  // one walk with the axis before
      stride[rank - 1] = stride_of_axis;
    } else {
      extent[rank] = extent_of_axis;
      stride[rank++] = stride_of_axis;
    }
  }
  /// Neighbours of the result are neighbours in the source, this many at a time.
  constexpr long run() const {
    if (rank == 0 || stride[rank - 1] != 1) return 1;
    long common = std::gcd(std::gcd(extent[rank - 1], start), start_per_sample);
    for (int axis = 0; axis < rank - 1; ++axis) common = std::gcd(common, stride[axis]);
    return common;
  }
  /// Neighbours of the result are one element of the source, this many at a time.
  constexpr long repeats() const { return rank && stride[rank - 1] == 0 ? extent[rank - 1] : 1; }
  TENON_DEVICE constexpr long offset(long i, long n) const {
    long at = start + start_per_sample * n;
#pragma unroll
    for (int axis = max_rank - 1; axis >= 0; --axis)
      if (axis < rank) {
        at += (axis ? i % extent[axis] : i) * stride[axis];
        if (axis) i /= extent[axis];
      }
    return at;
  }
};

/// Elements of an operand of type `t` for a result of type `out`: axes line up at the end, and along an axis of extent
/// 1 it is the same for all.
constexpr Affine broadcast_from(const TensorType& out, const TensorType& t) {
  Affine from;
  for (int axis = 0; axis < out.rank; ++axis) {
    const int own = axis - (out.rank - t.rank);
    from.add(out.extent[axis], own >= 0 && t.extent[own] != 1 ? t.span(own + 1, t.rank) : 0);
  }
  return from;
}

}  // namespace tenon::kernel::cuda
