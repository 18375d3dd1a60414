// Lesson 12: a language model trained with clipping, warm-up, and cosine; interrupted, resumed, and sampled from, with
// the keys and values of the text so far in caches.
//
//     build/release/examples/12_sampling [FILE]    the training is saved there, language-model.safetensors by default
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/more.hpp>
#include <tenon/train/training_file.hpp>

using namespace tenon;

constexpr int length = 72, width = 32, layers = 2, letters = 27;  // a .. z, and all other characters

struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, 4, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 4 * width> up;
  nn::Dense<4 * width, width> down;
  nn::Dropout<nn::DropoutConfig{.p = 0.05f}> dropout;

  constexpr auto construct(auto x) const { return transformed(x + attention(norm1(x))); }
  // x are the letters after those in the cache
  constexpr auto construct(auto x, auto at, const auto& cache) const {
    return transformed(x + attention(norm1(x), at, cache));
  }
  constexpr auto transformed(auto y) const { return y + dropout(down(gelu(up(norm2(y))))); }
};

// Logits for each position of a text, or, with a position, a draw of the letter after the one at this position.
struct LanguageModel : nn::Cell<LanguageModel> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<Block, layers> blocks;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, letters> head;
  nn::Setting<1.0f> temperature;
  nn::CellList<nn::KeyValueCache<1, length, width>, layers> caches;

  constexpr auto construct(auto text) const { return head(norm(blocks(position(token(text))))); }
  constexpr auto construct(auto letter, auto at) const {
    auto x = position(token(letter), at);
    for (int i = 0; i < layers; ++i) x = blocks[i](x, at, caches[i]);
    return random_categorical(top_k_filter<5>(head(norm(x)) / temperature));
  }
};

static std::int32_t number_of(char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' : letters - 1; }

// A sample is a piece of the text; its labels are the same piece, shifted by one letter.
static auto pieces_of(const std::string& text) {
  std::vector<std::int32_t> pieces, next;
  for (std::size_t at = 0; at + length < text.size(); at += 5)
    for (std::size_t k = 0; k < length; ++k)
      pieces.push_back(number_of(text[at + k])), next.push_back(number_of(text[at + k + 1]));
  return dataset::from_arrays(dataset::column<Shape<length>>(pieces), dataset::column<Shape<length>>(next)) |
         dataset::shuffle(1000) | dataset::batch(16);
}

// Continues the text up to `length` letters. A call takes the letter at a position, and draws the next one.
static std::string write(const LanguageModel& net, std::string text) {
  auto letter = Tensor<std::int32_t, Shape<1, 1>>::empty();
  auto at = Tensor<std::int32_t, Shape<1>>::empty();
  for (std::size_t i = 0; i + 1 < length; ++i) {
    letter.data()[0] = number_of(text[i]);
    at.data()[0] = std::int32_t(i);
    const auto next = net(letter, at);
    if (i + 1 == text.size()) text += next.item() == letters - 1 ? ' ' : char('a' + next.item());
  }
  return text;
}

// Saves the run and ends it in the middle of an epoch.
struct Interrupt {
  long step;
  std::string file;
  void on_train_step_end(auto& run) const {
    if (run.cur_step_num != step) return;
    save_training(run.model, file);
    run.request_stop();
  }
};

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "language-model.safetensors";
  set_context({.seed = 1});
  std::string text;
  for (int i = 0; i < 60; ++i) text += "one two three four five six seven eight nine ten ";
  const auto data = pieces_of(text);
  const long epochs = 8;

  const nn::ClipByGlobalNorm optimizer{
      nn::AdamWeightDecay{.learning_rate = nn::WarmUpThen(40, nn::CosineDecayLR(1e-4, 5e-3, 8 * 36 - 40))}, 1.0f};
  const nn::SoftmaxCrossEntropyWithLogits loss;
  {
    LanguageModel net;
    Model model{net, loss, optimizer};
    model.train(epochs, data, LossMonitor{50}, Interrupt{100, file});
    std::printf("interrupted after step %ld\n", model.global_step());
  }

  // Another process would do the same, and resume with bit-identical results.
  LanguageModel net;
  Model model{net, loss, optimizer};
  load_training(file, model);
  model.train(epochs, data, LossMonitor{50});

  const std::string start = "one two three four five ";
  for (const float temperature : {0.3f, 1.5f}) {
    net.temperature.set(temperature);
    std::printf("temperature %.1f: %s\n", double(temperature), write(net, start).c_str());
  }

  LanguageModel at_once;
  Model whole{at_once, loss, optimizer};
  whole.train(epochs, data);
  const auto x = Tensor<std::int32_t, Shape<dyn, length>>::zeros(1);
  const bool same = bit_equal(model.predict(x), whole.predict(x));
  std::printf("the same bits as without an interruption: %s\n", same ? "yes" : "no");
  return same ? 0 : 1;
}
