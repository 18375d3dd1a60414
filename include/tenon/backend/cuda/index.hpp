// Elements by their index, one number per axis: for kernels in which a thread computes one element.
#pragma once
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Offset in an operand of type `t` for element `i` of a result of type `out`: axes line up at the end, and along an
/// axis of extent 1 it is the same for all.
TENON_DEVICE constexpr long broadcast_offset(const TensorType& out, const TensorType& t, long i) {
  long offset = 0, stride = 1;
  for (int axis = t.rank - 1; axis >= 0; --axis) {
    const int at = axis + out.rank - t.rank;
    // the leading axis may depend on n
    const long extent = out.extent[at] < 0 ? 0 : out.extent[at], here = extent ? i % extent : i;
    if (extent) i /= extent;
    if (t.extent[axis] != 1) offset += here * stride;
    stride *= t.extent[axis] < 0 ? 1 : t.extent[axis];
  }
  return offset;
}

}  // namespace tenon::kernel::cuda
