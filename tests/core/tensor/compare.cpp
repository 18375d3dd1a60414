// Exact and approximate equality.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/core/tensor/compare.hpp>

using namespace tenon;

TEST_CASE("bits: zero differs from minus zero, NaN equals itself, dtype and shape count") {
  CHECK(bit_equal(Tensor{1.0f, NAN}, Tensor{1.0f, NAN}));
  CHECK(!bit_equal(Tensor{0.0f}, Tensor{-0.0f}));
  CHECK(!bit_equal(Tensor{0.0f, 1.0f}, Tensor{-0.0f, 1.0f}));
  CHECK(!bit_equal(Tensor{1, 2}, Tensor{1u, 2u}));
  CHECK(!bit_equal(Tensor{1, 2}, Tensor({{1, 2}})));
  CHECK(!bit_equal(Tensor{1, 2}, Tensor{1, 2, 3}));
  CHECK(bit_equal(Tensor<int, Shape<dyn>>::arange(2), Tensor{0, 1}));
  CHECK(bit_equal(Tensor<int, Shape<dyn>>::empty(0), Tensor<int, Shape<0>>::empty()));
}

TEST_CASE("tolerances: absolute plus relative to the second") {
  const Tensor x{1.0, 100.0};
  CHECK(all_close(x, Tensor{1.00001, 100.001}));
  CHECK(!all_close(x, Tensor{1.00003, 100.0}));
  CHECK(all_close(x, Tensor{1.5, 100.5}, 0, 0.5));
  CHECK(!all_close(x, Tensor{1.5, 100.5}, 0, 0.4999));
  CHECK(all_close(Tensor{0.0}, Tensor{1e-9}));
  CHECK(!all_close(Tensor{0.0}, Tensor{1e-7}));
  CHECK(all_close(Tensor{90.0, 90.0}, Tensor{100.0, 100.0}, 0.1, 0));
  CHECK(!all_close(Tensor{100.0, 100.0}, Tensor{90.0, 90.0}, 0.1, 0));
}

TEST_CASE("values of any dtype, infinities, NaN, shapes") {
  CHECK(all_close(Tensor{1, 2}, Tensor{1.0f, 2.0f}));
  CHECK(all_close(Tensor{true, false}, Tensor{1.0, 0.0}));
  CHECK(all_close(Tensor{INFINITY, -INFINITY}, Tensor{INFINITY, -INFINITY}));
  CHECK(!all_close(Tensor{INFINITY, 1.0f}, Tensor{-INFINITY, 1.0f}));
  CHECK(!all_close(Tensor{INFINITY, 1.0f}, Tensor{1e30f, 1.0f}, 1e30, 1e30));
  CHECK(!all_close(Tensor{NAN, 1.0f}, Tensor{NAN, 1.0f}, 1e30, 1e30));
  CHECK(!all_close(Tensor{1, 2}, Tensor({{1, 2}})));
  CHECK(!all_close(Tensor<int, Shape<2>>(), Tensor{1, 2}));
}
