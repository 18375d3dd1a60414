// A part of a tensor cut out, slice, and its derivative, the part put into zeros.
#pragma once
#include <tenon/backend/cpu/movement/window.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Slice;
struct SliceGrad;
}  // namespace ops

namespace kernel {
/// The window as the loops want it, from the one that operators are set with, ops::SliceWindow, and the types of the
/// whole and of the part.
template <class SliceWindow>
constexpr Window window_sizes(const SliceWindow& c, const TensorType& whole, const TensorType& part, long n) {
  static_assert(SliceWindow::axes == window_axes);
  Window w;
  for (int axis = 0; axis < whole.rank; ++axis) {
    const int k = axis - c.axis(0);
    if (k < 0) w.outer *= whole.size(axis, n);
    else if (k >= window_axes) w.inner *= whole.size(axis, n);
    else {
      w.whole[k] = whole.size(axis, n);
      w.part[k] = part.size(axis, n);
      w.first[k] = c.first[k] < 0 ? -c.first[k] * n : c.first[k];
      w.step[k] = c.step[k];
    }
  }
  return w;
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Slice> : kernel::CopiesStrided<ops::Slice> {
  template <class Call>
  static constexpr kernel::Strided copy(long n) {
    return kernel::window_sizes(Call::config(), Call::operand(0), Call::result, n).cut();
  }
};

template <>
struct Kernel<Cpu, ops::SliceGrad> {
  template <class Call>
  static constexpr kernel::Window window(long n) {
    return kernel::window_sizes(Call::config(), Call::result, Call::operand(0), n);
  }
  template <class Call>
  static constexpr long items(long n) {
    return window<Call>(n).rows();
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = kernel::Moved<typename Call::Result>;
    kernel::window_put(window<Call>(a.n), a.operand<T>(0), a.result<T>(), T(0), begin, end);
  }
};

}  // namespace tenon
