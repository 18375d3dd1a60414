// Lesson 7: a transformer that learns to write, letter by letter.
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

using namespace tenon;

constexpr int length = 32, width = 32, heads = 4, letters = 27;  // a .. z, and all other characters

// Each position combines the positions up to it (attention), then transforms the result (two dense layers).
struct Block : nn::Cell<Block> {
  nn::LayerNorm<Shape<width>> norm1, norm2;
  nn::MultiHeadAttention<width, heads, nn::MultiHeadAttentionConfig{.causal = true}> attention;
  nn::Dense<width, 4 * width> up;
  nn::Dense<4 * width, width> down;

  constexpr auto construct(auto x) const {
    auto y = x + attention(norm1(x));
    return y + down(gelu(up(norm2(y))));
  }
};

struct LanguageModel : nn::Cell<LanguageModel> {
  nn::Embedding<letters, width> token;
  nn::PositionalEmbedding<length, width> position;
  nn::CellList<Block, 2> blocks;
  nn::LayerNorm<Shape<width>> norm;
  nn::Dense<width, letters> head;

  // [n, length] -> [n, length, letters]
  constexpr auto construct(auto text) const { return head(norm(blocks(position(token(text))))); }
};

std::int32_t number_of(char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' : letters - 1; }
char letter_of(long number) { return number == letters - 1 ? ' ' : char('a' + number); }

int main() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "one two three four five six seven eight nine ten ";

  // A sample is a piece of the text; its labels are the same piece, shifted by one letter.
  std::vector<std::int32_t> pieces, next;
  for (std::size_t at = 0; at + length < text.size(); at += 5)
    for (std::size_t k = 0; k < length; ++k)
      pieces.push_back(number_of(text[at + k])), next.push_back(number_of(text[at + k + 1]));
  const auto data = dataset::from_arrays(dataset::column<Shape<length>>(pieces), dataset::column<Shape<length>>(next)) |
                    dataset::shuffle(400) | dataset::batch(16);

  LanguageModel net;
  // in bfloat16: {..., nn::Adam{...}, amp<AmpLevel::O2>}
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 3e-3}};
  model.train(6, data, LossMonitor{40});

  // Continue the text with the most likely letter after the last `length` letters.
  std::string written = "one two three four five six seve";
  for (int i = 0; i < 24; ++i) {
    auto window = Tensor<std::int32_t, Shape<dyn, length>>::empty(1);
    for (std::size_t k = 0; k < length; ++k) window.data()[k] = number_of(written[written.size() - length + k]);
    written += letter_of(model.predict(window).argmax<-1>().data()[length - 1]);
  }
  std::printf("%s\n", written.c_str());
}
