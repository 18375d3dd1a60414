// Convolutions and pooling of images, against MindSpore's results (golden/ops).
#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/structural.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;

namespace {

using Image = Shape<2, 4, 9, 10>;
constexpr Padding border{1, 2, 0, 1};

// x [2, 4, 9, 10] with Out channels, a kernel of kh by kw, and a bias.
template <int Out, int kh, int kw, Conv2dOptions options>
void check_conv(const std::string& name) {
  check_case(
      name, {},
      [](const auto& x, const auto& weight, const auto& bias) {
        return add(conv2d<options>(x, weight), reshape<Shape<Out, 1, 1>>(bias));
      },
      In<float, Image>{"x"}, In<float, Shape<Out, 4 / options.groups, kh, kw>>{"param/weight"},
      In<float, Shape<Out>>{"param/bias"});
}
template <int Out, int kh, int kw, Conv2dOptions options>
void check_conv_without_bias(const std::string& name) {
  check_case(
      name, {}, [](const auto& x, const auto& weight) { return conv2d<options>(x, weight); }, In<float, Image>{"x"},
      In<float, Shape<Out, 4, kh, kw>>{"param/weight"});
}
template <Pool2dOptions options>
void check_max(const std::string& name) {
  check_case(name, {}, [](const auto& x) { return max_pool2d<options>(x); }, In<float, Image>{"x"});
}
template <Pool2dOptions options>
void check_avg(const std::string& name) {
  check_case(name, {}, [](const auto& x) { return avg_pool2d<options>(x); }, In<float, Image>{"x"});
}

}  // namespace

const Group conv_same("conv2d, pad_mode same", [] {
  check_conv<6, 3, 3, Conv2dOptions{}>("conv2d_same_s1_d1");
  check_conv<6, 3, 3, Conv2dOptions{.dilation = 2}>("conv2d_same_s1_d2");
  check_conv<6, 5, 4, Conv2dOptions{.stride = 2}>("conv2d_same_s2_d1");
  check_conv<6, 5, 4, Conv2dOptions{.stride = 2, .dilation = 2}>("conv2d_same_s2_d2");
  check_conv_without_bias<6, 3, 3, Conv2dOptions{.stride = 3}>("conv2d_same_s3_d1");
});

const Group conv_valid("conv2d, pad_mode valid", [] {
  check_conv<6, 3, 3, Conv2dOptions{.pad_mode = PadMode::valid}>("conv2d_valid_s1_d1");
  check_conv<6, 3, 3, Conv2dOptions{.pad_mode = PadMode::valid, .dilation = 2}>("conv2d_valid_s1_d2");
  check_conv<6, 5, 4, Conv2dOptions{.stride = 2, .pad_mode = PadMode::valid}>("conv2d_valid_s2_d1");
  check_conv_without_bias<6, 3, 3, Conv2dOptions{.stride = 3, .pad_mode = PadMode::valid}>("conv2d_valid_s3_d1");
  check_conv<6, 1, 1, Conv2dOptions{.pad_mode = PadMode::valid}>("conv2d_1x1");
});

const Group conv_pad("conv2d, pad_mode pad", [] {
  check_conv<6, 3, 3, Conv2dOptions{.pad_mode = PadMode::pad, .padding = border}>("conv2d_pad_s1_d1");
  check_conv<6, 3, 3, Conv2dOptions{.pad_mode = PadMode::pad, .padding = border, .dilation = 2}>("conv2d_pad_s1_d2");
  check_conv<6, 5, 4, Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = border}>("conv2d_pad_s2_d1");
  check_conv<6, 5, 4, Conv2dOptions{.stride = 2, .pad_mode = PadMode::pad, .padding = border, .dilation = 2}>(
      "conv2d_pad_s2_d2");
  check_conv_without_bias<6, 3, 3, Conv2dOptions{.stride = 3, .pad_mode = PadMode::pad, .padding = border}>(
      "conv2d_pad_s3_d1");
});

const Group conv_groups("conv2d in groups, down to one channel each", [] {
  check_conv<6, 3, 3, Conv2dOptions{.groups = 2}>("conv2d_same_g2_o6");
  check_conv<4, 3, 3, Conv2dOptions{.groups = 4}>("conv2d_same_g4_o4");
  check_conv<8, 3, 3, Conv2dOptions{.groups = 4}>("conv2d_same_g4_o8");
  check_conv<6, 3, 3, Conv2dOptions{.pad_mode = PadMode::pad, .padding = 1, .groups = 2}>("conv2d_pad_g2_o6");
  check_conv<4, 3, 3, Conv2dOptions{.pad_mode = PadMode::pad, .padding = 1, .groups = 4}>("conv2d_pad_g4_o4");
  check_conv<8, 3, 3, Conv2dOptions{.pad_mode = PadMode::pad, .padding = 1, .groups = 4}>("conv2d_pad_g4_o8");
});

const Group max_pooling("max_pool2d", [] {
  check_max<Pool2dOptions{.kernel = 2, .stride = 2, .pad_mode = PadMode::same}>("maxpool2d_same_k2_s2");
  check_max<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}>("maxpool2d_same_k3_s2");
  check_max<Pool2dOptions{.kernel = 3, .stride = 1, .pad_mode = PadMode::same}>("maxpool2d_same_k3_s1");
  check_max<Pool2dOptions{.kernel = 2, .stride = 2}>("maxpool2d_valid_k2_s2");
  check_max<Pool2dOptions{.kernel = 3, .stride = 2}>("maxpool2d_valid_k3_s2");
  check_max<Pool2dOptions{.kernel = 3, .stride = 1}>("maxpool2d_valid_k3_s1");
  check_max<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1}>("maxpool2d_pad");
});

const Group avg_pooling("avg_pool2d", [] {
  check_avg<Pool2dOptions{.kernel = 2, .stride = 2, .pad_mode = PadMode::same}>("avgpool2d_same_k2_s2");
  check_avg<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}>("avgpool2d_same_k3_s2");
  check_avg<Pool2dOptions{.kernel = 3, .stride = 1, .pad_mode = PadMode::same}>("avgpool2d_same_k3_s1");
  check_avg<Pool2dOptions{.kernel = 2, .stride = 2}>("avgpool2d_valid_k2_s2");
  check_avg<Pool2dOptions{.kernel = 3, .stride = 2}>("avgpool2d_valid_k3_s2");
  check_avg<Pool2dOptions{.kernel = 3, .stride = 1}>("avgpool2d_valid_k3_s1");
  check_avg<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1}>("avgpool2d_pad");
});
