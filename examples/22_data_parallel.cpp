// Lesson 22: one training on several processes. However many there are, they learn the same weights, bit for bit, so
// the number may change while they learn. With Open MPI or MPICH (docs/distributed.md):
//
//     mpirun -n 4 ./22_data_parallel 50         stops after 50 steps
//     mpirun -n 2 ./22_data_parallel            resumes from there, and prints the same numbers as a run on one process
//
// run: no
#include <cstdio>
#include <cstdlib>

#include <tenon/dist.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 8, 5> conv;
  nn::BatchNorm2d<8> norm;
  nn::Dropout<nn::DropoutConfig{.p = 0.1f}> drop;
  nn::Dense<1568, 10> fc;
  constexpr auto construct(auto image) const {  // [n, 1, 28, 28] -> [n, 10]
    return fc(drop(flatten(max_pool2d<2>(relu(norm(conv(image)))))));
  }
};

// Ends a run after some steps, as if a machine were taken away.
struct StopAfter {
  long steps;
  void step_end(RunInfo& run) {
    if (run.cur_step_num == steps) run.request_stop();
  }
};

// A number in which each bit of each weight counts.
static double sum_of_weights(const Net& net) {
  double sum = 0;
  for (const auto& [name, parameter] : net.parameters_dict())
    for (const float value : parameter.values<float>()) sum = 0.999 * sum + double(value);
  return sum;
}

int main(int count, char** words) {
  dist::init();
  set_context({.seed = 1});

  // Each rank has the whole data set. A batch of 64 is cut into 8 shards of 8 images, and the ranks share the shards: 4
  // ranks compute two each, 3 ranks three, three, and two. Gradients are added along one tree over the shards.
  const auto train =
      dataset::Digits{.usage = dataset::Usage::train, .size = 3200} | dataset::shuffle(3200) | dataset::batch(64);
  const auto test = dataset::Digits{.usage = dataset::Usage::test, .size = 500} | dataset::batch(100);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 2e-3f}, nn::Accuracy{},
              dist::DataParallel{.shards = 8}};

  // All ranks load the file; rank 0 alone prints and saves.
  if (const auto file = latest_checkpoint("digits", "data_parallel")) load_training(*file, model);
  model.train(2, train, LossMonitor{25}, ModelCheckpoint("digits", "data_parallel", {.save_checkpoint_steps = 25}),
              StopAfter{count > 1 ? std::atol(words[1]) : 0});

  const double accuracy = model.eval(test)["accuracy"];
  if (dist::get_rank() == 0)
    std::printf("%d ranks: accuracy %.3f, weights %a\n", dist::get_group_size(), accuracy, sum_of_weights(net));
  return 0;
}
