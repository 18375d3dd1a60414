// Small, made by tenon-import of small.onnx; small.safetensors has its weights.
#pragma once
#include <tenon/tenon.hpp>

namespace small {
using namespace tenon;

constexpr nn::Conv2dConfig with_bias{.has_bias = true};
constexpr nn::Conv2dConfig stride_2_with_bias{.stride = 2, .pad_mode = PadMode::pad, .padding = 1, .has_bias = true};

template <int Channels>
struct Block : nn::Cell<Block<Channels>> {
  nn::Conv2d<Channels, Channels, 3, with_bias> conv1, conv2;

  constexpr auto construct(auto x) const { return relu(conv2(relu(conv1(x))) + x); }
};

struct BlockWithDownsample : nn::Cell<BlockWithDownsample> {
  nn::Conv2d<4, 6, 3, stride_2_with_bias> conv1;
  nn::Conv2d<6, 6, 3, with_bias> conv2;
  nn::Conv2d<4, 6, 1, nn::Conv2dConfig{.stride = 2, .pad_mode = PadMode::valid, .has_bias = true}> downsample;

  constexpr auto construct(auto x) const { return relu(conv2(relu(conv1(x))) + downsample(x)); }
};

struct Small : nn::Cell<Small> {
  nn::Conv2d<1, 4, 3, stride_2_with_bias> stem;
  nn::SequentialCell<Block<4>, Block<4>, BlockWithDownsample, Block<6>> blocks;
  nn::Dense<6, 3> head;

  // image: [n, 1, 8, 8] -> [n, 3]
  constexpr auto construct(auto image) const { return log_softmax(head(reduce_mean<2, 3>(blocks(relu(stem(image)))))); }
};

}  // namespace small
