// Cholesky factors, determinants, inverse matrices, systems of equations: values of PyTorch, gradients, singular
// matrices.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class T>
auto general() {
  return tensor_of<T, Shape<2, 3, 3>>({2, -1, 0.5, 0, 3, 1, 4, -2, 1.5, 0.25, 1, -3, 2, 0.5, 1, -1, 4, 2});
}
template <class X>
void check_close(const X& x, std::initializer_list<double> expected, double tolerance = 1e-6) {
  long i = 0;
  for (const double e : expected) {
    CAPTURE(i);
    CHECK(double(x.data()[i++]) == doctest::Approx(e).epsilon(tolerance));
  }
}
template <class X>
bool all_nan(const X& x) {
  bool all = true;
  for (const auto v : x.values()) all &= std::isnan(v);
  return all;
}
/// The largest difference of two tensors.
template <class X, class Y>
double apart(const X& x, const Y& y) {
  double worst = 0;
  for (long i = 0; i < x.count(); ++i) worst = std::fmax(worst, std::fabs(double(x.data()[i]) - double(y.data()[i])));
  return worst;
}
/// Positive definite matrices.
template <class X>
constexpr auto definite(const X& x) {
  return matmul<Transposed::second>(x, x) +
         reshape<Shape<1, 4, 4>>(stop_gradient(one_hot<4, typename X::type>(arange<4>(x))));
}
}  // namespace

TEST_CASE("inverse, det, slogdet, solve: numbers of PyTorch, in both modes") {
  const auto a = general<float>();
  check_close(both_modes([](const auto& x) { return inverse(x); }, a).result,
              {2.16666667, 0.166666667, -0.833333333, 1.33333333, 0.333333333, -0.666666667, -4, -0, 2, 0.096, 0.448,
               -0.08, 0.16, 0.08, 0.2, -0.272, 0.064, 0.06});
  check_close(both_modes([](const auto& x) { return det(x); }, a).result, {3, -31.25});
  check_close(both_modes([](const auto& x) { return std::get<0>(slogdet(x)); }, a).result, {1, -1});
  check_close(both_modes([](const auto& x) { return std::get<1>(slogdet(x)); }, a).result, {1.09861229, 3.44201938});
  const auto b = tensor_of<float, Shape<2, 3, 2>>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  check_close(both_modes([](const auto& x, const auto& y) { return solve(x, y); }, a, b).result,
              {-1.5, 0, -1, 0, 6, 4, 3.824, 4.288, 4.04, 4.48, -0.668, -0.816});
  const auto v = tensor_of<float, Shape<3>>({1, 2, 3});  // the same vector for all
  check_close(both_modes([](const auto& x, const auto& y) { return solve(x, y); }, a, v).result,
              {0, 0, 2, 0.752, 0.92, 0.036});
  both_modes([](const auto& x) { return logdet(x); }, matmul<Transposed::second>(a, a));
  CHECK(std::isnan(logdet(a).data()[1]) == std::isnan(NAN));
}

TEST_CASE("cholesky and triangular systems: numbers of PyTorch, in both modes") {
  const auto a = tensor_of<float, Shape<3, 3>>({4, 9, 9, 2, 5, 9, -1, 0.5, 3});  // the upper triangle is not read
  const auto l = both_modes([](const auto& x) { return cholesky(x); }, a).result;
  check_close(l, {2, 0, 0, 1, 2, 0, -0.5, 0.5, 1.58113883});
  const auto b = tensor_of<float, Shape<3, 2>>({1, 2, 3, 4, 5, 6});
  check_close(both_modes([](const auto& x, const auto& y) { return solve_triangular(x, y); }, a, b).result,
              {0.25, 0.5, 0.5, 0.6, 1.66666667, 2.06666667});
  check_close(both_modes(
                  [](const auto& x, const auto& y) {
                    return solve_triangular<TriangularConfig{.side = Side::upper, .unit_diagonal = 1}>(x, y);
                  },
                  a, b)
                  .result,
              {334, 398, -42, -50, 5, 6});
  check_close(
      both_modes([](const auto& x, const auto& y) { return solve_triangular<TriangularConfig{.transposed = 1}>(x, y); },
                 a, b)
          .result,
      {0.45, 0.7, 0.433333333, 0.6, 1.66666667, 2});
  check_close(both_modes([](const auto& x, const auto& y) { return cholesky_solve(y, x); }, l, b).result,
              {0.63125, 0.9875, 0.1625, 0.175, 1.85, 2.3});
}

