// GPT-mini, trained by several ranks, for benchmarks/distributed.py.
#include "../models/gpt.hpp"
#include "ranks.hpp"

namespace {
constexpr int length = 128, vocabulary = 65;

/// Letters from place `first` of the sequence of numbers on.
std::vector<std::int32_t> letters(long batch, std::size_t first) {
  std::vector<std::int32_t> result;
  for (const float number : benchmark::numbers(std::size_t(batch * length), first))
    result.push_back(std::int32_t(number * vocabulary));
  return result;
}
}  // namespace

int main(int argc, char** argv) {
  using namespace tenon;
  return benchmark::main_of_ranks(argc, argv, "gpt", [](const benchmark::RanksAsked& asked) {
    benchmark::train_on_ranks<models::Gpt<4, length, 256, 4, vocabulary>>(
        asked, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 1e-4}, [](long batch) {
          return dataset::from_arrays(dataset::column<Shape<length>>(letters(batch, 0)),
                                      dataset::column<Shape<length>>(letters(batch, 12345)));
        });
  });
}
