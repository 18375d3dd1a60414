// A residual network of two blocks with batch normalization; the moving statistics are compared, too.
#include <tenon/nn/layer/conv/conv2d.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/norm/batch_norm.hpp>

#include "trajectories.hpp"

using namespace trajectories;

namespace resnet {

template <int In, int Out, int stride>
using Conv3x3 = nn::Conv2d<In, Out, 3, nn::Conv2dConfig{.stride = stride, .pad_mode = PadMode::pad, .padding = 1}>;

struct Block1 : nn::Cell<Block1> {
  Conv3x3<8, 8, 1> conv1;
  nn::BatchNorm2d<8> bn1;
  Conv3x3<8, 8, 1> conv2;
  nn::BatchNorm2d<8> bn2;
  constexpr auto construct(auto x) const { return relu(ops::add(bn2(conv2(relu(bn1(conv1(x))))), x)); }
};
struct Block2 : nn::Cell<Block2> {
  Conv3x3<8, 16, 2> conv1;
  nn::BatchNorm2d<16> bn1;
  Conv3x3<16, 16, 1> conv2;
  nn::BatchNorm2d<16> bn2;
  nn::Conv2d<8, 16, 1, nn::Conv2dConfig{.stride = 2, .pad_mode = PadMode::valid}> dconv;
  nn::BatchNorm2d<16> dbn;
  constexpr auto construct(auto x) const { return relu(ops::add(bn2(conv2(relu(bn1(conv1(x))))), dbn(dconv(x)))); }
};
struct Net : nn::Cell<Net> {
  nn::Conv2d<3, 8, 3> stem;
  nn::BatchNorm2d<8> bn;
  Block1 b1;
  Block2 b2;
  nn::Dense<16, 5> fc;
  constexpr auto construct(auto x) const { return fc(reduce_mean<2, 3>(b2(b1(relu(bn(stem(x))))))); }
};

struct Resnet : NothingNoisy {
  static constexpr const char* name = "resnet";
  using Net = resnet::Net;
  using Element = float;
  using Input = Shape<3, 12, 12>;
  using Label = Shape<>;
  static std::vector<float> input(const support::NpyArray& x) { return x.values<float>(); }
};

const Register all{
    {"resnet/sgd", [] { repeat<Resnet>("sgd", nn::SGD{.learning_rate = 0.05}); }},
    {"resnet/momentum",
     [] { repeat<Resnet>("momentum", nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f, .weight_decay = 1e-4f}); }},
    {"resnet/momentum_pynative",
     [] {
       repeat<Resnet>("momentum_pynative",
                      nn::Momentum{.learning_rate = 0.05, .momentum = 0.9f, .weight_decay = 1e-4f});
     }},
    {"resnet/adam", [] { repeat<Resnet>("adam", nn::Adam{.learning_rate = 0.003}); }},
};

}  // namespace resnet
