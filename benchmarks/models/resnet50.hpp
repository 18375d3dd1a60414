// ResNet-50 for 224 x 224 images (He et al. 2016), to measure what a deep model costs to compile and to run.
#pragma once
#include <tenon/tenon.hpp>

namespace models {
using namespace tenon;

template <int In, int Out, Pair kernel, Pair stride = 1>
using Convolution = nn::Conv2d<In, Out, kernel, nn::Conv2dConfig{.stride = stride, .pad_mode = PadMode::same}>;

/// 1x1, 3x3, 1x1 with batch norms; the input is added, by way of a 1x1 convolution where its shape changes.
template <int In, int Middle, int stride, bool projects>
struct Bottleneck : nn::Cell<Bottleneck<In, Middle, stride, projects>> {
  Convolution<In, Middle, 1> conv1;
  nn::BatchNorm2d<Middle> bn1;
  Convolution<Middle, Middle, 3, stride> conv2;
  nn::BatchNorm2d<Middle> bn2;
  Convolution<Middle, 4 * Middle, 1> conv3;
  nn::BatchNorm2d<4 * Middle> bn3;

  constexpr auto construct(auto x) const { return relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + x); }
};
template <int In, int Middle, int stride>
struct Bottleneck<In, Middle, stride, true> : nn::Cell<Bottleneck<In, Middle, stride, true>> {
  Convolution<In, Middle, 1> conv1;
  nn::BatchNorm2d<Middle> bn1;
  Convolution<Middle, Middle, 3, stride> conv2;
  nn::BatchNorm2d<Middle> bn2;
  Convolution<Middle, 4 * Middle, 1> conv3;
  nn::BatchNorm2d<4 * Middle> bn3;
  Convolution<In, 4 * Middle, 1, stride> down_sample;
  nn::BatchNorm2d<4 * Middle> down_bn;

  constexpr auto construct(auto x) const {
    return relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + down_bn(down_sample(x)));
  }
};

template <int In, int Middle, int stride, int blocks>
struct Stage : nn::Cell<Stage<In, Middle, stride, blocks>> {
  Bottleneck<In, Middle, stride, true> first;
  nn::CellList<Bottleneck<4 * Middle, Middle, 1, false>, blocks - 1> rest;

  constexpr auto construct(auto x) const { return rest(first(x)); }
};

struct ResNet50 : nn::Cell<ResNet50> {
  Convolution<3, 64, 7, 2> conv1;
  nn::BatchNorm2d<64> bn1;
  Stage<64, 64, 1, 3> layer1;
  Stage<256, 128, 2, 4> layer2;
  Stage<512, 256, 2, 6> layer3;
  Stage<1024, 512, 2, 3> layer4;
  nn::Dense<2048, 1000> fc;

  constexpr auto construct(auto x) const {  // x: [n, 3, 224, 224]
    auto a = max_pool2d<Pool2dOptions{.kernel = 3, .stride = 2, .pad_mode = PadMode::same}>(relu(bn1(conv1(x))));
    return fc(reduce_mean<2, 3>(layer4(layer3(layer2(layer1(a))))));
  }
};

}  // namespace models
