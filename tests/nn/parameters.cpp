// Parameters at run time: lists, look-up, freezing by flag, clones, initial values, training flag.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "support.hpp"

#include <tenon/nn/layer/norm/batch_norm.hpp>
#include <tenon/nn/setting.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

struct Net : nn::Cell<Net> {
  nn::Dense<12, 16> fc1;
  nn::BatchNorm1d<16> norm;
  nn::Dense<16, 3> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(norm(fc1(x)))); }
};
struct Scaled : nn::Cell<Scaled> {
  Parameter<float, Shape<>, nn::Constant{2.0f}> scale;
  nn::Setting<3> offset;
  constexpr auto construct(auto x) const { return x * scale + offset; }
};
struct Whole : nn::Cell<Whole> {
  nn::Dense<3, 5> other;
  Net net;
  constexpr auto construct(auto x) const { return net(x); }
};
using X = Tensor<float, Shape<dyn, 12>>;

template <class P>
bool same(const P& a, const P& b) {
  return std::memcmp(a.values().data(), b.values().data(), a.values().size_bytes()) == 0;
}
auto data() { return samples<Shape<12>>(28) | dataset::batch(8); }
template <class List>
std::string names(const List& list) {
  std::string s;
  for (const ParameterRef& parameter : list) s += parameter.name() + " ";
  return s;
}

}  // namespace

TEST_CASE("parameters: lists in the order of the members, state among the untrainable ones") {
  Net net;
  std::string all;
  for (const auto& [name, parameter] : net.parameters_and_names())
    all += name + shape_text(parameter.view().shape()) + " ";
  CHECK(all == "fc1.weight[16, 12] fc1.bias[16] norm.gamma[16] norm.beta[16] norm.moving_mean[16] "
               "norm.moving_variance[16] fc2.weight[3, 16] fc2.bias[3] ");
  CHECK(names(net.trainable_params()) == "fc1.weight fc1.bias norm.gamma norm.beta fc2.weight fc2.bias ");
  CHECK(names(net.untrainable_params()) == "norm.moving_mean norm.moving_variance ");
  static_assert(Net::parameter_count() == 12 * 16 + 16 + 16 + 16 + 16 * 3 + 3);
  CHECK(names(net.fc2.trainable_params()) == "weight bias ");
}

TEST_CASE("parameters: a dictionary finds them and names the nearest of those that it has") {
  Net net;
  const ParameterDict parameters = net.parameters_dict();
  CHECK(parameters.size() == 8);
  CHECK(parameters.contains("norm.gamma"));
  CHECK(!parameters.contains("norm.gama"));
  CHECK(parameters["norm.gamma"].values<float>().data() == net.norm.gamma.values().data());
  CHECK_THROWS_WITH_AS(parameters["norm.gama"], doctest::Contains("The network has no parameter 'norm.gama'."),
                       KeyError);
  CHECK_THROWS_WITH_AS(parameters["norm.gama"], doctest::Contains("norm.gamma"), KeyError);
  CHECK_THROWS_AS(parameters["fc1.weight"].values<double>(), TypeError);
}

