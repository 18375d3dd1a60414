// Lesson 18: a small BERT: an encoder that learns to fill in words that were masked.
//
// Source: Devlin and others, arXiv 1810.04805.
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/more.hpp>

using namespace tenon;

constexpr int length = 12, width = 32, words = 10, mask = words, nothing = -100;

struct Bert : nn::Cell<Bert> {
  static constexpr nn::TransformerConfig config{
      .dim_feedforward = 4 * width, .dropout = 0, .activation = nn::TransformerActivation::gelu, .norm_first = true};
  nn::Embedding<words + 1, width> token;  // the words, and the mask
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<nn::TransformerEncoderLayer<width, 4, config>, 2> layers;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, words> head;

  // text: [n, length] -> [n, length, words]
  constexpr auto construct(auto text) const { return head(norm(layers(position(token(text))))); }
};

// The words of a sentence count up or down by one, two, or three.
static std::vector<std::int32_t> sentence(Random& random) {
  const int steps[]{-3, -2, -1, 1, 2, 3}, by = steps[random.below(6)];
  std::vector<std::int32_t> text;
  for (int k = 0, at = int(random.below(words)); k < length; ++k, at = (at + by + words) % words) text.push_back(at);
  return text;
}

// A fifth of the words is masked; only these have labels.
static auto sentences(Random random, int count) {
  std::vector<std::int32_t> texts, labels;
  for (int i = 0; i < count; ++i)
    for (const std::int32_t word : sentence(random)) {
      const bool masked = random.below(5) == 0;
      texts.push_back(masked ? mask : word), labels.push_back(masked ? word : nothing);
    }
  return dataset::from_arrays(dataset::column<Shape<length>>(texts), dataset::column<Shape<length>>(labels));
}

int main() {
  set_context({.seed = 1});
  Bert net;
  Model model{net, nn::CrossEntropyLoss<nn::Reduction::mean, nn::CrossEntropyConfig{.ignore_index = nothing}>{},
              nn::AdamWeightDecay{.learning_rate = nn::WarmUpThen(100, nn::CosineDecayLR(1e-4f, 3e-3f, 700))}};
  model.train(6, sentences(Random(1), 4000) | dataset::shuffle(4000) | dataset::batch(32), LossMonitor{125});

  long right = 0, all = 0;
  for (const auto& [text, label] : sentences(Random(2), 400) | dataset::batch(100)) {
    const auto found = model.predict(text).argmax<-1>();
    for (long i = 0; i < label.count(); ++i)
      if (label.data()[i] != nothing) right += found.data()[i] == label.data()[i], ++all;
  }
  std::printf("%ld of %ld masked words are found\n", right, all);
  return 10 * right > 9 * all ? 0 : 1;
}
