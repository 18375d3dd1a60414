// A training with shards, compiled by nvcc: its loss falls, and is the same again.
#include <cstdio>

#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto image) const { return fc(flatten(image)); }
};
struct Losses {
  double first = 0, last = 0;
  void step_end(RunInfo& run) {
    last = run.loss();
    if (run.cur_step_num == 1) first = last;
  }
};

static Losses trained() {
  set_context({.seed = 1});
  const auto data = dataset::Digits{.usage = dataset::Usage::train, .size = 640} | dataset::batch(64);
  Net net;
  Losses losses;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              dist::DataParallel{.shards = 4, .group = dist::Communicator{}}};
  model.train(1, data, losses);
  return losses;
}

int main() {
  const Losses one = trained(), again = trained();
  if (one.last < one.first && one.last == again.last) return 0;
  std::printf("FAILED: losses %a to %a, and %a\n", one.first, one.last, again.last);
  return 1;
}