TEST_CASE(
    "parameters: a part that is frozen or told to train before the first use keeps the network's initial values") {
  Whole plain, frozen, told;
  plain.init_parameters();
  frozen.net.requires_grad(false);
  told.net.set_train(false), told.net.set_train();
  frozen.init_parameters(), told.init_parameters();
  CHECK(bits(told) == bits(plain));
  CHECK(same(frozen.net.fc1.weight, plain.net.fc1.weight));
  CHECK(names(frozen.trainable_params()) == "other.weight other.bias ");
  CHECK(ParameterList(told).arena()->training);
  Model model{frozen, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
  model.train(1, data());
  CHECK(same(frozen.net.fc1.weight, plain.net.fc1.weight));
  CHECK(same(frozen.net.norm.moving_mean, plain.net.norm.moving_mean));
}

TEST_CASE("parameters: set_data copies, and refuses another shape or dtype without a change") {
  Net net;
  const auto parameters = net.parameters_dict();
  const auto bias = random_tensor<float, Shape<3>>(5);
  parameters["fc2.bias"].set_data(bias.view());
  CHECK(std::memcmp(net.fc2.bias.values().data(), bias.data(), 12) == 0);
  CHECK_THROWS_WITH_AS(parameters["fc2.bias"].set_data((random_tensor<float, Shape<4>>(6).view())),
                       "Parameter 'fc2.bias' has the shape [3], set_data got [4].", ValueError);
  CHECK_THROWS_WITH_AS(parameters["fc2.bias"].set_data((random_tensor<double, Shape<3>>(6).view())),
                       "Parameter 'fc2.bias' holds float32, set_data got float64: cast the values.", TypeError);
  CHECK(std::memcmp(net.fc2.bias.values().data(), bias.data(), 12) == 0);
}

TEST_CASE("parameters: one with a single element has it as item()") {
  Scaled net;
  CHECK(net.offset.item() == 3);
  CHECK_THROWS_AS(net.scale.item(), RuntimeError);
  net.init_parameters();
  CHECK(net.scale.item() == 2);
  net.scale.values()[0] = 5;
  net.offset.set(4);
  CHECK(net.scale.item() == 5);
  CHECK(net.offset.item() == 4);
}

TEST_CASE("parameters: a clone is equal and its own") {
  Net net;
  net.init_parameters();
  net.norm.moving_mean.values()[3] = 0.5f;
  net.fc1.weight.requires_grad(false);
  net.set_train();
  const Net copy = net.clone();
  CHECK(bits(copy) == bits(net));
  CHECK(ParameterList(copy).arena() != ParameterList(net).arena());
  CHECK(!copy.fc1.weight.requires_grad());
  CHECK(copy.fc1.bias.requires_grad());
  CHECK(ParameterList(copy).arena()->training);
  net.fc1.weight.values()[0] += 1;
  CHECK(bits(copy) != bits(net));
  // Of a part: its values, an arena of its own.
  const auto part = net.fc1.clone();
  CHECK(same(part.weight, net.fc1.weight));
  CHECK(part.weight.values().data() != net.fc1.weight.values().data());
}

TEST_CASE("parameters: moving a network moves its handles, the values stay where they are") {
  Net net;
  net.init_parameters();
  const float* where = net.fc1.weight.values().data();
  const Net moved = std::move(net);
  CHECK(moved.fc1.weight.values().data() == where);
  CHECK_THROWS_WITH_AS(
      net.fc1.weight.values(),
      "The values of a parameter float32 [16,12] were asked for before it had any: call init_parameters() on its "
      "network, make a Model of it, or call it once.",
      RuntimeError);
}

TEST_CASE("parameters: a part that was used alone keeps its values when the network is bound") {
  for (int part = 0; part < 2; ++part) {
    Net net;
    std::vector<float> before;
    if (part == 0) {
      net.fc1(random_tensor<float, Shape<dyn, 12>>(1));
      before.assign(net.fc1.weight.values().begin(), net.fc1.weight.values().end());
    } else {
      net.fc2(random_tensor<float, Shape<dyn, 16>>(1));
      before.assign(net.fc2.weight.values().begin(), net.fc2.weight.values().end());
    }
    net(random_tensor<float, Shape<dyn, 12>>(1));
    CHECK(net.parameters_dict().size() == 8);
    for (const auto& [name, parameter] : net.parameters_dict()) REQUIRE(parameter.view().data != nullptr);
    const auto after = part == 0 ? net.fc1.weight.values() : net.fc2.weight.values();
    CHECK(std::equal(before.begin(), before.end(), after.begin(), after.end()));
    CHECK(ParameterList(net).arena() == net.fc2.weight.arena);
    CHECK(ParameterList(net).arena() == net.fc1.weight.arena);
  }
}

TEST_CASE("parameters: initial values depend on the seed and the name, not on when they are drawn") {
  Net first, second;
  first.init_parameters();
  second.init_parameters();
  CHECK(bits(first) == bits(second));
  const ContextScope scope({.seed = 1});
  Net third;
  third.init_parameters();
  CHECK(bits(first) != bits(third));
  const std::string before = bits(first);
  first.init_parameters();  // drawn once only
  CHECK(bits(first) == before);
}

TEST_CASE("parameters: a part of a bound network works alone, as a call and in a Model, in both modes alike") {
  std::string results[2];
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Whole whole;
    whole.init_parameters();
    const X x = random_tensor<float, Shape<dyn, 12>>(1);
    CHECK(same_bits(whole.net(x), whole.net.clone()(x)));
    const auto other = whole.other.clone();
    Model model{whole.net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    Losses losses;
    model.train(8, data(), losses);
    CHECK(losses.value.back() < losses.value.front() / 2);
    CHECK(same(whole.other.weight, other.weight));
    results[mode == Mode::graph] = bits(whole);
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("requires_grad: a frozen parameter stays, the others train, and thawing takes effect, in both modes alike") {
  std::string results[2];
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    model.train(1, data());
    const Net before = net.clone();
    net.fc1.requires_grad(false);
    net.norm.beta.requires_grad(false);
    CHECK(names(net.trainable_params()) == "norm.gamma fc2.weight fc2.bias ");
    model.train(1, data());
    CHECK(same(net.fc1.weight, before.fc1.weight));
    CHECK(same(net.fc1.bias, before.fc1.bias));
    CHECK(same(net.norm.beta, before.norm.beta));
    CHECK(!same(net.norm.gamma, before.norm.gamma));
    CHECK(!same(net.norm.moving_mean, before.norm.moving_mean));  // statistics move on
    CHECK(!same(net.fc2.weight, before.fc2.weight));
    const Net frozen = net.clone();
    net.requires_grad(true);
    model.train(1, data());
    CHECK(!same(net.fc1.weight, frozen.fc1.weight));
    CHECK(!same(net.norm.beta, frozen.norm.beta));
    results[mode == Mode::graph] = bits(net);
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("requires_grad: set before the network is bound, and for everything") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    net.fc2.weight.requires_grad(false);
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, momentum()};
    const Net before = net.clone();
    model.train(1, data());
    CHECK(same(net.fc2.weight, before.fc2.weight));
    CHECK(!same(net.fc2.bias, before.fc2.bias));
  }
}

TEST_CASE("set_train: direct calls use batch statistics and move the moving ones, evaluation does not") {
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    Net net;
    const X x = random_tensor<float, Shape<dyn, 12>>(1, -2, 2, 9);
    net.init_parameters();
    const std::string before = bits(net);
    const auto evaluated = net(x);
    CHECK(bits(net) == before);
    net.set_train();
    const auto trained = net(x);
    CHECK(bits(net) != before);
    CHECK(!same_bits(evaluated, trained));
    CHECK(&net.set_train(false) == &net);
    const std::string after = bits(net);
    net(x);
    CHECK(bits(net) == after);
  }
}
