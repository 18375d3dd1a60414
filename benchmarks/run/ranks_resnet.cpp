// ResNet-18 on 32 x 32 images, trained by several ranks, for benchmarks/distributed.py.
#include "../models/resnet18.hpp"
#include "classifier.hpp"
#include "ranks.hpp"

int main(int argc, char** argv) {
  return benchmark::main_of_ranks(argc, argv, "resnet18", [](const benchmark::RanksAsked& asked) {
    benchmark::train_on_ranks<models::ResNet18>(
        asked, tenon::nn::SoftmaxCrossEntropyWithLogits{},
        tenon::nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
        [](long batch) { return benchmark::samples<tenon::Shape<3, 32, 32>>(batch, 10); });
  });
}
