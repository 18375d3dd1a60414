// Words to a class through an LSTM: the mean of its outputs over time.
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/layer/embedding.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>

#include "trajectories.hpp"

using namespace trajectories;

namespace lstm {

struct Net : nn::Cell<Net> {
  nn::Embedding<20, 8> emb;
  nn::LSTM<8, 12> lstm;
  nn::Dense<12, 4> fc;
  constexpr auto construct(auto ids) const {
    auto [output, h, c] = lstm(emb(ids));
    return fc(ops::reduce_mean<1>(output));
  }
};

struct Lstm : NothingNoisy {
  static constexpr const char* name = "lstm";
  using Net = lstm::Net;
  using Element = std::int32_t;
  using Input = Shape<9>;
  using Label = Shape<>;
  static std::vector<std::int32_t> input(const support::NpyArray& x) { return x.values<std::int32_t>(); }
};

const Register all{
    {"lstm/momentum", [] { repeat<Lstm>("momentum", nn::Momentum{.learning_rate = 0.2, .momentum = 0.9f}); }},
    {"lstm/adam", [] { repeat<Lstm>("adam", nn::Adam{.learning_rate = 0.02}); }},
    {"lstm/adam_pynative", [] { repeat<Lstm>("adam_pynative", nn::Adam{.learning_rate = 0.02}); }},
};

}  // namespace lstm
