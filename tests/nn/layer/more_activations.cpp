// Activation functions of tenon/more.hpp as cells: the operators, and PReLU's parameter, trained in both modes.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "../support.hpp"

#include <tenon/more.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {
using Activations = nn::SequentialCell<nn::Dense<8, 8>, nn::PReLU<8>, nn::Dense<8, 8>, nn::Mish, nn::LeakyReLU<0.1f>,
                                       nn::Dense<8, 3>, nn::ELU<>>;
struct Images : nn::Cell<Images> {
  nn::PReLU<3> act;
  nn::PReLU<> one;
  constexpr auto construct(auto x) const { return one(act(x)); }
};
}  // namespace

TEST_CASE("cells of activations are the operators") {
  const auto x = random_tensor<float, Shape<dyn, 5>>(1, -4, 4, 3);
  CHECK(same_bits(nn::ReLU6{}(x), ops::relu6(x)));
  CHECK(same_bits(nn::Hardtanh<-2, 1>{}(x), ops::hardtanh(x, -2, 1)));
  CHECK(same_bits(nn::HSigmoid{}(x), ops::hsigmoid(x)));
  CHECK(same_bits(nn::HSwish{}(x), ops::hswish(x)));
  CHECK(same_bits(nn::LeakyReLU<>{}(x), ops::leaky_relu(x, 0.2f)));
  CHECK(same_bits(nn::ELU<2>{}(x), ops::elu(x, 2)));
  CHECK(same_bits(nn::CELU<2>{}(x), ops::celu(x, 2)));
  CHECK(same_bits(nn::SeLU{}(x), ops::selu(x)));
  CHECK(same_bits(nn::Mish{}(x), ops::mish(x)));
  CHECK(same_bits(nn::LogSigmoid{}(x), ops::logsigmoid(x)));
  CHECK(same_bits(nn::HShrink<1>{}(x), ops::hardshrink(x, 1)));
  CHECK(same_bits(nn::SoftShrink<>{}(x), ops::softshrink(x, 0.5)));
  CHECK(same_bits(nn::Softsign{}(x), ops::softsign(x)));
  CHECK(same_bits(nn::FastGelu{}(x), ops::fast_gelu(x)));
}

TEST_CASE("PReLU: one slope per channel, 0.25 at first, and it learns") {
  Images net;
  const auto x = random_tensor<float, Shape<dyn, 3, 2, 2>>(2, -4, 4, 3), y = net(x);
  for (std::size_t i = 0; i < x.values().size(); ++i)
    CHECK(y.values()[i] == (x.values()[i] > 0 ? 1 : 0.0625f) * x.values()[i]);
  check_training<Activations, Shape<8>>(20);
}
