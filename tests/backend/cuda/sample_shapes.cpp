// label: long
// A kernel per sample with the bits of the CPU: convolutions, pools, and products of many shapes, each with its
// gradients, by one block for a sample and by several.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <utility>

#include "sample.hpp"

using namespace sample_test;

namespace {
constexpr Padding uneven{1, 0, 2, 1};  // above, below, left, right

/// Strides, groups, kernels that are no squares, uneven padding.
struct Strided : nn::Cell<Strided> {
  nn::Conv2d<4, 6, 3, nn::Conv2dConfig{.stride = 2, .pad_mode = PadMode::pad, .padding = uneven, .has_bias = true}> one;
  nn::Conv2d<6, 6, Pair{1, 5}, nn::Conv2dConfig{.groups = 3, .has_bias = true}> two;
  nn::Conv2d<6, 4, Pair{4, 2}, nn::Conv2dConfig{.stride = Pair{1, 3}, .pad_mode = PadMode::valid}> three;
  nn::Dense<4 * 9 * 4, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(three(relu(two(relu(one(x)))))))); }
};
/// Dilations, of which strips have those of rows alone.
struct Dilated : nn::Cell<Dilated> {
  nn::Conv2d<2, 4, 3, nn::Conv2dConfig{.dilation = Pair{2, 1}, .has_bias = true}> one;
  nn::Conv2d<4, 4, 3, nn::Conv2dConfig{.dilation = 2}> two;
  nn::Dense<4 * 9 * 11, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(two(relu(one(x)))))); }
};
/// Sums of several segments: forward, for the input, and for the weight, whose rows are longer than a segment.
struct Segments : nn::Cell<Segments> {
  nn::Conv2d<1, 40, 3, nn::Conv2dConfig{.has_bias = true}> one;
  nn::Conv2d<40, 36, 3, nn::Conv2dConfig{}> two;
  nn::Conv2d<36, 2, 1, nn::Conv2dConfig{}> three;
  nn::Dense<2 * 5 * 6, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(three(relu(two(relu(one(x)))))))); }
};
struct LongRows : nn::Cell<LongRows> {
  nn::Conv2d<1, 3, 3, nn::Conv2dConfig{.has_bias = true}> one;
  nn::Conv2d<3, 2, 3, nn::Conv2dConfig{.stride = Pair{1, 4}}> two;
  nn::Dense<2 * 2 * 75, 3> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(two(relu(one(x)))))); }
};
/// Windows that cover an image, that overlap, and that leave something out.
struct Pools : nn::Cell<Pools> {
  nn::Conv2d<1, 3, 3, nn::Conv2dConfig{}> one, two, three;
  nn::Dense<3 * 3 * 3, 3> fc;
  constexpr auto construct(auto x) const {
    auto covered = max_pool2d<3>(one(x));            // 45 -> 15
    auto overlapping = max_pool2d<3, 2>(covered);    // 15 -> 7
    return fc(flatten(max_pool2d<2>(overlapping)));  // 7 -> 3
  }
};
/// Rows of 600 steps are three segments, rows of 30 are no whole fours, and a sample has four rows.
struct Products : nn::Cell<Products> {
  nn::Dense<600, 30> one;
  nn::Dense<30, 11> two;
  nn::Dense<44, 3> three;
  constexpr auto construct(auto x) const {
    return three(flatten(relu(two(relu(one(x))))));  // x: [n, 4, 600]
  }
};
}  // namespace

TEST_CASE("convolutions with strides, groups, uneven padding, and dilations") {
  works<Strided>(target_test::images<4, 25, 23>(6, 2, 3));
  works<Dilated>(target_test::images<2, 9, 11>(6, 2, 3));
}
TEST_CASE("sums of several segments") {
  works<Segments>(target_test::images<1, 5, 6>(4, 2, 3));
  works<LongRows>(target_test::images<1, 2, 300>(4, 2, 3));
}
TEST_CASE("windows of pools") { works<Pools>(target_test::images<1, 45, 45>(4, 2, 3)); }
TEST_CASE("products") { works<Products>(target_test::images<4, 600>(4, 2, 3)); }

#if defined(TENON_CUDA_EMULATOR)
TEST_CASE("the same by one block for a sample") {
  const int before = std::exchange(emulator::multiprocessors, 1);
  works<Strided>(target_test::images<4, 25, 23>(4, 2, 3));
  works<Segments>(target_test::images<1, 5, 6>(4, 2, 3));
  works<Products>(target_test::images<4, 600>(4, 2, 3));
  emulator::multiprocessors = before;
}
#endif
