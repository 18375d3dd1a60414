// A training with shards, compiled by nvcc: its loss falls, and is the same again. Operators among GPUs are compiled.
#include <cstdio>

#include <tenon/backend/cuda/nccl.hpp>
#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto image) const { return fc(flatten(image)); }
};
struct Together : nn::Cell<Together> {
  nn::Dense<784, 10> fc;
  constexpr auto construct(auto image) const {
    const auto y = fc(flatten(image));
    const auto parts = all_to_all<2, 1, 1>(y) + reduce_scatter<2>(all_gather<2>(y)) + send_receive<0, 1>(y);
    return parts + all_reduce<dist::ReduceOp::prod>(y) + broadcast<1>(neighbor_exchange<1>(y));
  }
};
struct Losses {
  double first = 0, last = 0;
  void step_end(RunInfo& run) {
    last = run.loss();
    if (run.cur_step_num == 1) first = last;
  }
};

template <class Network>
static Losses trained() {
  set_context({.seed = 1});
  const auto data = dataset::Digits{.usage = dataset::Usage::train, .size = 640} | dataset::batch(64);
  Network net;
  Losses losses;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              dist::DataParallel{.shards = 4, .group = dist::Communicator{}}};
  model.train(1, data, losses);
  return losses;
}

int main(int count, char**) try {
  if (count > 1) {
    set_context({.device_target = "GPU"});
    dist::init("nccl");
    return trained<Together>().last > 0 ? 0 : 1;
  }
  const Losses one = trained<Net>(), again = trained<Net>();
  if (one.last < one.first && one.last == again.last) return 0;
  std::printf("FAILED: losses %a to %a, and %a\n", one.first, one.last, again.last);
  return 1;
} catch (const Error& error) {
  std::puts(error.what());
  return 1;
}