TEST_CASE("linear algebra: larger matrices, batches that depend on n, extents of 1") {
  const auto a = random_tensor<float, Shape<dyn, 37, 37>>(1, -1, 1, 5);
  const auto y = both_modes([](const auto& x) { return inverse(x); }, a).result;
  for (const auto& product : {matmul(a, y), matmul(y, a)})
    for (long i = 0; i < product.count(); ++i)
      CHECK(std::fabs(product.data()[i] - float(i % (37 * 37) % 38 == 0)) < 1e-3);
  const auto b = random_tensor<float, Shape<dyn, 37, 9>>(2, -1, 1, 5);
  const auto x = both_modes([](const auto& m, const auto& c) { return solve(m, c); }, a, b).result;
  CHECK(apart(matmul(a, x), b) < 1e-4);
  both_modes([](const auto& m) { return det(m); }, a);
  const auto large = random_tensor<double, Shape<1, 150, 300>>(3);
  const auto definite = matmul<Transposed::second>(large, large);
  const auto l = both_modes([](const auto& m) { return cholesky(m); }, definite).result;
  CHECK(apart(matmul<Transposed::second>(l, l), definite) < 1e-10);
  CHECK(apart(inverse(inverse(definite)), definite) < 1e-9);
  CHECK(both_modes([](const auto& m) { return inverse(m); }, tensor_of<float, Shape<1, 1>>({4})).result.item() ==
        0.25f);
  CHECK(det(tensor_of<float, Shape<1, 1>>({-4})).item() == -4);
}

namespace {
constexpr int n = 1030;  // four segments, and a part of the fifth
constexpr double half_unit = 0x1p-53;
/// Term `i` of a sum whose term `first` is 1: a chain that begins with 1 loses all that follow.
double term(long i, long first) { return i == first ? 1 : half_unit; }
/// Terms that are missing in a sum of n of them: no more than those of one segment, and one for each other segment.
void check_terms(double sum, long first, long terms) {
  CAPTURE(first);
  const double lost = (1 + double(terms - 1) * half_unit - sum) / half_unit;
  CHECK(lost >= -8);
  CHECK(lost < 256 + 8);
}
/// The unit matrix with another last row and column, side by side: [[1, column], [row, 0]].
auto bordered(double row, auto column) {
  auto a = Tensor<double, Shape<n, n>>::full(0);
  for (long i = 0; i < n - 1; ++i) a.data()[i * n + i] = 1, a.data()[(n - 1) * n + i] = row;
  for (long i = 0; i < n - 1; ++i) a.data()[i * n + n - 1] = column(i);
  return a;
}
}  // namespace

TEST_CASE("linear algebra: no chain of additions is longer than 256 steps") {
  for (const long first : {0L, 300L, 520L}) {
    const auto terms = [=](long i) { return term(i, first); };
    check_terms(-det(bordered(1, terms)).item(), first, n - 1);
    auto b = Tensor<double, Shape<n, 1>>::full(0);
    for (long i = 0; i < n - 1; ++i) b.data()[i] = term(i, first);
    auto lower = bordered(1, [](long) { return 7; });
    lower.data()[n * n - 1] = 1;
    check_terms(-solve_triangular(lower, b).data()[n - 1], first, n - 1);
    auto upper = Tensor<double, Shape<n, n>>::full(0);
    for (long i = 0; i < n; ++i) upper.data()[i * n + i] = upper.data()[i] = 1;
    auto c = Tensor<double, Shape<n, 1>>::full(0);
    for (long i = 1; i < n; ++i) c.data()[n - i] = term(i - 1, first);
    check_terms(-solve_triangular<TriangularConfig{.side = Side::upper}>(upper, c).data()[0], first, n - 1);
    // the last two rows of a Cholesky factor: 2^-10 times 2^10 times the terms, by a diagonal of 1
    auto a = Tensor<double, Shape<n, n>>::full(0);
    for (long i = 0; i < n - 2; ++i) {
      a.data()[i * n + i] = 1;
      a.data()[(n - 2) * n + i] = 0x1p-10, a.data()[(n - 1) * n + i] = 0x1p10 * term(i, first);
    }
    a.data()[(n - 2) * n + n - 2] = 1 + double(n - 2) * 0x1p-20, a.data()[n * n - 1] = 0x1p22;
    check_terms(-cholesky(a).data()[n * n - 2], first, n - 2);
  }
}

