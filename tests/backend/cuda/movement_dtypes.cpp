// label: long
// Kernels of the target Cuda that move and make elements: the bits of the CPU, for every dtype and size of elements.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "movement.hpp"

using namespace movement_test;

TEST_CASE("every dtype: numbers of elements, other dtypes") {
  each_dtype([]<class T>(T) { check_made<T>(); });
}

TEST_CASE("elements of every size, moved") { check_moved<bfloat16>(), check_moved<double>(); }
