// The update of a matrix whose gradient is a product: the product's rows go to the update as they come.
#pragma once
#include <tenon/kernel/cpu/gemm.hpp>
#include <tenon/kernel/cpu/update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// An update of elements: its two forms, its numbers, and what it changes, first the parameter.
template <class T>
struct MatrixUpdate {
  static constexpr int most = 4;
  void (*at)(const float* number, long count, GradientAt<T> gradient, T* const* changed);
  void (*times)(const float* number, long count, GradientTimes<T> gradient, T* const* changed);
  const float* number;
  T* changed[most];
  int arrays;

  template <class Gradient>
  void operator()(long first, long count, Gradient gradient) const {
    T* own[most];
    for (int k = 0; k < arrays; ++k) own[k] = changed[k] + first;
    if constexpr (std::is_same_v<Gradient, GradientAt<T>>) at(number, count, gradient, own);
    else times(number, count, gradient, own);
  }
};

/// Updates a matrix [g.m, g.n] with the product g, for the parts [begin, end) of gemm_rows_items(g). With one step, a row of the
/// product is the row of b times a number and is not stored at all; b has no gaps.
template <class T>
[[gnu::noinline]] void update_by_product(const Gemm<T>& g, long begin, long end, void* workspace, const MatrixUpdate<T>& update) {
  if (g.k == 1) {
    const long parts = gemm_rows_items(g);
    for (long row = g.m * begin / parts; row < g.m * end / parts; ++row) update(row * g.n, g.n, GradientTimes<T>{g.a[row * g.a_row], g.b});
    return;
  }
  gemm_rows(g, begin, end, workspace, [&](long row, long rows, long column, long columns, const T* elements, long pitch) {
    for (long r = 0; r < rows; ++r) update((row + r) * g.n + column, columns, GradientAt<T>{elements + r * pitch});
  });
}

}  // namespace tenon::kernel
TENON_EXACT_END
