// Sum of squares of a gradient in double: the square of its norm.
#pragma once
#include <tenon/core/simd.hpp>
#include <tenon/core/simd_half.hpp>
#include <tenon/kernel/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct SumOfSquares;
}

TENON_EXACT_BEGIN
namespace kernel {
/// Sixteen sums, of the elements i, i + 16, ..., whatever the width of vectors is, then a tree over them. Squares of
/// float32 and smaller types are exact in double.
template <class T>
[[gnu::noinline]] double sum_of_squares(const T* x, long count) {
  constexpr int width = simd_width<double>, vectors = 16 / width;
  using V = Simd<double, width>;
  V sum[vectors];
  for (int v = 0; v < vectors; ++v) sum[v] = V(0.0);
  long i = 0;
  for (; i + 16 <= count; i += 16)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      double lane[width];
#pragma GCC unroll 8
      for (int l = 0; l < width; ++l) lane[l] = static_cast<double>(x[i + v * width + l]);
      const V own = V::load(lane);
      sum[v] = fmadd(own, own, sum[v]);
    }
  double total[16];
  for (int v = 0; v < vectors; ++v) sum[v].store(total + v * width);
  for (int l = 0; i < count; ++i, ++l) {
    const double own = static_cast<double>(x[i]);
    total[l] = fmadd(own, own, total[l]);
  }
  for (int step = 8; step > 0; step /= 2)
    for (int l = 0; l < step; ++l) total[l] += total[l + step];
  return total[0];
}
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::SumOfSquares> {
  template <class Call>
  static constexpr KernelWork work(long n) {
    return {1, Call::operand(0).count(n) / 4 + 1, 0};
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::template Operand<0>;
    *a.result<double>() = kernel::sum_of_squares(a.operand<T>(0), Call::operand(0).count(a.n));
  }
};
TENON_EXACT_END

}  // namespace tenon
