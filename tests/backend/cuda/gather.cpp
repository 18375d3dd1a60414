// Gather and its gradient on the target Cuda, on the emulator or, compiled by nvcc, on a GPU: the bits of the CPU.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/gather.hpp>

#include "beside_cpu.hpp"

using namespace tenon;
using namespace support;

namespace {
/// The gradient for a table of `rows` rows of `length` elements, of dy at places whose numbers are number(i).
template <int rows, int length, class T, class I, class Number>
void check_gradient(long places, double low, double high, Number number) {
  CAPTURE(places);
  auto numbers = Tensor<I, Shape<dyn>>::empty(places);
  for (long i = 0; i < places; ++i) numbers.data()[i] = static_cast<I>(number(i));
  check_bits(
      [](const auto& i, const auto& dy) {
        return apply<ops::GatherGrad, ops::GatherGrad::Config{rows}>(std::source_location::current(), i, dy);
      },
      numbers, random_tensor<T, Shape<dyn, length>>(3, low, high, places));
}
}  // namespace

TEST_CASE("rows that are named a few times, some never, numbers from the end") {
  const auto spread = [](long i) { return i * 7919 % 211 - (i % 3 == 0 ? 250 : 0); };
  for (const long places : {1, 31, 33, 1024, 1025, 5000}) {
    check_gradient<250, 5, float, std::int32_t>(places, -1, 1, spread);
    check_gradient<250, 140, float, std::int64_t>(places, -1, 1, spread);
  }
  check_gradient<250, 16, double, std::int32_t>(3000, -1, 1, spread);
  check_gradient<250, 24, float16, std::int32_t>(3000, -1, 1, spread);
  check_gradient<250, 24, bfloat16, std::int32_t>(3000, -1, 1, spread);
}

TEST_CASE("rows that are named often") {
  const auto hot = [](long i) { return i % 5 == 0 ? i / 5 % 7 : i % 11 == 0 ? 3 : 6; };
  for (const long places : {32, 64, 65, 1024, 4100}) {
    check_gradient<7, 3, float, std::int32_t>(places, -1, 1, hot);
    check_gradient<7, 3, float, std::int32_t>(places, -1, 1, [](long) { return 2; });
    check_gradient<7, 33, std::int32_t, std::int32_t>(places, -100, 100, hot);
  }
  check_gradient<7, 8, float16, std::int32_t>(3000, -1, 1, hot);
}

TEST_CASE("both modes, gradients of a table beside other uses of it") {
  const auto table = random_tensor<float, Shape<9, 4>>(1);
  both_modes([](const auto& t, const auto& i) { return gather(t, i); }, table,
             random_tensor<std::int32_t, Shape<dyn, 3>>(2, -9, 9, 5));
}
