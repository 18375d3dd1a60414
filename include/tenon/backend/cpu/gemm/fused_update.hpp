// A matrix product fused with an optimizer's update: the gradient's rows go to the update as they come.
#pragma once
#include <tenon/backend/cpu/gemm/gemm.hpp>
#include <tenon/backend/cpu/optimizer/update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// An update of elements: the function, its numbers, and what it changes, first the parameter.
template <class T>
struct MatrixUpdate {
  static constexpr int most = 4;
  void (*apply)(const float* number, long count, const T* gradient, T* const* changed);
  const float* number;
  T* changed[most];
  int arrays;

  void operator()(long first, long count, const T* gradient) const {
    T* own[most];
    for (int k = 0; k < arrays; ++k) own[k] = changed[k] + first;
    apply(number, count, gradient, own);
  }
};

/// Updates a matrix [g.m, g.n] with the product g, for the parts [begin, end) of gemm_rows_items(g). With one step, a
/// row of the product is the row of b times a number, made a piece at a time; b has no gaps.
template <class T>
[[gnu::noinline]] void update_by_product(const Gemm<T>& g, long begin, long end, void* workspace,
                                         const MatrixUpdate<T>& update);

#if TENON_DEFINES
namespace detail {
template <class T>
inline void multiply_row(T factor, const T* row, long count, T* product) {
  using V = Simd<T>;
  long i = 0;
  for (; i + V::width <= count; i += V::width) fmadd(V(factor), V::load(row + i), V(T(0))).store(product + i);
  for (; i < count; ++i) product[i] = fmadd(factor, row[i], T(0));
}
}  // namespace detail

template <class T>
void update_by_product(const Gemm<T>& g, long begin, long end, void* workspace, const MatrixUpdate<T>& update) {
  if (g.k == 1) {
    constexpr long piece = 512;
    const long parts = gemm_rows_items(g);
    for (long row = g.m * begin / parts; row < g.m * end / parts; ++row)
      for (long first = 0; first < g.n; first += piece) {
        const long count = detail::at_most(piece, g.n - first);
        T gradient[piece];
        detail::multiply_row(g.a[row * g.a_row], g.b + first, count, gradient);
        update(row * g.n + first, count, gradient);
      }
    return;
  }
  gemm_rows(g, begin, end, workspace,
            [&](long row, long rows, long column, long columns, const T* elements, long pitch) {
              for (long r = 0; r < rows; ++r) update((row + r) * g.n + column, columns, elements + r * pitch);
            });
}
#endif  // TENON_DEFINES

}  // namespace tenon::kernel
TENON_EXACT_END
