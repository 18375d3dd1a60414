// Kernels of the target Cuda that move and make elements, on the emulator or, compiled by nvcc, on a GPU: the bits of
// the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/ops.hpp>

#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

namespace {
struct Primes {
  using shape = Shape<3, 7>;
  static constexpr float values[]{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73};
};
struct Flags {
  using shape = Shape<5>;
  static constexpr bool values[]{true, false, true, true, false};
};
}  // namespace

TEST_CASE("every dtype: numbers of elements, repeated elements, one side of a diagonal") {
  each_dtype([]<class T>(T) {
    CAPTURE(name(dtype_of<T>));
    const auto x = random_tensor<T, Shape<dyn, 9, 13>>(7, 0, 9, 5);
    check_bits([](const auto& v) { return full_like(v, 1); }, x);
    check_bits([](const auto& v) { return ops::arange<77, T, 90, -3>(v); }, x);
    check_bits([](const auto& v) { return tril<-1>(v); }, x);
    check_bits([](const auto& v) { return triu<1>(v); }, x);
    check_bits([](const auto& v) { return ops::broadcast_to<Shape<2, 4, 33>>(v); },
               random_tensor<T, Shape<4, 1>>(8, 0, 9));
    check_bits([](const auto& v) { return ops::broadcast_to<Shape<dyn, 6, 5>>(v); },
               random_tensor<T, Shape<dyn, 1, 5>>(8, 0, 9, 3));
    check_bits([](const auto& v) { return ops::broadcast_to<Shape<700>>(v); }, random_tensor<T, Shape<>>(8, 0, 9));
    check_bits([](const auto& i) { return one_hot<17, T>(i); },
               random_tensor<std::int32_t, Shape<dyn, 2>>(3, 0, 17, 9));
    check_bits([](const auto& v) { return cast<bfloat16>(v); }, x);
    check_bits([](const auto& v) { return cast<std::int16_t>(v); }, x);
  });
}

TEST_CASE("constant tables") {
  const auto x = random_tensor<float, Shape<2>>(1);
  check_bits([](const auto& v) { return ops::constant<Primes>(v); }, x);
  check_bits([](const auto& v) { return ops::constant<Flags>(v); }, x);
}
