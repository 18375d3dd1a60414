// Reference: operators that move elements, at every dtype: all bits as on the CPU.
// label: long
#define TENON_TARGET reference
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>

#include <tenon/core/context.hpp>
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/one_hot.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/triangle.hpp>

#include "../../../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
template <class F, class... X>
void check_bits(const F& f, const X&... x) {
  const auto here = f(x...);
  const auto there = [&] {
    const ContextScope scope({.device_target = "Reference"});
    return f(x.copy()...);
  }();
  CHECK(same_bits(here, there));
}
/// Calls f with an element of each dtype.
template <class F>
void each_dtype(F f) {
  (f(true), f(std::int8_t{1}), f(std::int16_t{1}), f(std::int32_t{1}), f(std::int64_t{1}));
  (f(std::uint8_t{1}), f(std::uint16_t{1}), f(std::uint32_t{1}), f(std::uint64_t{1}));
  (f(float16(1.0f)), f(bfloat16(1.0f)), f(1.0f), f(1.0));
}
}  // namespace

TEST_CASE("every dtype: moved elements, numbers of elements") {
  each_dtype([]<class T>(T) {
    CAPTURE(name(dtype_of<T>));
    for (const long n : {1, 3}) {
      const auto x = random_tensor<T, Shape<dyn, 3, 5>>(7, 0, 9, n);
      check_bits([](const auto& v) { return slice<Part{}, Part{.step = -1}, Part{1, 5, 2}>(v); }, x);
      check_bits([](const auto& v) { return slice<Part{}, Part{-2}>(v); }, x);
      check_bits([](const auto& v) { return std::get<1>(split_sizes<-1, 2, 3>(v)); }, x);
      check_bits([](const auto& v) { return pad<Margin{}, Margin{0, 2}, Margin{1, 3}>(v, 1); }, x);
      check_bits([](const auto& v) { return transpose<0, 2, 1>(v); }, x);
      check_bits([](const auto& v) { return tril<-1>(v); }, x);
      check_bits([](const auto& v) { return triu<1>(v); }, x);
      check_bits([](const auto& v) { return full_like(v, 1); }, x);
      check_bits([](const auto& v) { return identity(stop_gradient(v)); }, x);
      check_bits([](const auto& v) { return argmax(v); }, x);
      check_bits([](const auto& v) { return ops::argmin<1, true>(v); }, x);
      check_bits([](const auto& v) { return ops::broadcast_to<Shape<2, 4, 3>>(v); },
                 random_tensor<T, Shape<4, 1>>(8, 0, 9));
      check_bits([](const auto& v) { return split<0, 3>(v)[2]; }, random_tensor<T, Shape<times<3>, 2>>(9, 0, 9, n));
      check_bits([](const auto& table, const auto& i) { return gather(table, i); },
                 random_tensor<T, Shape<5, 3>>(1, 0, 9), random_tensor<std::int64_t, Shape<dyn, 2>>(2, -5, 5, n));
      const auto numbers = random_tensor<std::int32_t, Shape<dyn, 2>>(3, 0, 5, n);
      check_bits([](const auto& i) { return one_hot<5, T>(i); }, numbers);
      check_bits([](const auto& i) { return ops::arange<7, T, 20, -3>(i); }, numbers);
    }
  });
}

TEST_CASE("the leading extent in pieces, and gradients, at every floating-point dtype") {
  each_dtype([]<class T>(T) {
    if constexpr (is_floating(dtype_of<T>))
      for (const long n : {1, 4}) {
        CAPTURE(name(dtype_of<T>));
        const auto x = random_tensor<T, Shape<times<3>, 4, 5>>(7, -2, 2, n);
        both_modes(
            [](const auto& v) {
              const auto [a, b, c] = split<0, 3>(v);
              return pad<Margin{}, Margin{1, 1}, Margin{0, 2}>(tril(a) + b * stop_gradient(c), 2);
            },
            x);
        both_modes(
            [](const auto& v) { return transpose<1, 0>(slice<Part{.step = -3}, Part{}>(reduce_mean<0>(identity(v)))); },
            x);
      }
  });
}

TEST_CASE("a NaN of 16 bits stays as it is, and is the best of all") {
  Tensor<float16, Shape<4>> x = tensor_of<float16, Shape<4>>({float16(1), float16(2), float16(3), float16(4)});
  x.data()[2].bits = 0x7d01;  // a signalling one with a number in it
  check_bits([](const auto& v) { return identity(v); }, x);
  check_bits([](const auto& v) { return slice<Part{1}>(v); }, x);
  check_bits([](const auto& v) { return argmax(v); }, x);
  check_bits([](const auto& v) { return argmin(v); }, x);
}
