// Matrix products against MindSpore's results (golden/ops).
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/structural.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;
using ops::Transposed;

namespace {
template <Transposed transposed, class A, class B>
void check_product(const std::string& name) {
  check_case(
      name, {}, [](const auto& a, const auto& b) { return matmul<transposed>(a, b); }, In<float, A>{"a"},
      In<float, B>{"b"});
}
}  // namespace

const Group products("matmul: matrices, rows with a matrix, stacks that broadcast, vectors", [] {
  check_product<Transposed::none, Shape<3, 4>, Shape<4, 5>>("matmul_0");
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<4, 5>>("matmul_1");
  check_product<Transposed::none, Shape<2, 1, 3, 4>, Shape<5, 4, 2>>("matmul_2");
  check_product<Transposed::none, Shape<4>, Shape<4, 3>>("matmul_3");
  check_product<Transposed::none, Shape<3, 4>, Shape<4>>("matmul_4");
});

const Group transposed_products("MatMul with transposed operands", [] {
  check_product<Transposed::none, Shape<3, 4>, Shape<4, 5>>("matmul_op_00");
  check_product<Transposed::second, Shape<3, 4>, Shape<5, 4>>("matmul_op_01");
  check_product<Transposed::first, Shape<4, 3>, Shape<4, 5>>("matmul_op_10");
  check_product<Transposed::both, Shape<4, 3>, Shape<5, 4>>("matmul_op_11");
});

const Group stacked_products("BatchMatMul with transposed operands", [] {
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<2, 4, 5>>("batchmatmul_00");
  check_product<Transposed::second, Shape<2, 3, 4>, Shape<2, 5, 4>>("batchmatmul_01");
  check_product<Transposed::first, Shape<2, 4, 3>, Shape<2, 4, 5>>("batchmatmul_10");
  check_product<Transposed::both, Shape<2, 4, 3>, Shape<2, 5, 4>>("batchmatmul_11");
});

const Group other_products("outer product, einsum", [] {
  check_case(
      "outer", {},
      [](const auto& a, const auto& b) { return matmul(reshape<Shape<3, 1>>(a), reshape<Shape<1, 4>>(b)); },
      In<float, Shape<3>>{"a"}, In<float, Shape<4>>{"b"});
  check_product<Transposed::none, Shape<2, 3, 4>, Shape<2, 4, 5>>("einsum");  // bij,bjk->bik
});
