// Clipping of gradients: sums of squares, and numbers of an update that are scaled by the norm.
#pragma once
#include <cmath>

#include <tenon/backend/reference/index.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfSquares;
struct AddSquares;
struct ClipNumbers;
}  // namespace ops

namespace kernel::reference {
template <class T>
double squares_added_up(const T* x, long count) {
  double sum = 0;
  for (long i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::SumOfSquares> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.result<double>() = kernel::reference::squares_added_up(a.operand<typename Call::template Operand<0>>(0),
                                                              Call::operand(0).count(a.n));
  }
};
template <>
struct Kernel<Reference, ops::AddSquares> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    *a.changed<double>(0) += kernel::reference::squares_added_up(a.operand<typename Call::template Operand<1>>(1),
                                                                 Call::operand(1).count(a.n));
  }
};
template <>
struct Kernel<Reference, ops::ClipNumbers> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    const double scale = static_cast<double>(a.operand<float>(0)[2]), norm = std::sqrt(*a.operand<double>(1)) * scale,
                 most = static_cast<double>(*a.operand<float>(2));
    for (long i = 0; i < Call::result.count(1); ++i)
      a.result<float>()[i] = i == 2 && norm > most ? static_cast<float>(scale * most / norm) : a.operand<float>(0)[i];
  }
};

}  // namespace tenon
TENON_EXACT_END
