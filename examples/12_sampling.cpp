// Lesson 12: a language model trained with clipping, warm-up, and cosine; interrupted, resumed, and sampled from by a
// second form of the network, which shares its parameters.
//
//     build/release/examples/12_sampling [FILE]    the training is saved there, language-model.safetensors by default
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/training_file.hpp>

using namespace tenon;

constexpr int length = 24, width = 32, letters = 27;  // a .. z, and all other characters

struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, 4, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 4 * width> up;
  nn::Dense<4 * width, width> down;
  nn::Dropout<nn::DropoutConfig{.p = 0.05f}> dropout;

  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + dropout(down(gelu(up(norm2(y)))));
  }
};

enum class Form { training, sampling };

// The training form gives logits for each position, the sampling form probabilities of the next letter.
template <Form form>
struct LanguageModel : nn::Cell<LanguageModel<form>> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<Block, 2> blocks;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, letters> head;
  nn::Setting<1.0f> temperature;

  constexpr auto construct(auto text) const {
    const auto x = norm(blocks(position(token(text))));
    if constexpr (form == Form::training) return head(x);
    else return softmax(head(slice<1, Part{.begin = -1}>(x)) / temperature);
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

// Continues the text; each letter is drawn with its probability.
static std::string write(const LanguageModel<Form::sampling>& net, std::string text, int count, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    auto window = Tensor<std::int32_t, Shape<dyn, length>>::empty(1);
    for (std::size_t k = 0; k < length; ++k) window.data()[k] = number_of(text[text.size() - length + k]);
    const auto probability = net(window);
    float rest = random.uniform(0, 1);
    int letter = 0;
    while (letter + 1 < letters && (rest -= probability.data()[letter]) > 0) ++letter;
    text += letter == letters - 1 ? ' ' : char('a' + letter);
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

  using Training = LanguageModel<Form::training>;
  const nn::ClipByGlobalNorm optimizer{
      nn::AdamWeightDecay{.learning_rate = nn::WarmUpThen(40, nn::CosineDecayLR(1e-4, 5e-3, 8 * 37 - 40))}, 1.0f};
  const nn::SoftmaxCrossEntropyWithLogits loss;
  {
    Training net;
    Model model{net, loss, optimizer};
    model.train(epochs, data, LossMonitor{50}, Interrupt{100, file});
    std::printf("interrupted after step %ld\n", model.global_step());
  }

  // Another process would do the same, and resume with bit-identical results.
  Training net;
  Model model{net, loss, optimizer};
  load_training(file, model);
  model.train(epochs, data, LossMonitor{50});

  LanguageModel<Form::sampling> sampler;
  share_parameters(net, sampler);
  const std::string start = "one two three four five ";
  for (const float temperature : {0.3f, 1.5f}) {
    sampler.temperature.set(temperature);
    std::printf("temperature %.1f: %s\n", double(temperature), write(sampler, start, 48, 7).c_str());
  }

  Training at_once;
  Model whole{at_once, loss, optimizer};
  whole.train(epochs, data);
  const auto x = Tensor<std::int32_t, Shape<dyn, length>>::zeros(1);
  const bool same = bit_equal(model.predict(x), whole.predict(x));
  std::printf("the same bits as without an interruption: %s\n", same ? "yes" : "no");
  return same ? 0 : 1;
}
