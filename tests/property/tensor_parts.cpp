// Parts of a tensor, which begin inside of its block, as operands of operators, as views of views, and under the tape.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/core/tensor/compare.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/reshape.hpp>

using namespace tenon;

namespace {
const Tensor whole{{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}, {7.0f, 8.0f, 9.0f}};
}

TEST_CASE("a part gives what its copy gives") {
  const auto part = whole[Range{1, 3}];
  const auto apart = part.copy();
  CHECK(bit_equal(part + part, apart + apart));
  CHECK(bit_equal(matmul(part, whole), matmul(apart, whole)));
  CHECK(bit_equal(whole[1] * whole[2], Tensor{28.0f, 40.0f, 54.0f}));
}

TEST_CASE("a reshaped part still begins where the part does, and shares its elements") {
  Tensor x = whole.copy();
  auto row = reshape<Shape<3, 1>>(x[2]);
  CHECK(bit_equal(row, Tensor({{7.0f}, {8.0f}, {9.0f}})));
  row(1, 0) = 80;
  CHECK(x(2, 1) == 80);
}

TEST_CASE("gradients of a part have the part's shape and values") {
  eager::Tape tape;
  const auto part = whole[1];
  tape.watch(part);
  const auto y = reshape<Shape<1, 3>>(part) * reshape<Shape<1, 3>>(part);
  tape.backward(y, reshape<Shape<1, 3>>(whole[0]));  // the gradient from above is a part as well
  CHECK(bit_equal(tape.gradient(part), Tensor{8.0f, 20.0f, 36.0f}));
}

TEST_CASE("a gradient that is a reshaped seed begins where the seed does") {
  eager::Tape tape;
  const auto part = whole[1].copy();
  tape.watch(part);
  const auto y = reshape<Shape<1, 3>>(part);
  tape.backward(y, reshape<Shape<1, 3>>(whole[2]));
  CHECK(bit_equal(tape.gradient(part), Tensor{7.0f, 8.0f, 9.0f}));
}
