// Networks that several tests train or plan.
#pragma once
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/pool2d.hpp>
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/transpose.hpp>

namespace support {

namespace nn = tenon::nn;
using tenon::Shape, tenon::dyn;

/// LeNet-5 as MindSpore's tutorial has it: images [n, 1, 28, 28] to 10 logits.
struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = tenon::PadMode::same, .has_bias = true}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = tenon::PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;

  constexpr auto construct(auto x) const {
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

/// Three fully connected layers: rows [n, 20] to 4 logits.
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<20, 64> fc1;
  nn::Dense<64, 32> fc2;
  nn::Dense<32, 4> fc3;

  constexpr auto construct(auto x) const { return fc3(relu(fc2(relu(fc1(x))))); }
};

/// Batch normalization, dropout, and a residual: images [n, 3, 8, 8] to 5 logits.
struct SmallResNet : nn::Cell<SmallResNet> {
  static constexpr nn::Conv2dConfig plain{};
  nn::Conv2d<3, 8, 3, plain> conv1;
  nn::BatchNorm2d<8> bn1;
  nn::Conv2d<8, 8, 3, plain> conv2;
  nn::BatchNorm2d<8> bn2;
  nn::Dropout<nn::DropoutConfig{.p = 0.25f}> drop1;
  nn::Dense<128, 16> fc1;
  nn::BatchNorm1d<16> bn3;
  nn::Dropout<> drop2;
  nn::Dense<16, 5> fc2;

  constexpr auto construct(auto x) const {
    auto a = relu(bn1(conv1(x)));
    auto b = relu(bn2(conv2(a)) + a);
    auto c = drop1(max_pool2d<2>(b));
    return fc2(drop2(relu(bn3(fc1(flatten(c))))));
  }
};

/// A ResNet-50 bottleneck: 1x1, 3x3, 1x1, with a projection where the shape changes.
template <int In, int Width, int stride>
struct Bottleneck : nn::Cell<Bottleneck<In, Width, stride>> {
  nn::Conv2d<In, Width, 1> conv1;
  nn::BatchNorm2d<Width> bn1;
  nn::Conv2d<Width, Width, 3, nn::Conv2dConfig{.stride = stride}> conv2;
  nn::BatchNorm2d<Width> bn2;
  nn::Conv2d<Width, 4 * Width, 1> conv3;
  nn::BatchNorm2d<4 * Width> bn3;
  nn::Conv2d<In, 4 * Width, 1, nn::Conv2dConfig{.stride = stride}> projection;
  nn::BatchNorm2d<4 * Width> projection_bn;

  constexpr auto construct(auto x) const {
    auto y = bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x))))))));
    return relu(y + projection_bn(projection(x)));
  }
};
/// Two bottlenecks and a classifier: images [n, 16, 16, 16] to 10 logits.
struct Bottlenecks : nn::Cell<Bottlenecks> {
  Bottleneck<16, 16, 1> first;
  Bottleneck<64, 32, 2> second;
  nn::Dense<128, 10> fc;

  constexpr auto construct(auto x) const {
    auto features = second(first(x));
    return fc(tenon::ops::reduce_mean<2, 3>(features));
  }
};

/// A pre-norm transformer block with `Heads` heads: [n, Tokens, Width] to the same.
template <int Tokens, int Width, int Heads>
struct TransformerBlock : nn::Cell<TransformerBlock<Tokens, Width, Heads>> {
  static constexpr int size = Width / Heads;
  nn::LayerNorm<Shape<Width>> norm1;
  nn::Dense<Width, Width> query, key, value, projection;
  nn::LayerNorm<Shape<Width>> norm2;
  nn::Dense<Width, 4 * Width> up;
  nn::Dense<4 * Width, Width> down;

  static constexpr auto heads(auto x) {
    return tenon::ops::transpose<0, 2, 1, 3>(tenon::ops::reshape<Shape<dyn, Tokens, Heads, size>>(x));
  }
  constexpr auto attention(auto x) const {
    auto q = heads(query(x)), k = heads(key(x)), v = heads(value(x));
    auto weights = tenon::ops::softmax(tenon::ops::matmul<tenon::ops::Transposed::second>(q, k) * 0.25f);
    auto mixed = tenon::ops::transpose<0, 2, 1, 3>(tenon::ops::matmul(weights, v));
    return projection(tenon::ops::reshape<Shape<dyn, Tokens, Width>>(mixed));
  }
  constexpr auto construct(auto x) const {
    auto h = x + attention(norm1(x));
    return h + down(relu(up(norm2(h))));
  }
};
/// Two transformer blocks and a classifier: [n, 12, 32] to 6 logits.
struct Transformer : nn::Cell<Transformer> {
  TransformerBlock<12, 32, 2> first, second;
  nn::Dense<32, 6> fc;

  constexpr auto construct(auto x) const { return fc(tenon::ops::reduce_mean<1>(second(first(x)))); }
};

}  // namespace support
