// LeNet-5, trained by several ranks, for benchmarks/distributed.py.
#include "../models/lenet.hpp"
#include "classifier.hpp"
#include "ranks.hpp"

int main(int argc, char** argv) {
  return benchmark::main_of_ranks(argc, argv, "lenet", [](const benchmark::RanksAsked& asked) {
    benchmark::train_on_ranks<models::LeNet>(
        asked, tenon::nn::SoftmaxCrossEntropyWithLogits{},
        tenon::nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
        [](long batch) { return benchmark::samples<tenon::Shape<1, 28, 28>>(batch, 10); });
  });
}
