// What tests of products share.
#pragma once
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/same_there.hpp"

namespace matmul_test {

using namespace tenon;
using namespace support;

/// The product of [m, k] and [k, n], each operand also stored transposed.
template <class T, int m, int n, int k>
void all_forms() {
  const auto a = random_tensor<T, Shape<m, k>>(1);
  const auto b = random_tensor<T, Shape<k, n>>(2);
  const auto turned_a = random_tensor<T, Shape<k, m>>(3);
  const auto turned_b = random_tensor<T, Shape<n, k>>(4);
  same_there([](const auto& x, const auto& y) { return matmul(x, y); }, a, b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); }, turned_a, b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); }, a, turned_b);
  same_there([](const auto& x, const auto& y) { return matmul<Transposed::both>(x, y); }, turned_a, turned_b);
}

}  // namespace matmul_test
