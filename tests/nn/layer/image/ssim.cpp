// Cells of more.hpp for images: crops, differences of pixels, similarity. Values are those of the formulas in float64,
// computed with PyTorch's convolution.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <limits>

#include <tenon/more.hpp>

#include "../../../support/both_modes.hpp"
#include "../../../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {
/// Pixel i is (i factor) mod 97 / 96.
template <class T, class S>
Tensor<T, S> image(long factor, long n = 1) {
  auto t = Tensor<T, S>::empty(n);
  for (long i = 0; i < t.count(); ++i) t.values()[std::size_t(i)] = T(double(i * factor % 97) / 96);
  return t;
}
template <class T, class S>
Tensor<T, S> changed(long n = 1) {
  return add(mul(image<T, S>(7, n), 0.8), mul(image<T, S>(5, n), 0.1));
}
}  // namespace

TEST_CASE("SSIM, PSNR: values, gradients, equal images") {
  using Images = Shape<dyn, 3, 16, 14>;
  const auto x = image<float, Images>(7, 2), y = changed<float, Images>(2);
  const auto ssim = both_modes([](const auto& a, const auto& b) { return nn::SSIM<>{}(a, b); }, x, y).result;
  CHECK(ssim.data()[0] == doctest::Approx(0.94261275).epsilon(1e-4));
  CHECK(ssim.data()[1] == doctest::Approx(0.95335121).epsilon(1e-4));
  CHECK(nn::SSIM<>{}(x, x).data()[1] == doctest::Approx(1).epsilon(1e-5));
  const auto psnr = both_modes([](const auto& a, const auto& b) { return nn::PSNR{}(a, b); }, x, y).result;
  CHECK(psnr.data()[0] == doctest::Approx(21.677694).epsilon(1e-5));
  CHECK(psnr.data()[1] == doctest::Approx(21.678071).epsilon(1e-5));
  CHECK(nn::PSNR{}(x, x).data()[0] == std::numeric_limits<float>::infinity());
  using Small = Shape<1, 1, 5, 4>;
  constexpr auto small = [](const auto& a, const auto& b) {
    return nn::SSIM<nn::SsimConfig{.filter_size = 3}>{}(a, b);
  };
  check_gradients(small, image<double, Small>(7), changed<double, Small>());
  check_gradients([](const auto& a, const auto& b) { return nn::PSNR{}(a, b); }, image<double, Small>(7),
                  changed<double, Small>());
}

TEST_CASE("MSSSIM: five sizes") {
  using Images = Shape<dyn, 1, 48, 64>;
  const auto x = image<float, Images>(7, 2), y = changed<float, Images>(2);
  constexpr auto small = [](const auto& a, const auto& b) {
    return nn::MSSSIM<nn::SsimConfig{.filter_size = 3}>{}(a, b);
  };
  const auto all = both_modes(small, x, y).result;
  CHECK(all.data()[0] == doctest::Approx(0.97894684).epsilon(1e-4));
  CHECK(all.data()[1] == doctest::Approx(0.97659606).epsilon(1e-4));
}

TEST_CASE("ImageGradients: differences, zeros at the end") {
  const auto x = tensor_of<float, Shape<1, 1, 2, 3>>({1, 2, 4, 8, 16, 32});
  const auto dy = both_modes([](const auto& v) { return std::get<0>(nn::ImageGradients{}(v)); }, x).result;
  const auto dx = both_modes([](const auto& v) { return std::get<1>(nn::ImageGradients{}(v)); }, x).result;
  CHECK(same_bits(dy, tensor_of<float, Shape<1, 1, 2, 3>>({7, 14, 28, 0, 0, 0})));
  CHECK(same_bits(dx, tensor_of<float, Shape<1, 1, 2, 3>>({1, 2, 0, 8, 16, 0})));
}

TEST_CASE("CentralCrop: odd and even extents, the whole image") {
  const auto x = image<float, Shape<dyn, 1, 5, 4>>(1, 2);
  const auto y = both_modes([](const auto& v) { return nn::CentralCrop<0.5f>{}(v); }, x).result;
  static_assert(decltype(y)::dims[2] == 3 && decltype(y)::dims[3] == 2);
  CHECK(y.data()[0] == x.data()[5]);
  CHECK(y.data()[11] == x.data()[34]);
  CHECK(same_bits(nn::CentralCrop<1.0f>{}(x), x));
}
