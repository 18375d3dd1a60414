// Math::tf32 on the target Cuda: products by cuBLASLt, near the exact ones, the same in each run. (fast_train.cpp:
// more trainings.)
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fast.hpp"

using namespace fast_test;

namespace {
template <class T, int m, int n, int k>
void all_forms(int digits) {
  const auto a = random_tensor<T, Shape<m, k>>(1);
  const auto b = random_tensor<T, Shape<k, n>>(2);
  const auto turned_a = random_tensor<T, Shape<k, m>>(3);
  const auto turned_b = random_tensor<T, Shape<n, k>>(4);
  near(digits, [](const auto& x, const auto& y) { return matmul(x, y); }, a, b);
  near(digits, [](const auto& x, const auto& y) { return matmul<Transposed::first>(x, y); }, turned_a, b);
  near(digits, [](const auto& x, const auto& y) { return matmul<Transposed::second>(x, y); }, a, turned_b);
  near(digits, [](const auto& x, const auto& y) { return matmul<Transposed::both>(x, y); }, turned_a, turned_b);
}
}  // namespace

TEST_CASE("all forms, in float32 and 16 bits") {
  const AnySize any;
  all_forms<float, 5, 7, 30>(11);
  all_forms<float, 33, 65, 600>(11);
  all_forms<float, 64, 96, 320>(11);
  all_forms<bfloat16, 16, 24, 320>(8);
  all_forms<float16, 16, 24, 320>(11);
}

TEST_CASE("stacks, whose matrices are shared or not") {
  const AnySize any;
  const auto product = [](const auto& x, const auto& y) { return matmul(x, y); };
  const auto x = random_tensor<float, Shape<3, 5, 70>>(1, -2, 2);
  near(11, product, x, random_tensor<float, Shape<3, 70, 9>>(2));
  near(11, product, x, random_tensor<float, Shape<70, 9>>(2));
  near(11, product, random_tensor<float, Shape<1, 5, 70>>(1), random_tensor<float, Shape<3, 70, 9>>(2));
  near(11, product, random_tensor<float, Shape<8, 64, 72>>(1), random_tensor<float, Shape<8, 72, 32>>(2));
  near(11, product, random_tensor<float, Shape<dyn, 5, 70>>(1, -2, 2, 4),
       random_tensor<float, Shape<dyn, 70, 9>>(2, -2, 2, 4));
}

TEST_CASE("what a library does not compute is exact: small products, other dtypes, matrices at unequal distances") {
  const auto product = [](const auto& x, const auto& y) { return matmul(x, y); };
  const auto exact = [&](const auto& x, const auto& y) { CHECK(same_bits(fast_result(product, x, y), product(x, y))); };
  exact(random_tensor<float, Shape<20, 70>>(1), random_tensor<float, Shape<70, 30>>(2));
  const AnySize any;
  exact(random_tensor<double, Shape<20, 70>>(1), random_tensor<double, Shape<70, 30>>(2));
  exact(random_tensor<int, Shape<20, 70>>(1, -9, 9), random_tensor<int, Shape<70, 30>>(2, -9, 9));
  exact(random_tensor<float, Shape<3, 1, 5, 70>>(1), random_tensor<float, Shape<1, 2, 70, 9>>(2));
}

#if defined(TENON_CUDA_EMULATOR)  // which shows what the library got
namespace {
template <class F>
struct Layer : nn::Cell<Layer<F>> {
  nn::Dense<40, 24> fc;
  constexpr auto construct(auto x) const { return F()(fc(x)); }
};
struct Plain {
  constexpr auto operator()(const auto& x) const { return x; }
};
struct WithRelu {
  constexpr auto operator()(const auto& x) const { return relu(x); }
};
struct WithGelu {
  constexpr auto operator()(const auto& x) const { return gelu(x); }
};
struct WithMore {
  constexpr auto operator()(const auto& x) const { return tanh(x) * 2.0f; }
};
/// The epilogue that cuBLASLt got for a layer, whose predictions are near the exact ones.
template <class F>
std::uint32_t epilogue_of() {
  const AnySize any;
  const auto x = random_tensor<float, Shape<dyn, 40>>(1, -2, 2, 6);
  const auto predicted = [&](const ContextChange& change) {
    const ContextScope scope(change);
    const ContextScope seed({.seed = 3});
    Layer<F> net;
    Model model{net};
    auto y = model.predict(x);
    for (float& bias : net.fc.bias.values()) bias = 0.25f;
    y = model.predict(x);
    return std::vector<float>(y.values().begin(), y.values().end());
  };
  const auto exact = predicted({}), there = predicted(fast);
  CHECK(there != exact);
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(there[i] == doctest::Approx(exact[i]).epsilon(4e-3));
  return emulator::lt_calls.back().product.epilogue;
}
}  // namespace

