// Images, kernels, and gradients at the points of Winograd's filtering, and results from the sums of products there.
#pragma once
#include <tenon/backend/cpu/winograd/plan.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::winograd {

// constexpr, because nvcc compiles such functions for the device where V is a number, and not where it is a vector.
// The image at the points.
struct OfImage {
  static constexpr int in = points, out = points;
  template <class V>
  [[gnu::always_inline]] static constexpr void line(const V* d, V* r) {
    const V even_a = fmadd(V(-b2), d[2], d[4]), odd_a = fmadd(V(-b2), d[1], d[3]), even_b = fmadd(V(-a2), d[2], d[4]),
            odd_b = fmadd(V(-a2), d[1], d[3]);
    r[0] = fmadd(V(a2 * b2), d[0], fmadd(V(-(a2 + b2)), d[2], d[4]));
    r[1] = fmadd(V(a), odd_a, even_a), r[2] = fmadd(V(-a), odd_a, even_a);
    r[3] = fmadd(V(b), odd_b, even_b), r[4] = fmadd(V(-b), odd_b, even_b);
    r[5] = fmadd(V(a2 * b2), d[1], fmadd(V(-(a2 + b2)), d[3], d[5]));
  }
};
// What it is multiplied with: a kernel, or a tile of a gradient.
struct OfKernel {
  static constexpr int in = kernel, out = points;
  template <class V>
  [[gnu::always_inline]] static constexpr void line(const V* g, V* r) {
    const V even_a = fmadd(V(a2), g[2], g[0]), even_b = fmadd(V(b2), g[2], g[0]);
    r[0] = V(float(scale_0)) * g[0];
    r[1] = V(float(scale_a)) * fmadd(V(a), g[1], even_a), r[2] = V(float(scale_a)) * fmadd(V(-a), g[1], even_a);
    r[3] = V(float(scale_b)) * fmadd(V(b), g[1], even_b), r[4] = V(float(scale_b)) * fmadd(V(-b), g[1], even_b);
    r[5] = g[2];
  }
};
struct OfGradient {
  static constexpr int in = tile, out = points;
  template <class V>
  [[gnu::always_inline]] static constexpr void line(const V* g, V* r) {
    const V even_a = fmadd(V(a2), g[2], g[0]), odd_a = fmadd(V(a2), g[3], g[1]), even_b = fmadd(V(b2), g[2], g[0]),
            odd_b = fmadd(V(b2), g[3], g[1]);
    r[0] = V(float(scale_0)) * g[0];
    r[1] = V(float(scale_a)) * fmadd(V(a), odd_a, even_a), r[2] = V(float(scale_a)) * fmadd(V(-a), odd_a, even_a);
    r[3] = V(float(scale_b)) * fmadd(V(b), odd_b, even_b), r[4] = V(float(scale_b)) * fmadd(V(-b), odd_b, even_b);
    r[5] = g[3];
  }
};
// The results from the sums of products.
struct ToTile {
  static constexpr int in = points, out = tile;
  template <class V>
  [[gnu::always_inline]] static constexpr void line(const V* m, V* r) {
    const V even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    r[0] = m[0] + even_a + even_b;
    r[1] = fmadd(V(b), odd_b, V(a) * odd_a);
    r[2] = fmadd(V(b2), even_b, V(a2) * even_a);
    r[3] = fmadd(V(b3), odd_b, fmadd(V(a3), odd_a, m[5]));
  }
};
struct ToKernel {
  static constexpr int in = points, out = kernel;
  template <class V>
  [[gnu::always_inline]] static constexpr void line(const V* m, V* r) {
    const V even_a = m[1] + m[2], odd_a = m[1] - m[2], even_b = m[3] + m[4], odd_b = m[3] - m[4];
    r[0] = m[0] + even_a + even_b;
    r[1] = fmadd(V(b), odd_b, V(a) * odd_a);
    r[2] = fmadd(V(b2), even_b, fmadd(V(a2), even_a, m[5]));
  }
};

/// Stores the vector of row i and column j at to + i * row + j * column.
struct StoreAt {
  float* to;
  long row, column;
  template <class V>
  [[gnu::always_inline]] void operator()(int i, int j, V v) const {
    v.store(to + i * row + j * column);
  }
};

/// Along columns, then along rows: put(i, j, V) for each of the Out x Out results of the In x In values load(i, j).
template <class Transform, class V, class Load, class Put>
[[gnu::always_inline]] constexpr void both_ways_of(Load&& load, Put&& put) {
  constexpr int in = Transform::in, out = Transform::out;
  V middle[out][in], result[out];
#pragma GCC unroll 8
  for (int j = 0; j < in; ++j) {
    V line[in];
#pragma GCC unroll 8
    for (int i = 0; i < in; ++i) line[i] = load(i, j);
    Transform::line(line, result);
#pragma GCC unroll 8
    for (int i = 0; i < out; ++i) middle[i][j] = result[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < out; ++i) {
    Transform::line(middle[i], result);
#pragma GCC unroll 8
    for (int j = 0; j < out; ++j) put(i, j, result[j]);
  }
}
/// The same of the vectors at from[i * row + j * column].
template <class Transform, class V, class Put>
[[gnu::always_inline]] inline void both_ways(const float* from, long row, long column, Put&& put) {
  both_ways_of<Transform, V>(
      [=](int i, int j) __attribute__((always_inline)) { return V::load(from + i * row + j * column); }, put);
}

}  // namespace tenon::kernel::winograd
TENON_EXACT_END
