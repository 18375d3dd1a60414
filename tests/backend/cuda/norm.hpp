// What tests of normalization share.
#pragma once
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "../../support/both_modes.hpp"
#include "beside_cpu.hpp"

namespace norm_test {

using namespace tenon;
using namespace support;

template <class T, class X, class Gamma, class P = float>
void check_layer_norm(long n) {
  both_modes([](const auto& x, const auto& gamma, const auto& beta) { return layer_norm(x, gamma, beta); },
             random_tensor<T, X>(1, -2, 3, n), random_tensor<P, Gamma>(2, -1, 1), random_tensor<P, Gamma>(3, -1, 1));
}
template <class T, class X, int channels, class P = float>
void check_batch_norm(long n) {
  const auto norm = [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{1e-5f, X::rank};
    const auto here = std::source_location::current();
    return apply<ops::BatchNorm, attributes>(here, x, apply<ops::BatchNormStatistics, attributes>(here, x), gamma,
                                             beta);
  };
  both_modes(norm, random_tensor<T, X>(1, -2, 3, n), random_tensor<P, Shape<channels>>(2, -1, 1),
             random_tensor<P, Shape<channels>>(3, -1, 1));
}

}  // namespace norm_test
