// label: long
// Products on the target Cuda: the bits of the CPU, for each way with each dtype.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "matmul.hpp"

using namespace matmul_test;

TEST_CASE("every dtype") {
  all_forms<double, 9, 11, 300>();
  all_forms<float16, 9, 11, 300>();
  all_forms<bfloat16, 9, 11, 1031>();
  all_forms<std::int32_t, 9, 11, 300>();
  all_forms<std::int8_t, 9, 11, 300>();
  all_forms<std::uint64_t, 3, 5, 20>();
}
