// Networks that are models of PyTorch, torchvision, and transformers under the same names, and their state dicts from
// pytorch_models.txt.
#pragma once
#include "../dataset/support.hpp"

#include <fstream>
#include <list>
#include <map>
#include <sstream>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

namespace pytorch_models {
using namespace tenon;

constexpr nn::Conv2dConfig conv(int padding, int stride = 1, bool bias = false) {
  return {.stride = stride, .pad_mode = PadMode::pad, .padding = padding, .has_bias = bias};
}
template <int Width, float epsilon>
using Norm = nn::LayerNorm<Shape<Width>, nn::LayerNormConfig{.epsilon = epsilon}>;

struct Transfer : nn::Cell<Transfer> {
  nn::Conv2d<3, 4, 3, conv(1, 1, true)> conv1;
  nn::BatchNorm2d<4> bn1;
  nn::Conv2d<4, 2, 3, conv(1, 1, true)> conv2;
  nn::Dense<8, 3> fc;
  constexpr auto construct(auto x) const {
    return fc(flatten(max_pool2d<2>(relu(conv2(max_pool2d<2>(relu(bn1(conv1(x)))))))));
  }
};

template <int Width>
struct Block : nn::Cell<Block<Width>> {
  nn::Conv2d<Width, Width, 3, conv(1)> conv1;
  nn::BatchNorm2d<Width> bn1;
  nn::Conv2d<Width, Width, 3, conv(1)> conv2;
  nn::BatchNorm2d<Width> bn2;
  constexpr auto construct(auto x) const { return relu(bn2(conv2(relu(bn1(conv1(x))))) + x); }
};
template <int In, int Out>
struct DownBlock : nn::Cell<DownBlock<In, Out>> {
  nn::Conv2d<In, Out, 3, conv(1, 2)> conv1;
  nn::BatchNorm2d<Out> bn1;
  nn::Conv2d<Out, Out, 3, conv(1)> conv2;
  nn::BatchNorm2d<Out> bn2;
  nn::SequentialCell<nn::Conv2d<In, Out, 1, conv(0, 2)>, nn::BatchNorm2d<Out>> downsample;
  constexpr auto construct(auto x) const { return relu(bn2(conv2(relu(bn1(conv1(x))))) + downsample(x)); }
};
struct ResNet : nn::Cell<ResNet> {
  nn::Conv2d<3, 2, 3, conv(1)> conv1;
  nn::BatchNorm2d<2> bn1;
  nn::SequentialCell<Block<2>> layer1;
  nn::SequentialCell<DownBlock<2, 4>, Block<4>> layer2;
  nn::Dense<4, 3> fc;
  constexpr auto construct(auto x) const {
    constexpr Pool2dOptions pool{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};
    return fc(reduce_mean<2, 3>(layer2(layer1(max_pool2d<pool>(relu(bn1(conv1(x))))))));
  }
};

struct GptAttention : nn::Cell<GptAttention> {
  nn::Dense<4, 12> c_attn;
  nn::Dense<4, 4> c_proj;
  constexpr auto construct(auto x) const {
    return c_proj(attention<AttentionConfig{.heads = 2, .causal = true}>(c_attn(x)));
  }
};
struct GptMlp : nn::Cell<GptMlp> {
  nn::Dense<4, 16> c_fc;
  nn::Dense<16, 4> c_proj;
  constexpr auto construct(auto x) const { return c_proj(gelu(c_fc(x))); }
};
struct GptBlock : nn::Cell<GptBlock> {
  Norm<4, 1e-5f> ln_1;
  GptAttention attn;
  Norm<4, 1e-5f> ln_2;
  GptMlp mlp;
  constexpr auto construct(auto x) const {
    const auto y = x + attn(ln_1(x));
    return y + mlp(ln_2(y));
  }
};
/// transformers' GPT2Model; the head is the table of words.
struct Gpt : nn::Cell<Gpt> {
  nn::Embedding<11, 4> wte;
  nn::PositionalEmbedding<6, 4> wpe;
  nn::CellList<GptBlock, 2> h;
  Norm<4, 1e-5f> ln_f;
  constexpr auto construct(auto ids) const {
    return matmul<Transposed::second>(ln_f(h(wpe(wte(ids)))), wte.embedding_table);
  }
};
/// The same with a head of its own, named as in GPT2LMHeadModel.
struct GptBody : nn::Cell<GptBody> {
  nn::Embedding<11, 4> wte;
  nn::PositionalEmbedding<6, 4> wpe;
  nn::CellList<GptBlock, 2> h;
  Norm<4, 1e-5f> ln_f;
  constexpr auto construct(auto ids) const { return ln_f(h(wpe(wte(ids)))); }
};
struct GptWithHead : nn::Cell<GptWithHead> {
  GptBody transformer;
  nn::Dense<4, 11, nn::DenseConfig{.has_bias = false}> lm_head;
  constexpr auto construct(auto ids) const { return lm_head(transformer(ids)); }
};

struct BertEmbeddings : nn::Cell<BertEmbeddings> {
  nn::Embedding<11, 4> word_embeddings;
  nn::PositionalEmbedding<6, 4> position_embeddings;
  nn::Embedding<2, 4> token_type_embeddings;
  Norm<4, 1e-12f> LayerNorm;
  constexpr auto construct(auto ids, auto types) const {
    return LayerNorm(position_embeddings(word_embeddings(ids) + token_type_embeddings(types)));
  }
};
struct BertSelf : nn::Cell<BertSelf> {
  nn::Dense<4, 4> query, key, value;
  constexpr auto construct(auto x) const { return attention<AttentionConfig{.heads = 2}>(query(x), key(x), value(x)); }
};
template <int In>
struct BertOutput : nn::Cell<BertOutput<In>> {
  nn::Dense<In, 4> dense;
  Norm<4, 1e-12f> LayerNorm;
  constexpr auto construct(auto y, auto x) const { return LayerNorm(dense(y) + x); }
};
struct BertAttention : nn::Cell<BertAttention> {
  BertSelf self;
  BertOutput<4> output;
  constexpr auto construct(auto x) const { return output(self(x), x); }
};
struct BertIntermediate : nn::Cell<BertIntermediate> {
  nn::Dense<4, 8> dense;
  constexpr auto construct(auto x) const { return ops::gelu<ops::GeluForm::erf>(dense(x)); }
};
struct BertLayer : nn::Cell<BertLayer> {
  BertAttention attention;
  BertIntermediate intermediate;
  BertOutput<8> output;
  constexpr auto construct(auto x) const {
    const auto y = attention(x);
    return output(intermediate(y), y);
  }
};
struct BertEncoder : nn::Cell<BertEncoder> {
  nn::CellList<BertLayer, 2> layer;
  constexpr auto construct(auto x) const { return layer(x); }
};
struct BertPooler : nn::Cell<BertPooler> {
  nn::Dense<4, 4> dense;
  constexpr auto construct(auto x) const { return tanh(dense(squeeze<1>(slice<Part{}, Part{0, 1}>(x)))); }
};
struct Bert : nn::Cell<Bert> {
  BertEmbeddings embeddings;
  BertEncoder encoder;
  BertPooler pooler;
  constexpr auto construct(auto ids, auto types) const {
    const auto y = encoder(embeddings(ids, types));
    return std::tuple(y, pooler(y));
  }
};

template <class Rnn>
struct Recurrent : nn::Cell<Recurrent<Rnn>> {
  nn::Embedding<11, 3> embedding;
  Rnn rnn;
  nn::Dense<6, 2> fc;
  constexpr auto construct(auto ids) const { return fc(std::get<0>(rnn(embedding(ids)))); }
};
using Lstm = Recurrent<nn::LSTM<3, 3, nn::LSTMConfig{.num_layers = 2, .bidirectional = true}>>;
using Gru = Recurrent<nn::GRU<3, 3, nn::GRUConfig{.num_layers = 2, .bidirectional = true}>>;

struct EncoderLayer : nn::Cell<EncoderLayer> {
  nn::MultiHeadAttention<4, 2> self_attn;
  nn::Dense<4, 8> linear1;
  nn::Dense<8, 4> linear2;
  Norm<4, 1e-5f> norm1, norm2;
  constexpr auto construct(auto x) const {
    const auto y = x + self_attn(norm1(x));
    return y + linear2(relu(linear1(norm2(y))));
  }
};
struct EncoderStack : nn::Cell<EncoderStack> {
  nn::CellList<EncoderLayer, 2> layers;
  constexpr auto construct(auto x) const { return layers(x); }
};
struct Encoder : nn::Cell<Encoder> {
  nn::Embedding<11, 4> embedding;
  EncoderStack encoder;
  constexpr auto construct(auto ids) const { return encoder(embedding(ids)); }
};

/// The state dict of a model and its results, from the file.
class StateDict {
 public:
  explicit StateDict(const std::string& model) {
    std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "pytorch_models.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string owner, name, dtype, extents;
      words >> owner >> name >> dtype >> extents;
      if (owner != model) continue;
      std::vector<std::int64_t> shape;
      std::istringstream numbers(extents == "-" ? "" : extents);
      for (std::string extent; std::getline(numbers, extent, ',');) shape.push_back(std::stol(extent));
      std::vector<float> values;
      for (float value; words >> value;) values.push_back(value);
      if (name.starts_with("=")) results_[name.substr(1)] = values;
      else add(name, dtype == "int64", shape, values);
    }
    REQUIRE(!results_.empty());
  }
  const std::vector<io::NamedTensor>& tensors() const { return tensors_; }
  std::vector<io::NamedTensor>& tensors() { return tensors_; }
  const std::vector<float>& result(const std::string& name = "y") const { return results_.at(name); }

 private:
  void add(const std::string& name, bool whole, const std::vector<std::int64_t>& shape, std::vector<float>& values) {
    if (whole) {
      std::vector<std::int64_t>& held = whole_.emplace_back(values.begin(), values.end());
      tensors_.push_back({name, AnyTensor(Dtype::int64, shape, held.data())});
    } else tensors_.push_back({name, AnyTensor(Dtype::float32, shape, floats_.emplace_back(values).data())});
  }
  std::list<std::vector<float>> floats_;
  std::list<std::vector<std::int64_t>> whole_;
  std::vector<io::NamedTensor> tensors_;
  std::map<std::string, std::vector<float>> results_;
};

template <class S>
Tensor<float, S> image(long n) {
  auto x = Tensor<float, S>::empty(n);
  for (long i = 0; i < S::dims.count(n); ++i) x.data()[i] = float((7 * i) % 23 - 11) / 16;
  return x;
}
template <int Length>
Tensor<std::int32_t, Shape<dyn, Length>> ids(long n) {
  auto x = Tensor<std::int32_t, Shape<dyn, Length>>::empty(n);
  for (long i = 0; i < n * Length; ++i) x.data()[i] = std::int32_t((5 * i + 3) % 11);
  return x;
}

}  // namespace pytorch_models
