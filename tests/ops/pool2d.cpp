// The derivative of the gradient of max pooling; tests/property/pool.cpp has pooling itself.
#include <doctest/doctest.h>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;

TEST_CASE("elements at the places of maxima, and their gradient, with overlapping windows and a padding") {
  using Image = Tensor<float, Shape<dyn, 2, 5, 4>>;
  constexpr Pool2dOptions options{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};
  static constexpr ops::Pool2dGradAttributes config(ops::detail::pool_attributes(options, Image::dims), Image::dims);
  const auto image = support::random_tensor<float, Shape<dyn, 2, 5, 4>>(1, -1, 1, 3);
  auto places = Tensor<std::uint8_t, Shape<dyn, 2, 3, 2>>::empty(3);
  for (long i = 0; i < places.count(); ++i)  // in the window, and not in the padding
    places.data()[i] = std::uint8_t(3 + 1 + i % 5 % 2);
  const auto taken = support::both_modes(
      [](const auto& p, const auto& v) { return apply<ops::MaxPool2dTaken, config>({}, p, v); }, places, image);
  // window (1, 1) of the second plane of the last sample sees the pixels from (1, 1) on
  const long window = (2 * 2 + 1) * 6 + 3, place = places.data()[window], pixel = (1 + place / 3) * 4 + 1 + place % 3;
  CHECK(taken.result.data()[window] == image.data()[(2 * 2 + 1) * 20 + pixel]);
}
