// Matrix products at many shapes: against three loops, gradients and second derivatives against central differences,
// both modes against each other.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/matmul.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;
using ops::Transposed;

namespace {

// One product of a stack: `ai` and `bi` say which matrices.
template <bool ta, bool tb>
double sum_of_products(const double* a, const double* b, long m, long k, long n, long row, long column) {
  double total = 0;
  for (long p = 0; p < k; ++p) total += a[ta ? p * m + row : row * k + p] * b[tb ? column * k + p : p * n + column];
  return total;
}

template <Transposed transposed, class A, class B>
void check_stack(long n = 3) {
  constexpr bool ta = transposed == Transposed::first || transposed == Transposed::both,
                 tb = transposed == Transposed::second || transposed == Transposed::both;
  const auto product = [](const auto& a, const auto& b) { return matmul<transposed>(a, b); };
  const auto a = random_tensor<double, A>(1, -2, 2, n);
  const auto b = random_tensor<double, B>(2, -2, 2, n);
  const auto y = both_modes(product, a, b).result;
  const int ra = A::rank, rb = B::rank, ry = decltype(y)::dims.rank;
  const long rows = y.extent(ry - 2), columns = y.extent(ry - 1), depth = a.extent(ra - (ta ? 2 : 1));
  double worst = 0;
  for (long i = 0; i < y.count(); ++i) {
    long stack = i / (rows * columns), in_a = 0, in_b = 0, stride_a = 1, stride_b = 1;
    for (int axis = ry - 3, back = 3; axis >= 0; stack /= y.extent(axis), --axis, ++back) {
      const long index = stack % y.extent(axis);
      if (ra >= back) in_a += (a.extent(ra - back) == 1 ? 0 : index) * stride_a, stride_a *= a.extent(ra - back);
      if (rb >= back) in_b += (b.extent(rb - back) == 1 ? 0 : index) * stride_b, stride_b *= b.extent(rb - back);
    }
    const double expected = sum_of_products<ta, tb>(a.data() + in_a * rows * depth, b.data() + in_b * depth * columns,
                                                    rows, depth, columns, i / columns % rows, i % columns);
    worst = std::fmax(worst, std::fabs(y.data()[i] - expected));
  }
  CHECK(worst < 1e-12);
  check_gradients(product, a, b);
}

}  // namespace

TEST_CASE("matrices, also with a dynamic number of rows or a sum over the batch") {
  check_stack<Transposed::none, Shape<3, 4>, Shape<4, 2>>();
  check_stack<Transposed::second, Shape<dyn, 5>, Shape<3, 5>>();
  check_stack<Transposed::first, Shape<dyn, 3>, Shape<dyn, 2>>(5);
  check_stack<Transposed::both, Shape<4, 3>, Shape<2, 4>>();
  check_stack<Transposed::none, Shape<1, 1>, Shape<1, 1>>();
}

TEST_CASE("stacks") {
  check_stack<Transposed::none, Shape<dyn, 2, 3, 4>, Shape<dyn, 2, 4, 2>>();
  check_stack<Transposed::second, Shape<dyn, 2, 3, 4>, Shape<dyn, 2, 3, 4>>(2);
  check_stack<Transposed::first, Shape<2, 3, 2>, Shape<2, 3, 2>>();
  check_stack<Transposed::both, Shape<2, 4, 3>, Shape<2, 2, 4>>();
}

TEST_CASE("a stack with one matrix") {
  check_stack<Transposed::none, Shape<dyn, 3, 4>, Shape<4, 2>>();
  check_stack<Transposed::second, Shape<times<2>, 3, 4>, Shape<2, 4>>(2);
  check_stack<Transposed::first, Shape<dyn, 4, 3>, Shape<4, 2>>();
  check_stack<Transposed::both, Shape<3, 4, 3>, Shape<2, 4>>();
  check_stack<Transposed::none, Shape<3, 4>, Shape<dyn, 4, 2>>();
}

TEST_CASE("stacks that broadcast") {
  check_stack<Transposed::none, Shape<2, 1, 3, 2>, Shape<3, 2, 2>>();
  check_stack<Transposed::second, Shape<dyn, 1, 2, 3>, Shape<2, 2, 3>>();
  check_stack<Transposed::first, Shape<1, 2, 3>, Shape<dyn, 2, 2>>();
}

