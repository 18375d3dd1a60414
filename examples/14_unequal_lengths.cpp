// Lesson 14: an LSTM that classifies sequences of unequal lengths.
//
// A batch is as long as its longest sequence may be, and a second column states how many steps of each sequence count:
// the last state is that of the last step, as with PyTorch's packed sequences.
#include <cmath>
#include <cstdio>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

constexpr int longest = 40, kinds = 3;  // sine, square, sawtooth

struct Classifier : nn::Cell<Classifier> {
  nn::LSTM<1, 24> lstm;
  nn::Dense<24, kinds> output;

  // x: [n, longest, 1], lengths: [n] -> [n, kinds]
  constexpr auto construct(auto x, auto lengths) const {
    const auto [states, h, c] = lstm(x, lengths);
    return output(squeeze<1>(h));  // h: [n, 1, 24], the state after the last step of each sequence
  }
};

struct Waves {
  std::vector<float> values;
  std::vector<std::int32_t> lengths, kinds;
};

// Waves of random frequency and phase, with noise, from 8 to 40 steps long.
static Waves waves(Random random, int count) {
  Waves result;
  for (int i = 0; i < count; ++i) {
    const int length = 8 + int(random.uniform(0, longest - 7)), kind = i % kinds;
    const float frequency = random.uniform(0.1f, 0.2f), phase = random.uniform(0, 1);
    for (int k = 0; k < longest; ++k) {
      const float turns = phase + frequency * float(k), part = turns - std::floor(turns);
      const float wave = kind == 0 ? std::sin(6.2832f * part) : kind == 1 ? (part < 0.5f ? 1.0f : -1.0f) : 2 * part - 1;
      result.values.push_back(k < length ? wave + random.uniform(-0.2f, 0.2f) : 0);
    }
    result.lengths.push_back(length), result.kinds.push_back(kind);
  }
  return result;
}
static auto rows(const Waves& w) {
  return dataset::from_arrays(dataset::column<Shape<longest, 1>>(w.values), dataset::column<Shape<>>(w.lengths),
                              dataset::column<Shape<>>(w.kinds));
}

int main() {
  set_context({.seed = 1});
  Classifier net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::ClipByGlobalNorm{nn::Adam{.learning_rate = 1e-2f}, 1.0f},
              nn::Accuracy{}};
  model.train(15, rows(waves(Random(1), 1500)) | dataset::shuffle(1500) | dataset::batch(50), LossMonitor{100});

  const double accuracy = model.eval(rows(waves(Random(2), 300)) | dataset::batch(100))["accuracy"];
  std::printf("%.1f %% of new waves are recognized\n", 100 * accuracy);
  return accuracy > 0.9 ? 0 : 1;
}
