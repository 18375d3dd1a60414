// What tests of kernels that move and make elements share.
#pragma once
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "beside_cpu.hpp"

namespace movement_test {

using namespace tenon;
using namespace support;

/// Numbers of elements, other dtypes.
template <class T>
void check_made() {
  CAPTURE(name(dtype_of<T>));
  const auto x = random_tensor<T, Shape<dyn, 9, 13>>(7, 0, 9, 5);
  check_bits([](const auto& v) { return full_like(v, 1); }, x);
  check_bits([](const auto& v) { return ops::arange<77, T, 90, -3>(v); }, x);
  check_bits([](const auto& i) { return one_hot<17, T>(i); }, random_tensor<std::int32_t, Shape<dyn, 2>>(3, 0, 17, 9));
  check_bits([](const auto& v) { return cast<bfloat16>(v); }, x);
  check_bits([](const auto& v) { return cast<std::int16_t>(v); }, x);
}
/// Repeated elements, one side of a diagonal, parts, borders, other orders of the axes, joined tensors, rows of a
/// table.
template <class T>
void check_moved() {
  CAPTURE(name(dtype_of<T>));
  const auto x = random_tensor<T, Shape<dyn, 9, 13>>(7, 0, 9, 5);
  const auto even = random_tensor<T, Shape<dyn, 3, 4, 32>>(7, 0, 9, 3);
  check_bits([](const auto& v) { return tril<-1>(v); }, x);
  check_bits([](const auto& v) { return triu<1>(v); }, x);
  check_bits([](const auto& v) { return ops::broadcast_to<Shape<2, 4, 33>>(v); },
             random_tensor<T, Shape<4, 1>>(8, 0, 9));
  check_bits([](const auto& v) { return ops::broadcast_to<Shape<dyn, 6, 5>>(v); },
             random_tensor<T, Shape<dyn, 1, 5>>(8, 0, 9, 3));
  check_bits([](const auto& v) { return ops::broadcast_to<Shape<700>>(v); }, random_tensor<T, Shape<>>(8, 0, 9));
  check_bits([](const auto& v) { return slice<Part{}, Part{.step = -1}, Part{1, 12, 2}>(v); }, x);
  check_bits([](const auto& v) { return slice<Part{}, Part{}, Part{1, -1}, Part{16}>(v); }, even);
  check_bits([](const auto& v) { return std::get<1>(split_sizes<-1, 2, 11>(v)); }, x);
  check_bits([](const auto& v) { return split<0, 3>(v)[2]; }, random_tensor<T, Shape<times<3>, 2>>(9, 0, 9, 5));
  check_bits([](const auto& v) { return pad<Margin{}, Margin{0, 2}, Margin{1, 3}>(v, 1); }, x);
  check_bits([](const auto& v) { return pad<Margin{}, Margin{2, 1}, Margin{1}>(v, 1); }, even);
  check_bits([](const auto& v) { return transpose<0, 2, 1>(v); }, x);
  check_bits([](const auto& v) { return transpose<0, 2, 1, 3>(v); }, even);
  check_bits([](const auto& v) { return transpose<0, 3, 1, 2>(v); }, even);
  check_bits([](const auto& v) { return transpose<2, 1, 0>(v); }, random_tensor<T, Shape<33, 3, 65>>(9, 0, 9));
  check_bits([](const auto& u, const auto& v) { return concat<-1>(u, v, u); }, x,
             random_tensor<T, Shape<dyn, 9, 2>>(9, 0, 9, 5));
  check_bits([](const auto& u, const auto& v) { return concat<0>(u, v, u); }, even,
             random_tensor<T, Shape<times<2>, 3, 4, 32>>(9, 0, 9, 3));
  check_bits([](const auto& u, const auto& v) { return concat<1>(u, v); }, even, even);
  const auto numbers = random_tensor<std::int64_t, Shape<dyn, 2>>(2, -5, 5, 9);
  check_bits([](const auto& table, const auto& i) { return gather(table, i); }, random_tensor<T, Shape<5, 3>>(1, 0, 9),
             numbers);
  check_bits([](const auto& table, const auto& i) { return gather(table, i); }, random_tensor<T, Shape<5, 32>>(1, 0, 9),
             numbers);
}

}  // namespace movement_test