TEST_CASE("vectors") {
  const auto product = [](const auto& a, const auto& b) { return matmul(a, b); };
  const auto v = random_tensor<double, Shape<4>>(1), w = random_tensor<double, Shape<4>>(2);
  const auto m = random_tensor<double, Shape<dyn, 3, 4>>(3);
  const auto dot = both_modes(product, v, w).result;
  CHECK(std::fabs(dot.item() - sum_of_products<false, false>(v.data(), w.data(), 1, 4, 1, 0, 0)) < 1e-12);
  check_gradients(product, v, w);
  const auto rows = both_modes(product, m, v).result;
  static_assert(decltype(rows)::dims == type_of<double, Shape<dyn, 3>>);
  CHECK(std::fabs(rows.data()[5] - sum_of_products<false, false>(m.data() + 5 * 4, v.data(), 1, 4, 1, 0, 0)) < 1e-12);
  check_gradients(product, m, v);
  // b is a stack of [3, 4]
  const auto back = [](const auto& a, const auto& b) { return matmul<Transposed::second>(a, b); };
  check_gradients(back, v, m);
  static_assert(decltype(back(v, m))::dims == type_of<double, Shape<dyn, 3>>);
}

TEST_CASE("second derivatives") {
  // quadratic in a
  const auto square = [](const auto& a, const auto& b) { return matmul(matmul<Transposed::second>(a, b), a); };
  check_second_derivatives(square, random_tensor<double, Shape<3, 2>>(1), random_tensor<double, Shape<3, 2>>(2));
  const auto stacks = [](const auto& a, const auto& b) { return matmul<Transposed::second>(matmul(a, b), a); };
  check_second_derivatives(stacks, random_tensor<double, Shape<dyn, 2, 3>>(1), random_tensor<double, Shape<3, 3>>(2));
}

TEST_CASE("other dtypes: 16-bit floats round once, integers are exact") {
  const auto product = [](const auto& a, const auto& b) { return matmul(a, b); };
  const auto a = random_tensor<float16, Shape<3, 40>>(1);
  const auto b = random_tensor<float16, Shape<40, 5>>(2);
  const auto y = both_modes(product, a, b).result;
  for (long i = 0; i < y.count(); ++i) {
    double exact = 0;
    for (long p = 0; p < 40; ++p)
      exact += double(float(a.data()[i / 5 * 40 + p])) * double(float(b.data()[p * 5 + i % 5]));
    CHECK(std::fabs(double(float(y.data()[i])) - exact) <= std::fabs(exact) * 0x1p-11 + 1e-4);
  }
  const auto c = random_tensor<std::int32_t, Shape<2, 3>>(3, -9, 9);
  const auto d = random_tensor<std::int32_t, Shape<3, 2>>(4, -9, 9);
  const auto z = both_modes(product, c, d).result;
  for (long i = 0; i < 4; ++i) {
    std::int32_t exact = 0;
    for (long p = 0; p < 3; ++p) exact += c.data()[i / 2 * 3 + p] * d.data()[p * 2 + i % 2];
    CHECK(z.data()[i] == exact);
  }
}

TEST_CASE("what does not fit is said in one sentence") {
  using ops::MatMul;
  const auto f = [](auto s) { return type_of<float, decltype(s)>; };
  CHECK(refusal<MatMul>({}, {f(Shape<3, 4>{}), f(Shape<5, 2>{})}) ==
        "MatMul got rows of 4 [3,4], its weight [5,2] needs 5");
  CHECK(refusal<MatMul>({}, {f(Shape<2, 3, 4>{}), f(Shape<3, 4, 2>{})}) ==
        "MatMul of the stacks [2,3,4] and [3,4,2]: their leading extents differ");
  CHECK(refusal<MatMul>({}, {f(Shape<3, 4>{}), type_of<double, Shape<4, 2>>}) ==
        "MatMul of float32 [3,4] and float64 [4,2]: cast one of them, dtypes must agree");
  CHECK(refusal<MatMul>({Transposed::second}, {f(Shape<3, 4>{}), f(Shape<dyn, 4>{})}) ==
        "MatMul of [3,4] and [n,4]: only the leading extent of the result can depend on n");
  CHECK(refusal<MatMul>({}, {f(Shape<5, 3, 4>{}), f(Shape<4>{})}) ==
        "MatMul needs operands of rank 2 or more, got [5,3,4] and [4] (flatten the first?)");
  CHECK(result_type<MatMul>({Transposed::both}, {f(Shape<7, 1, 4, 3>{}), f(Shape<2, 5, 4>{})}) == "float32 [7,2,3,5]");
}
