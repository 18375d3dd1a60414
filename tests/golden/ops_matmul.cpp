// Matrix products against MindSpore's results (golden/ops).
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/matmul.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/golden.hpp"

using namespace tenon;
using namespace support;
using ops::Transposed;

namespace {
template <Transposed transposed, class A, class B>
void check_product(const std::string& name) {
  check_case(
      name, {}, [](const auto& a, const auto& b) { return matmul<transposed>(a, b); }, In<float, A>{"a"}, In<float, B>{"b"});
}
}  // namespace

TEST_CASE("matmul: matrices, rows with a matrix, stacks that broadcast, vectors") {
  if (!have_shared()) return;
  check_product<Transposed::none, Shape<3, 4>, Shape<4, 5>>("matmul_0");
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<4, 5>>("matmul_1");
  check_product<Transposed::none, Shape<2, 1, 3, 4>, Shape<5, 4, 2>>("matmul_2");
  check_product<Transposed::none, Shape<4>, Shape<4, 3>>("matmul_3");
  check_product<Transposed::none, Shape<3, 4>, Shape<4>>("matmul_4");
}

TEST_CASE("MatMul with transposed operands") {
  if (!have_shared()) return;
  check_product<Transposed::none, Shape<3, 4>, Shape<4, 5>>("matmul_op_00");
  check_product<Transposed::second, Shape<3, 4>, Shape<5, 4>>("matmul_op_01");
  check_product<Transposed::first, Shape<4, 3>, Shape<4, 5>>("matmul_op_10");
  check_product<Transposed::both, Shape<4, 3>, Shape<5, 4>>("matmul_op_11");
}

TEST_CASE("BatchMatMul with transposed operands") {
  if (!have_shared()) return;
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<2, 4, 5>>("batchmatmul_00");
  check_product<Transposed::second, Shape<2, 3, 4>, Shape<2, 5, 4>>("batchmatmul_01");
  check_product<Transposed::first, Shape<2, 4, 3>, Shape<2, 4, 5>>("batchmatmul_10");
  check_product<Transposed::both, Shape<2, 4, 3>, Shape<2, 5, 4>>("batchmatmul_11");
}

TEST_CASE("outer product, einsum") {
  if (!have_shared()) return;
  check_case(
      "outer", {}, [](const auto& a, const auto& b) { return matmul(reshape<Shape<3, 1>>(a), reshape<Shape<1, 4>>(b)); }, In<float, Shape<3>>{"a"},
      In<float, Shape<4>>{"b"});
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<2, 4, 5>>("einsum");  // bij,bjk->bik
}
