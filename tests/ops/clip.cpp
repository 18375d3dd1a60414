// Clipping of tensors: gradients at zero and at the limits, NaN, in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/ops/clip.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class T, class S>
bool all_are(const Tensor<T, S>& x, double value) {
  for (const T v : x.values())
    if (!(double(v) == value || (std::isnan(double(v)) && std::isnan(value)))) return false;
  return x.count() > 0;
}
constexpr auto by_norm = [](const auto& x) { return ops::clip_by_norm(x, 1.0f); };
constexpr auto by_global_norm = [](const auto& x, const auto& y) {
  const auto both = ops::clip_by_global_norm(std::tuple(x, y), 1.0f);
  return std::get<0>(both) + std::get<1>(both);
};
template <class T>
Tensor<T, Shape<3>> vector(T a, T b, T c) {
  return tensor_of<T, Shape<3>>({a, b, c});
}
}  // namespace

TEST_CASE("clipping by a norm: the gradient at zeros is that from above, as PyTorch's x c / clamp(norm, min=c)") {
  const auto check = []<class T>(T) {
    const auto weight = random_tensor<T, Shape<3>>(815, -1, 1);  // both_modes' gradient from above
    const auto zero = vector<T>(T(0), T(0), T(0));
    CHECK(same_bits(std::get<0>(both_modes(by_norm, zero).gradient), weight));
    const auto list = both_modes(by_global_norm, zero, zero);
    CHECK(same_bits(std::get<0>(list.gradient), weight));
    CHECK(same_bits(std::get<1>(list.gradient), weight));
    const auto tiny = vector<T>(T(1e-30f), T(0), T(-1e-30f));  // its squares are 0
    CHECK(same_bits(std::get<0>(both_modes(by_norm, tiny).gradient), weight));
  };
  check(float()), check(double()), check(float16()), check(bfloat16());
}

TEST_CASE("clipping by a norm: one that is larger gives its direction, and a NaN is everywhere") {
  CHECK(same_bits(both_modes(by_norm, vector(0.0f, 3.0f, 4.0f)).result, vector(0.0f, 0.6f, 0.8f)));
  CHECK(all_are(both_modes<SameNumbers>(by_norm, vector(0.0f, NAN, 4.0f)).result, NAN));
  const auto zero = vector(0.0f, 0.0f, 0.0f);
  CHECK(all_are(both_modes<SameNumbers>(by_global_norm, zero, vector(NAN, 0.0f, 0.0f)).result, NAN));
}

TEST_CASE("clip_by_value: half of the gradient at a limit, a quarter where both limits are equal") {
  const auto weight = random_tensor<float, Shape<3>>(815, -1, 1);
  const auto gradient = [](auto f, float a, float b, float c) {
    return std::get<0>(both_modes(f, vector(a, b, c)).gradient);
  };
  const auto inside = gradient([](const auto& x) { return ops::clip_by_value(x, -1.0f, 1.0f); }, -1, 0.5f, 2);
  CHECK(same_bits(inside, vector(weight.data()[0] / 2, weight.data()[1], 0.0f)));
  const auto point = gradient([](const auto& x) { return ops::clip_by_value(x, 1.0f, 1.0f); }, 1, 0, 2);
  CHECK(same_bits(point, vector(weight.data()[0] / 4, 0.0f, 0.0f)));
}