TEST_CASE("linear algebra: matrices of several segments, in both modes") {
  const auto a = random_tensor<double, Shape<1, 300, 300>>(4, -1, 1);
  const auto b = random_tensor<double, Shape<1, 300, 5>>(5);
  const auto x = both_modes([](const auto& m, const auto& c) { return solve(m, c); }, a, b).result;
  CHECK(apart(matmul(a, x), b) < 1e-10);
  const auto [sign, log] = slogdet(a);
  const auto y = both_modes([](const auto& m) { return det(m); }, a).result;
  CHECK(y.item() == doctest::Approx(sign.item() * std::exp(log.item())).epsilon(1e-12));
  const auto square = matmul<Transposed::second>(a, a);
  const auto l = both_modes([](const auto& m) { return cholesky(m); }, square).result;
  CHECK(apart(matmul<Transposed::second>(l, l), square) < 1e-11);
  const auto z =
      both_modes([](const auto& m, const auto& c) { return solve_triangular<TriangularConfig{.transposed = 1}>(m, c); },
                 l, b)
          .result;
  CHECK(apart(matmul<Transposed::first>(l, z), b) < 1e-9);
}

TEST_CASE("linear algebra: gradients, first and second") {
  const auto a = general<double>();
  const auto b = random_tensor<double, Shape<2, 3, 2>>(5);
  check_gradients([](const auto& x) { return inverse(x); }, a);
  check_gradients([](const auto& x) { return det(x); }, a);
  check_gradients([](const auto& x) { return std::get<1>(slogdet(x)); }, a);
  check_gradients([](const auto& x, const auto& y) { return solve(x, y); }, a, b);
  check_gradients([](const auto& x, const auto& y) { return solve_triangular(x, y); }, a, b);
  check_gradients(
      [](const auto& x, const auto& y) {
        return solve_triangular<TriangularConfig{.side = Side::upper, .transposed = 1}>(x, y);
      },
      a, b);
  check_gradients(
      [](const auto& x, const auto& y) {
        return solve_triangular<TriangularConfig{.transposed = 1, .unit_diagonal = 1}>(x, y);
      },
      a, b);
  const auto c = random_tensor<double, Shape<2, 4, 4>>(6);
  check_gradients([](const auto& x) { return cholesky(definite(x)); }, c);
  check_second_derivatives([](const auto& x) { return inverse(x); }, a);
  check_second_derivatives([](const auto& x) { return det(x); }, a);
  check_second_derivatives([](const auto& x) { return std::get<1>(slogdet(x)); }, a);
  check_second_derivatives([](const auto& x, const auto& y) { return solve(x, y); }, a, b);
  check_second_derivatives([](const auto& x, const auto& y) { return solve_triangular(x, y); }, a, b);
  check_second_derivatives([](const auto& x) { return cholesky(definite(x)); }, c);
}

TEST_CASE("linear algebra: singular matrices, matrices that are not positive definite, NaN") {
  const auto a = tensor_of<float, Shape<2, 2, 2>>({1, 2, 2, 4, 1, 0, 0, 1});
  const auto y = both_modes<SameNumbers>([](const auto& x) { return inverse(x); }, a).result;
  CHECK(std::isnan(y.data()[0]));
  CHECK(std::isnan(y.data()[3]));
  CHECK(y.data()[4] == 1);  // the other matrix
  CHECK(both_modes<SameNumbers>([](const auto& x) { return det(x); }, a).result.data()[0] == 0);
  const auto [sign, log] = slogdet(a);
  CHECK(sign.data()[0] == 0);
  CHECK(log.data()[0] == -INFINITY);
  CHECK(all_nan(
      both_modes<SameNumbers>([](const auto& x) { return cholesky(x); }, tensor_of<float, Shape<2, 2>>({1, 2, 2, 1}))
          .result));
  const auto nan = tensor_of<float, Shape<2, 2>>({NAN, 1, 1, 1});
  CHECK(all_nan(inverse(nan)));
  CHECK(std::isnan(det(nan).item()));
  CHECK(all_nan(cholesky(nan)));
}

TEST_CASE("linear algebra: what does not fit is one sentence") {
  CHECK(refusal<ops::MatrixInverse>({}, {type<float, 2, 3>()}) ==
        "MatrixInverse needs square matrices [...,N,N] with a fixed N, got [2,3]");
  CHECK(refusal<ops::Cholesky>({}, {type<int, 3, 3>()}) ==
        "Cholesky needs float32 or float64, got int32 [3,3]: cast it");
  CHECK(refusal<ops::MatrixSolve>({}, {type<float, 3, 3>(), type<float, 2, 2>()}) ==
        "MatrixSolve of float32 [3,3] and float32 [2,2]: it needs [...,N,N] and [...,N,M] or [...,N] of one dtype");
  CHECK(refusal<ops::Determinant>({}, {type<float, dyn>()}) ==
        "Det needs square matrices [...,N,N] with a fixed N, got [n]");
}
