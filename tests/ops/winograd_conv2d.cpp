// Convolution by Winograd's algorithm as an operator: both modes with passes and epilogues, threads, batches,
// gradients, refusals.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor/compare.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/structural.hpp>

#include "../support/both_modes.hpp"
#include "../support/second_derivative.hpp"
#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr Conv2dOptions same{.algorithm = ConvAlgorithm::winograd},
    valid{.pad_mode = PadMode::valid, .algorithm = ConvAlgorithm::winograd};
constexpr Conv2dOptions uneven{.pad_mode = PadMode::pad, .padding = {0, 2, 1, 3}, .algorithm = ConvAlgorithm::winograd};

constexpr Conv2dOptions directly(Conv2dOptions o) {
  o.algorithm = ConvAlgorithm::direct;
  return o;
}
// The same numbers in float64.
template <class S>
auto widened(const Tensor<float, S>& x) {
  auto y = random_tensor<double, S>(1, 0, 1, x.n());
  for (std::size_t i = 0; i < y.values().size(); ++i) y.values()[i] = double(x.values()[i]);
  return y;
}
template <class A, class B>
void check_near(const A& found, const B& exact) {
  double square = 0, sum = 0;
  for (std::size_t i = 0; i < exact.values().size(); ++i) {
    const double e = exact.values()[i], d = found.values()[i] - e;
    square += e * e, sum += d * d;
  }
  REQUIRE(square > 0);
  CHECK(std::sqrt(sum / square) < 2e-6);
}

// Result and gradients in all modes and passes; their distance from float64.
template <Conv2dOptions options, class X, class W>
void check(long n) {
  CAPTURE(n);
  const auto x = random_tensor<float, X>(1, -2, 2, n);
  const auto w = random_tensor<float, W>(2);
  const auto found =
      both_modes([](const auto& image, const auto& weight) { return conv2d<options>(image, weight); }, x, w);
  const auto exact =
      both_modes([](const auto& image, const auto& weight) { return conv2d<directly(options)>(image, weight); },
                 widened(x), widened(w));
  check_near(found.result, exact.result);
}
// Of sum(y * y) / 2.
template <Conv2dOptions options, class X, class W>
auto gradients(X& x, W& w) {
  eager::Tape tape;
  tape.watch(x), tape.watch(w);
  const auto y = conv2d<options>(x, w);
  tape.backward(y, y);
  return std::pair{tape.gradient(x), tape.gradient(w)};
}
}  // namespace

TEST_CASE("Winograd in both modes, against float64, for any batch, padding, and extents") {
  for (long n = 1; n <= 7; ++n) check<same, Shape<dyn, 5, 7, 6>, Shape<3, 5, 3, 3>>(n);
  for (long n : {16, 17, 40}) check<same, Shape<dyn, 3, 13, 11>, Shape<17, 3, 3, 3>>(n);
  check<valid, Shape<dyn, 4, 9, 5>, Shape<6, 4, 3, 3>>(16);
  check<uneven, Shape<dyn, 4, 5, 10>, Shape<6, 4, 3, 3>>(3);
  check<same, Shape<16, 2, 4, 4>, Shape<2, 2, 3, 3>>(16);
}

TEST_CASE("gradients by Winograd, against float64") {
  for (long n : {1, 5, 16, 35}) {
    CAPTURE(n);
    const auto x = random_tensor<float, Shape<dyn, 6, 9, 7>>(1, -2, 2, n);
    const auto w = random_tensor<float, Shape<7, 6, 3, 3>>(2);
    auto x32 = x.copy();
    auto w32 = w.copy();
    auto x64 = widened(x);
    auto w64 = widened(w);
    const auto found = gradients<same>(x32, w32);
    const auto exact = gradients<directly(same)>(x64, w64);
    check_near(found.first, exact.first);
    check_near(found.second, exact.second);
  }
}

TEST_CASE("an epilogue changes no bit") {
  const auto w = random_tensor<float, Shape<9, 3, 3, 3>>(4);
  for (long n : {5, 20})
    both_modes([](const auto& image, const auto& weight,
                  const auto& bias) { return relu(conv2d<same>(image, weight) + bias); },
               random_tensor<float, Shape<dyn, 3, 9, 10>>(3, -2, 2, n), w, random_tensor<float, Shape<9, 1, 1>>(5));
}

TEST_CASE("threads and the batch size change no bit") {
  const auto w = random_tensor<float, Shape<40, 8, 3, 3>>(4);
  const auto x = random_tensor<float, Shape<dyn, 8, 14, 15>>(3, -2, 2, 64);
  const auto run = [&](int threads, const auto& image) {
    const ContextScope scope({.num_threads = threads});
    return conv2d<same>(image, w);
  };
  const auto y = run(1, x);
  CHECK(bit_equal(run(2, x), y));
  CHECK(bit_equal(run(3, x), y));
  const long in = x.count() / 64, out = y.count() / 64;
  for (long i = 0; i < 64; ++i) {
    auto one = random_tensor<float, Shape<dyn, 8, 14, 15>>(3, -2, 2, 1);
    std::copy_n(x.data() + i * in, in, one.values().data());
    CHECK(std::memcmp(run(1 + int(i % 3), one).data(), y.data() + i * out, std::size_t(out) * sizeof(float)) == 0);
  }
}

TEST_CASE("other dtypes are computed directly") {
  const auto x = random_tensor<double, Shape<dyn, 2, 5, 6>>(3, -2, 2, 3);
  const auto w = random_tensor<double, Shape<3, 2, 3, 3>>(4);
  CHECK(bit_equal(conv2d<same>(x, w), conv2d<directly(same)>(x, w)));
}

TEST_CASE("Winograd refuses other kernels and settings") {
  const auto refused = [](const Conv2dOptions& options, const TensorType& w) {
    constexpr TensorType image = type_of<float, Shape<dyn, 4, 8, 8>>;
    return refusal<ops::WinogradConv2d>(ops::Conv2d::config(options, image, w), {image, w});
  };
  CHECK(refused({.stride = 2}, type_of<float, Shape<6, 4, 3, 3>>) ==
        "Conv2d with ConvAlgorithm::winograd needs a kernel of 3 x 3, stride 1, dilation 1, and one group, got a "
        "weight [6,4,3,3], stride 2 x 2, "
        "dilation 1 x 1, groups 1: use ConvAlgorithm::direct");
  CHECK(refused({}, type_of<float, Shape<6, 4, 5, 3>>)
            .starts_with("Conv2d with ConvAlgorithm::winograd needs a kernel of 3 x 3"));
  CHECK(refused({.groups = 2}, type_of<float, Shape<6, 2, 3, 3>>)
            .starts_with("Conv2d with ConvAlgorithm::winograd needs a kernel of 3 x 3"));
  CHECK(refused({}, type_of<float, Shape<6, 3, 3, 3>>) ==
        "Conv2d got an input of 4 channels [n,4,8,8], its weight [6,3,3,3] needs 3");
}