TEST_CASE("a bias and relu or gelu are the library's, other steps follow") {
  CHECK(epilogue_of<Plain>() == CUBLASLT_EPILOGUE_BIAS);
  CHECK(epilogue_of<WithRelu>() == CUBLASLT_EPILOGUE_RELU_BIAS);
  CHECK(epilogue_of<WithGelu>() == CUBLASLT_EPILOGUE_GELU_BIAS);
  CHECK(epilogue_of<WithMore>() == CUBLASLT_EPILOGUE_DEFAULT);
}
#endif

TEST_CASE("a training: near the exact one, equal in each run, and exact from when the setting says so") {
  check_training<support::Mlp>(target_test::images<20>(90, 30, 4));
}

#if defined(TENON_CUDA_EMULATOR)  // hardware does not fail when it is told to
TEST_CASE("a program or a machine without the libraries: one sentence, and nothing is set") {
  const kernel::cuda::FastMath* const libraries = std::exchange(kernel::cuda::fast_math(), nullptr);
  CHECK(has(message_of([] { set_context(fast); }), "include <tenon/backend/cuda/fast.hpp>"));
  CHECK(get_context().device_target == "CPU");
  CHECK(get_context().math == Math::exact);
  kernel::cuda::fast_math() = libraries;
  const kernel::cuda::LoadedLibrary library("libcublasLt.so.13", "cuBLAS 13");
  CHECK(has(message_of([&] {
              void (*found)() = nullptr;
              library.find(found, "cublasLtFly");
            }),
            "libcublasLt.so.13 has no function cublasLtFly, which Math::tf32 on GPU needs: install cuBLAS 13."));
  CHECK(has(message_of([] { kernel::cuda::LoadedLibrary("libcublasLt.so.99", "cuBLAS 99"); }),
            "needs libcublasLt.so.99, which cannot be loaded (cannot open shared object file): install cuBLAS 99"));
  const ContextScope on_cpu({.math = Math::tf32});
  const auto x = random_tensor<float, Shape<9, 9>>(1);
  const auto y = matmul(x, x);
  const ContextScope exact({.math = Math::exact});
  CHECK(same_bits(matmul(x, x), y));
}

TEST_CASE("every function of cuBLASLt fails once: an exception, and the next product is right") {
  const AnySize any;
  const auto product = [](const auto& x, const auto& y) { return matmul(x, y); };
  std::vector<std::string> names;
  for (const auto& [name, function] : emulator::library_functions()["libcublasLt.so.13"])
    if (name != "cublasLtGetStatusString" && name != "cublasLtCreate") names.push_back(name);
  CHECK(names.size() == 9);
  long rows = 2;
  for (const std::string& name : names) {  // products of a size that was not there before
    const auto x = random_tensor<float, Shape<dyn, 70>>(1, -2, 2, ++rows);
    const auto y = random_tensor<float, Shape<dyn, 70>>(1, -2, 2, rows);
    const auto z = random_tensor<float, Shape<70, 100>>(2);
    emulator::failing_function = name;
    const std::string message = message_of([&] { fast_result(product, x, z); });
    CHECK(has(message, (name + " of cuBLASLt failed: an emulated failure").c_str()));
    emulator::failing_function.clear();
    near(11, product, y, z);
  }
}

TEST_CASE("a product for which the library has no algorithm is exact") {
  const AnySize any;
  emulator::lt_has_no_algorithm = true;
  const auto x = random_tensor<float, Shape<11, 70>>(1);
  const auto square = [](const auto& v) { return matmul<Transposed::second>(v, v); };
  CHECK(same_bits(fast_result(square, x), square(x)));
  emulator::lt_has_no_algorithm = false;
}
#endif
