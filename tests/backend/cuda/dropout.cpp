// Dropout on the target Cuda, on the emulator or, compiled by nvcc, on a GPU: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/dropout.hpp>

#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

TEST_CASE("masks of the CPU, also for the gradient, where a group of words is not full, and of infinite elements") {
  const auto check = []<class T>(T) {
    CAPTURE(name(dtype_of<T>));
    for (const long n : {1, 3, 70})
      for (const float p : {0.0f, 0.3f, 0.99f}) {
        CAPTURE(n);
        auto x = random_tensor<T, Shape<dyn, 37>>(2, 1, 2, n);
        x.data()[5] = T(INFINITY), x.data()[36] = T(-INFINITY);
        const auto rate = Tensor<float, Shape<>>::full(p);
        const auto state = tensor_of<std::uint64_t, Shape<2>>({std::uint64_t{11} << 40, std::uint64_t{12} << 33});
        const auto drop = [](const auto& v, const auto& r, const auto& s) {
          return apply_with<ops::Dropout>(std::source_location::current(), (std::uint64_t{13} << 50) + 1, v, r, s);
        };
        const auto y = both_modes<SameNumbers>(drop, x, rate, state).result;
        long dropped = 0;
        for (const T element : y.values()) dropped += element == T(0.0f);
        CHECK(dropped <= 0.2 * double(y.count()) + double(p) * double(y.count()));
        CHECK((p == 0 || dropped > 0));
      }
  };
  check(1.0f), check(1.0), check(float16(1.0f)), check(bfloat16(1.0f));
}
