// ResNet-18 for 32 x 32 images (He et al. 2016; a first convolution of 3x3 and no pooling, as is usual for CIFAR).
#pragma once
#include <tenon/tenon.hpp>

namespace models {
using namespace tenon;

/// A convolution that pads as PyTorch does: half of the kernel on all sides. winograd: where it can be.
template <int In, int Out, Pair kernel, Pair stride, ConvAlgorithm algorithm>
using Convolution18 =
    nn::Conv2d<In, Out, kernel,
               nn::Conv2dConfig{
                   .stride = stride,
                   .pad_mode = PadMode::pad,
                   .padding = kernel.h / 2,
                   .algorithm = kernel == Pair(3) && stride == Pair(1) ? algorithm : ConvAlgorithm::direct}>;

/// Two 3x3 convolutions with batch norms; the input is added, by way of a 1x1 convolution where its shape changes.
template <int In, int Out, int stride, ConvAlgorithm algorithm, bool projects = In != Out>
struct BasicBlock : nn::Cell<BasicBlock<In, Out, stride, algorithm, projects>> {
  Convolution18<In, Out, 3, stride, algorithm> conv1;
  nn::BatchNorm2d<Out> bn1;
  Convolution18<Out, Out, 3, 1, algorithm> conv2;
  nn::BatchNorm2d<Out> bn2;

  constexpr auto construct(auto x) const { return relu(bn2(conv2(relu(bn1(conv1(x))))) + x); }
};
template <int In, int Out, int stride, ConvAlgorithm algorithm>
struct BasicBlock<In, Out, stride, algorithm, true> : nn::Cell<BasicBlock<In, Out, stride, algorithm, true>> {
  Convolution18<In, Out, 3, stride, algorithm> conv1;
  nn::BatchNorm2d<Out> bn1;
  Convolution18<Out, Out, 3, 1, algorithm> conv2;
  nn::BatchNorm2d<Out> bn2;
  Convolution18<In, Out, 1, stride, ConvAlgorithm::direct> down;
  nn::BatchNorm2d<Out> down_bn;

  constexpr auto construct(auto x) const { return relu(bn2(conv2(relu(bn1(conv1(x))))) + down_bn(down(x))); }
};

template <int In, int Out, int stride, ConvAlgorithm algorithm>
struct Stage18 : nn::Cell<Stage18<In, Out, stride, algorithm>> {
  BasicBlock<In, Out, stride, algorithm> first;
  BasicBlock<Out, Out, 1, algorithm> second;
  constexpr auto construct(auto x) const { return second(first(x)); }
};

template <ConvAlgorithm algorithm>
struct ResNet18By : nn::Cell<ResNet18By<algorithm>> {
  Convolution18<3, 64, 3, 1, ConvAlgorithm::direct> conv1;  // three channels are too few to be worth a transform
  nn::BatchNorm2d<64> bn1;
  Stage18<64, 64, 1, algorithm> layer1;
  Stage18<64, 128, 2, algorithm> layer2;
  Stage18<128, 256, 2, algorithm> layer3;
  Stage18<256, 512, 2, algorithm> layer4;
  nn::Dense<512, 10> fc;

  constexpr auto construct(auto x) const {  // x: [n, 3, 32, 32]
    return fc(reduce_mean<2, 3>(layer4(layer3(layer2(layer1(relu(bn1(conv1(x)))))))));
  }
};
using ResNet18 = ResNet18By<ConvAlgorithm::direct>;

}  // namespace models
