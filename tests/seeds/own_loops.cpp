// The founding documents' train step of one's own in C++: a loss of several values, and a loop without a Model.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/train/optimizer_step.hpp>

#include "../train/small.hpp"

using small::Net, small::samples;
using namespace tenon;

namespace {
nn::Momentum momentum() { return {.learning_rate = 0.1f, .momentum = 0.9f}; }
auto four_steps() { return samples(12) | dataset::batch(3); }

/// Document 001: a loss of several values.
struct MyLoss : nn::Cell<MyLoss> {
  nn::SoftmaxCrossEntropyWithLogits<> entropy;
  constexpr auto construct(auto logits, auto labels) const {
    return std::tuple(entropy(logits, labels), ops::reduce_mean(logits * logits));
  }
};
/// Network and loss in one.
template <class Network>
struct MyWithLossCell : nn::Cell<MyWithLossCell<Network>> {
  Network net;
  MyLoss loss_fn;
  constexpr auto construct(auto x, auto y) const { return loss_fn(net(x), y); }
};
/// What MyTrainOneStepCell's construct does: gradients of all losses, each with the weight 1, and an update.
constexpr auto my_train_one_step = [](const auto& loss_with_net, auto& optim, const auto& x, const auto& y) {
  const auto [loss, gradients] = value_and_grad(
      [&] {
        const auto [entropy, size] = loss_with_net(x, y);
        return entropy + size;
      },
      loss_with_net)();
  optim(gradients);
  return loss;
};

struct Losses {
  std::vector<float> of{};
  void step_end(RunInfo& run) { of.push_back(run.net_outputs[0].as<float>()[0] + run.net_outputs[1].as<float>()[0]); }
};
}  // namespace

TEST_CASE("a loss of several values, trained by a train step of one's own and by a Model") {
  std::string trained[2][2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .seed = 1});
    MyWithLossCell<Net> loss_with_net, in_a_model;
    OptimizerStep optim(loss_with_net, momentum());
    const auto train_net = jit(my_train_one_step, loss_with_net, optim);
    std::vector<float> losses;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
      for (const auto& [x, y] : dataset::rows(four_steps(), epoch)) losses.push_back(train_net(x, y).item());

    Losses of_model;
    Model model{in_a_model, NoLoss{}, momentum()};
    model.train(3, four_steps(), of_model);
    CHECK(losses == of_model.of);
    CHECK(losses.back() < losses.front());
    trained[int(mode)][0] = small::bits(loss_with_net), trained[int(mode)][1] = small::bits(in_a_model);
  }
  for (const auto& bits : {trained[0][1], trained[1][0], trained[1][1]}) CHECK(bits == trained[0][0]);
}
