// How much of LeNet's training waits for the rows of MNIST, one thread, batches of 32: `mnist_waiting FOLDER [epochs]`.
// Prints a line per pipeline, all in turns: the median step beside that of the same step on one batch which stays where
// it is, and the part of the time between steps that the training waited for its data.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <tenon/tenon.hpp>

#include "../models/lenet.hpp"

using namespace tenon;

namespace {
/// What epochs took, and how much of it was waiting.
struct Timing {
  std::vector<double> step, waiting;  // seconds of a step, part of the time; one each for an epoch
  double begin = 0, waited = 0;

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[values.size() / 2];
  }
};
struct Watch {
  Timing* timing;

  void epoch_begin(RunInfo&) const { timing->begin = Timing::now(), timing->waited = 0; }
  void step_end(RunInfo& run) const { timing->waited += run.data_seconds; }
  void epoch_end(RunInfo& run) const {
    const double seconds = Timing::now() - timing->begin;
    timing->step.push_back(seconds / double(run.step_in_epoch()));
    timing->waiting.push_back(timing->waited / seconds);
  }
};

/// An epoch of each in turns, so that a slow moment of the machine meets all.
template <class... D>
void measure(int epochs, std::vector<const char*> names, const D&... data) {
  models::LeNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  std::vector<Timing> timing(sizeof...(D));
  for (int epoch = 0; epoch <= epochs; ++epoch) {
    if (epoch == 1) timing.assign(sizeof...(D), {});  // the first round finds memory and files
    std::size_t i = 0;
    (model.train(1, data, Watch{&timing[i++]}), ...);
  }
  const double alone = Timing::median(timing[0].step);
  for (std::size_t i = 0; i < names.size(); ++i)
    std::printf("%-44s %8.1f us a step, %5.2f x alone, waiting %5.2f %% (worst epoch %5.2f %%)\n", names[i],
                Timing::median(timing[i].step) * 1e6, Timing::median(timing[i].step) / alone,
                Timing::median(timing[i].waiting) * 100, std::ranges::max(timing[i].waiting) * 100);
}
}  // namespace

int main(int count, char** argument) {
  if (count < 2) {
    std::fprintf(stderr, "usage: mnist_waiting FOLDER [epochs]: the folder with the files of MNIST\n");
    return 2;
  }
  set_context({.num_threads = 1});
  const int epochs = count > 2 ? std::atoi(argument[2]) : 7;
  const dataset::Mnist mnist(argument[1], dataset::Usage::train);
  const auto alone = mnist | dataset::take(32) | dataset::batch<32>() | dataset::repeat(1875);
  const auto shuffled = mnist | dataset::shuffle(60000);
  measure(epochs, {"one batch in memory", "shuffle | batch<32>", "shuffle | batch<32> | prefetch"}, alone,
          shuffled | dataset::batch<32>(), shuffled | dataset::batch<32>() | dataset::prefetch());
}
