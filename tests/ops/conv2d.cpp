// What a convolution and a pooling refuse, each in one sentence.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/pool2d.hpp>

#include "../support/shape_rule.hpp"

using namespace tenon;
using namespace support;

namespace {
constexpr TensorType image = type_of<float, Shape<dyn, 4, 8, 8>>, weight = type_of<float, Shape<6, 4, 3, 3>>;

std::string conv(const Conv2dOptions& options, const TensorType& x = image, const TensorType& w = weight) {
  return refusal<ops::Conv2d>(ops::Conv2d::config(options, x, w), {x, w});
}
template <class Op>
std::string pool(const Pool2dOptions& options, const TensorType& x = image) {
  return refusal<Op>(ops::detail::pool_attributes(options, x), {x});
}
}  // namespace

TEST_CASE("Conv2d refuses settings below 1") {
  CHECK(conv({.stride = 0}) == "Conv2d got a stride of 0 x 0, the least is 1");
  CHECK(conv({.stride = {1, -2}, .pad_mode = PadMode::valid}) == "Conv2d got a stride of 1 x -2, the least is 1");
  CHECK(conv({.dilation = {0, 1}}) == "Conv2d got a dilation of 0 x 1, the least is 1");
  CHECK(conv({.groups = 0}) == "Conv2d got 0 groups, the least is 1");
}

TEST_CASE("Conv2d refuses operands that do not fit") {
  CHECK(conv({}, type_of<float, Shape<dyn, 4>>) == "Conv2d needs an input [n,C,H,W] of rank 4, got [n,4]");
  CHECK(conv({}, image, type_of<float, Shape<6, 4>>) ==
        "Conv2d needs a weight [O,C/groups,kh,kw] of rank 4, got [6,4]");
  CHECK(conv({}, type_of<int, Shape<dyn, 4, 8, 8>>, type_of<int, Shape<6, 4, 3, 3>>) ==
        "Conv2d needs floating-point numbers, got int32: cast them");
  CHECK(conv({}, type_of<float, Shape<dyn, 3, 8, 8>>) ==
        "Conv2d got an input of 3 channels [n,3,8,8], its weight [6,4,3,3] needs 4");
  CHECK(conv({.groups = 4}, type_of<float, Shape<dyn, 16, 8, 8>>) ==
        "Conv2d cannot divide 6 output channels in 4 groups");
  CHECK(conv({}, type_of<double, Shape<dyn, 4, 8, 8>>) == "Conv2d got an input of float64, its weight is float32");
  CHECK(conv({.pad_mode = PadMode::valid}, type_of<float, Shape<dyn, 4, 2, 8>>) ==
        "Conv2d got an input [n,4,2,8] smaller than its kernel [6,4,3,3]");
}

TEST_CASE("pooling refuses a window or a stride below 1, and what is no image") {
  CHECK(pool<ops::MaxPool2d>({.kernel = {0, 2}}) == "MaxPool2d got a window of [0,2], the least is [1,1]");
  CHECK(pool<ops::MaxPool2d>({.kernel = 2, .stride = -1}) == "MaxPool2d got a stride of -1 x -1, the least is 1");
  CHECK(pool<ops::MaxPool2d>({.kernel = 9}) == "MaxPool2d got an input [n,4,8,8] smaller than its window [9,9]");
  CHECK(pool<ops::MaxPool2d>({.kernel = 2}, type_of<float, Shape<dyn, 8, 8>>) ==
        "MaxPool2d needs an input [n,C,H,W] of rank 4, got [n,8,8]");
  CHECK(pool<ops::AvgPool2d>({.kernel = 2}, type_of<int, Shape<dyn, 4, 8, 8>>) ==
        "AvgPool2d needs floating-point numbers, got int32: cast them");
}
