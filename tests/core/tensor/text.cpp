// Values as NumPy prints them. The expected texts were written by NumPy 2.4 with the options of 1.26, which MindSpore
// uses.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include <tenon/core/tensor.hpp>
#include <tenon/core/tensor/text.hpp>

using namespace tenon;

namespace {
std::string str(const auto& tensor) { return detail::array_text(tensor.view()); }
constexpr float none = NAN, endless = INFINITY;
}  // namespace

TEST_CASE("as NumPy") {
  CHECK(str(Tensor{1.0f, 2.5f, -3.0f}) == R"([ 1.   2.5 -3. ])");
  CHECK(str(Tensor{100000.0, 1.0, 0.001}) == R"([1.e+05 1.e+00 1.e-03])");
  CHECK(str(Tensor{1e100, 1.0}) == R"([1.e+100 1.e+000])");
  CHECK(str(Tensor{12345678.9, 0.5}) == R"([1.23456789e+07 5.00000000e-01])");
  CHECK(str(Tensor{0.0001f, 0.05f}) == R"([0.0001 0.05  ])");
  CHECK(str(Tensor{none, 1.0f, -endless}) == R"([ nan   1. -inf])");
  CHECK(str(Tensor{none, endless}) == R"([nan inf])");
  CHECK(str(Tensor{0.0f, -0.0f}) == R"([ 0. -0.])");
  CHECK(str(Tensor{1e-45f, 3.4028235e38f}) == R"([1.4012985e-45 3.4028235e+38])");
  CHECK(str(Tensor{-1, 10, 100}) == R"([ -1  10 100])");
  CHECK(str(Tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})) ==
        R"([[[1 2]
  [3 4]]

 [[5 6]
  [7 8]]])");
  CHECK(str(Tensor({{{{1.5f}}, {{2.0f}}}})) ==
        R"([[[[1.5]]

  [[2. ]]]])");
  CHECK(str(Tensor{true, true}) == R"([ True  True])");
  CHECK(str((Tensor<float16, Shape<3>>(65504, 1, 0.1f))) == R"([6.55e+04 1.00e+00 1.00e-01])");
  CHECK(str((Tensor<float16, Shape<2>>(0.015625f, 32))) == R"([1.563e-02 3.200e+01])");
  CHECK(str((Tensor<float, Shape<25>>::arange())) ==
        R"([ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.
 18. 19. 20. 21. 22. 23. 24.])");
  CHECK(str((Tensor<int, Shape<1001>>::arange())) == R"([   0    1    2 ...  998  999 1000])");
  CHECK(str((Tensor<std::int64_t, Shape<2, 501>>::arange())) ==
        R"([[   0    1    2 ...  498  499  500]
 [ 501  502  503 ...  999 1000 1001]])");
  CHECK(str((Tensor<float, Shape<8, 9, 20>>::arange())) ==
        R"([[[0.000e+00 1.000e+00 2.000e+00 ... 1.700e+01 1.800e+01 1.900e+01]
  [2.000e+01 2.100e+01 2.200e+01 ... 3.700e+01 3.800e+01 3.900e+01]
  [4.000e+01 4.100e+01 4.200e+01 ... 5.700e+01 5.800e+01 5.900e+01]
  ...
  [1.200e+02 1.210e+02 1.220e+02 ... 1.370e+02 1.380e+02 1.390e+02]
  [1.400e+02 1.410e+02 1.420e+02 ... 1.570e+02 1.580e+02 1.590e+02]
  [1.600e+02 1.610e+02 1.620e+02 ... 1.770e+02 1.780e+02 1.790e+02]]

 [[1.800e+02 1.810e+02 1.820e+02 ... 1.970e+02 1.980e+02 1.990e+02]
  [2.000e+02 2.010e+02 2.020e+02 ... 2.170e+02 2.180e+02 2.190e+02]
  [2.200e+02 2.210e+02 2.220e+02 ... 2.370e+02 2.380e+02 2.390e+02]
  ...
  [3.000e+02 3.010e+02 3.020e+02 ... 3.170e+02 3.180e+02 3.190e+02]
  [3.200e+02 3.210e+02 3.220e+02 ... 3.370e+02 3.380e+02 3.390e+02]
  [3.400e+02 3.410e+02 3.420e+02 ... 3.570e+02 3.580e+02 3.590e+02]]

 [[3.600e+02 3.610e+02 3.620e+02 ... 3.770e+02 3.780e+02 3.790e+02]
  [3.800e+02 3.810e+02 3.820e+02 ... 3.970e+02 3.980e+02 3.990e+02]
  [4.000e+02 4.010e+02 4.020e+02 ... 4.170e+02 4.180e+02 4.190e+02]
  ...
  [4.800e+02 4.810e+02 4.820e+02 ... 4.970e+02 4.980e+02 4.990e+02]
  [5.000e+02 5.010e+02 5.020e+02 ... 5.170e+02 5.180e+02 5.190e+02]
  [5.200e+02 5.210e+02 5.220e+02 ... 5.370e+02 5.380e+02 5.390e+02]]

 ...

 [[9.000e+02 9.010e+02 9.020e+02 ... 9.170e+02 9.180e+02 9.190e+02]
  [9.200e+02 9.210e+02 9.220e+02 ... 9.370e+02 9.380e+02 9.390e+02]
  [9.400e+02 9.410e+02 9.420e+02 ... 9.570e+02 9.580e+02 9.590e+02]
  ...
  [1.020e+03 1.021e+03 1.022e+03 ... 1.037e+03 1.038e+03 1.039e+03]
  [1.040e+03 1.041e+03 1.042e+03 ... 1.057e+03 1.058e+03 1.059e+03]
  [1.060e+03 1.061e+03 1.062e+03 ... 1.077e+03 1.078e+03 1.079e+03]]

 [[1.080e+03 1.081e+03 1.082e+03 ... 1.097e+03 1.098e+03 1.099e+03]
  [1.100e+03 1.101e+03 1.102e+03 ... 1.117e+03 1.118e+03 1.119e+03]
  [1.120e+03 1.121e+03 1.122e+03 ... 1.137e+03 1.138e+03 1.139e+03]
  ...
  [1.200e+03 1.201e+03 1.202e+03 ... 1.217e+03 1.218e+03 1.219e+03]
  [1.220e+03 1.221e+03 1.222e+03 ... 1.237e+03 1.238e+03 1.239e+03]
  [1.240e+03 1.241e+03 1.242e+03 ... 1.257e+03 1.258e+03 1.259e+03]]

 [[1.260e+03 1.261e+03 1.262e+03 ... 1.277e+03 1.278e+03 1.279e+03]
  [1.280e+03 1.281e+03 1.282e+03 ... 1.297e+03 1.298e+03 1.299e+03]
  [1.300e+03 1.301e+03 1.302e+03 ... 1.317e+03 1.318e+03 1.319e+03]
  ...
  [1.380e+03 1.381e+03 1.382e+03 ... 1.397e+03 1.398e+03 1.399e+03]
  [1.400e+03 1.401e+03 1.402e+03 ... 1.417e+03 1.418e+03 1.419e+03]
  [1.420e+03 1.421e+03 1.422e+03 ... 1.437e+03 1.438e+03 1.439e+03]]])");
  CHECK(str((Tensor<double, Shape<1000>>::full(0.5))[Range{0, 13}]) ==
        R"([0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5])");
  CHECK(str(Tensor(3.0f)) == R"(3.0)");
  CHECK(str(Tensor(1e16)) == R"(1e+16)");
  CHECK(str(Tensor(9999999999999998.0)) == R"(9999999999999998.0)");
  CHECK(str(Tensor(0.0001f)) == R"(1e-04)");
  CHECK(str(Tensor(0.00001)) == R"(1e-05)");
  CHECK(str(Tensor(-1.5e-7f)) == R"(-1.5e-07)");
  CHECK(str(Tensor(0.1f)) == R"(0.1)");
  CHECK(str(Tensor(0.1)) == R"(0.1)");
  CHECK(str(Tensor(endless)) == R"(inf)");
  CHECK(str(Tensor(-0.0f)) == R"(-0.0)");
}

TEST_CASE("without elements, and a type that NumPy does not have") {
  CHECK(str(Tensor<float, Shape<dyn, 3>>::empty(0)) == "[]");
  CHECK(str(Tensor<int, Shape<2, 0>>::empty()) == "[]");
  CHECK(str(Tensor<bfloat16, Shape<3>>(1.5f, 0.1f, -30)) == "[  1.5   0.1 -30. ]");
}

TEST_CASE("any element as a double") {
  CHECK(detail::element_as_double(Tensor{true, false}.view(), 0) == 1);
  CHECK(detail::element_as_double(Tensor<std::uint64_t, Shape<1>>::full(1ull << 63).view(), 0) ==
        9223372036854775808.0);
  CHECK(detail::element_as_double(Tensor<std::int8_t, Shape<2>>(1, -128).view(), 1) == -128);
  CHECK(detail::element_as_double(Tensor<bfloat16, Shape<1>>::full(bfloat16(0.5f)).view(), 0) == 0.5);
}
