// A language model of two pre-norm transformer blocks.
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/layer/norm/layer_norm.hpp>
#include <tenon/nn/optim/lamb.hpp>

#include "trajectories.hpp"

using namespace trajectories;

namespace transformer {

using LayerNorm = nn::LayerNorm<Shape<16>, nn::LayerNormConfig{.epsilon = 1e-5f}>;

struct Attention : nn::Cell<Attention> {
  nn::Dense<16, 16> q, k, v, o;
  constexpr auto heads(auto x) const { return ops::transpose<0, 2, 1, 3>(ops::reshape<Shape<dyn, 10, 4, 4>>(x)); }
  constexpr auto construct(auto x) const {
    auto scores = ops::matmul<ops::Transposed::second>(heads(q(x)), heads(k(x))) * 0.5f;
    auto mixed = ops::matmul(softmax(causal_mask(scores)), heads(v(x)));
    return o(ops::reshape<Shape<dyn, 10, 16>>(ops::transpose<0, 2, 1, 3>(mixed)));
  }
};
struct Block : nn::Cell<Block> {
  LayerNorm ln1;
  Attention attn;
  LayerNorm ln2;
  nn::Dense<16, 32> ff1;
  nn::Dense<32, 16> ff2;
  constexpr auto construct(auto x) const {
    auto h = ops::add(x, attn(ln1(x)));
    return ops::add(h, ff2(gelu(ff1(ln2(h)))));
  }
};
struct Net : nn::Cell<Net> {
  Parameter<float, Shape<10, 16>, nn::Zero{}> pos;
  nn::Embedding<24, 16> emb;
  nn::CellList<Block, 2> blocks;
  LayerNorm lnf;
  nn::Dense<16, 24, nn::DenseConfig{.has_bias = false}> head;
  constexpr auto construct(auto x) const { return head(lnf(blocks(ops::add(emb(x), pos)))); }
};

struct Transformer {
  static constexpr const char* name = "transformer";
  using Net = transformer::Net;
  using Element = std::int32_t;
  using Input = Shape<10>;
  using Label = Shape<10>;
  static std::vector<std::int32_t> input(const support::NpyArray& x) { return x.values<std::int32_t>(); }
  // Softmax does not see a number that is added to all scores of a row.
  static bool noisy(const std::string& parameter) { return parameter.ends_with("attn.k.bias"); }
};

const Register all{
    {"transformer/momentum_nesterov",
     [] { repeat<Transformer>("momentum_nesterov", nn::NesterovMomentum{.learning_rate = 0.05, .momentum = 0.9f}); }},
    {"transformer/lamb", [] { repeat<Transformer>("lamb", nn::Lamb{.learning_rate = 0.02, .weight_decay = 0.01f}); }},
    {"transformer/adam", [] { repeat<Transformer>("adam", nn::Adam{.learning_rate = 0.005}); }},
    {"transformer/adamweightdecay_pynative",
     [] {
       repeat<Transformer>("adamweightdecay_pynative",
                           nn::AdamWeightDecay{.learning_rate = 0.005, .weight_decay = 0.05f});
     }},
};

}  // namespace transformer
