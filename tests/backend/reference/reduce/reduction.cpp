// Reference: sums, means, products, and their derivatives, row by row against the CPU.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/gather.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_prod.hpp>
#include <tenon/ops/structural.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class F>
void each_float(F f) {
  f(1.0f), f(1.0), f(float16(1.0f)), f(bfloat16(1.0f));
}
}  // namespace

TEST_CASE("what was broadcast is summed, also a bias of images and the rows of a table") {
  each_float([]<class T>(T) {
    for (const long n : {1, 5}) {
      CAPTURE(name(dtype_of<T>));
      const auto images = random_tensor<T, Shape<dyn, 3, 5, 7>>(1, -1, 1, n);
      const auto add = [](const auto& a, const auto& b) { return a * b + b; };
      both_modes(add, images, random_tensor<T, Shape<3, 1, 1>>(2));
      both_modes(add, images, random_tensor<T, Shape<1, 5, 1>>(3));
      both_modes(add, images, random_tensor<T, Shape<>>(4));
      both_modes(add, images, random_tensor<T, Shape<dyn, 1, 1, 7>>(5, -1, 1, n));
      both_modes([](const auto& table, const auto& numbers) { return gather(table, numbers); },
                 random_tensor<T, Shape<5, 3>>(6), random_tensor<std::int64_t, Shape<dyn, 9>>(7, -5, 5, n));
    }
  });
  both_modes([](const auto& v) { return ops::broadcast_to<Shape<4, 2, 3>>(v); }, random_tensor<float, Shape<2, 1>>(8));
}

TEST_CASE("means and products, also with zeros among the factors") {
  each_float([]<class T>(T) {
    for (const long n : {1, 5}) {
      CAPTURE(name(dtype_of<T>));
      auto x = random_tensor<T, Shape<dyn, 3, 5>>(1, -1, 1, n);
      x.data()[2] = T(0.0f), x.data()[7] = T(0.0f), x.data()[9] = T(0.0f);
      both_modes([](const auto& v) { return reduce_mean<0>(v); }, x);
      both_modes([](const auto& v) { return ops::reduce_mean_keep<-1>(v) * v; }, x);
      both_modes([](const auto& v) { return reduce_mean(v); }, x);
      both_modes([](const auto& v) { return reduce_prod<2>(v); }, x);
      both_modes([](const auto& v) { return ops::reduce_prod_keep<1>(v); }, x);
    }
  });
}
