// LSTM and GRU as cells: names of parameters, states, training with equal bits, sentences.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cmath>

#include "../../support.hpp"

#include <tenon/nn/layer/recurrent/gru.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>
#include <tenon/ops/concat.hpp>

using namespace cells;
using support::random_tensor;
using support::same_bits;

namespace {

/// The last states of two directions, classified.
struct Reader : nn::Cell<Reader> {
  nn::LSTM<4, 20, nn::LSTMConfig{.bidirectional = true}> lstm;
  nn::Dense<40, 3> fc;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    return fc(flatten(h + c));
  }
};
struct GruReader : nn::Cell<GruReader> {
  nn::GRU<4, 20, nn::GRUConfig{.num_layers = 2}> gru;
  nn::Dense<20, 3> fc;
  constexpr auto construct(auto x) const {
    auto [output, h] = gru(x);
    return fc(output.template mean<1>());
  }
};
/// An encoder whose last states are the decoder's first ones.
struct Translator : nn::Cell<Translator> {
  nn::LSTM<4, 8> encoder, decoder;
  nn::Dense<8, 3> fc;
  constexpr auto construct(auto x) const {
    auto [read, h, c] = encoder(x);
    auto [written, last_h, last_c] = decoder(x, h, c);
    return fc(written.template mean<1>());
  }
};
/// x must be [n, T, 4]; with `width` other than 4 the dense layer in front does not fit.
template <int width>
struct Mistaken : nn::Cell<Mistaken<width>> {
  nn::Dense<width, 4> fc;
  nn::LSTM<4, 8> lstm;
  nn::GRU<8, 8> gru;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(fc(x));
    auto [last, state] = gru(output);
    return last;
  }
};

template <class Cell>
std::string names(const Cell& cell) {
  std::string all;
  for (const auto& [name, parameter] : cell.parameters_and_names()) all += name + ' ';
  return all;
}
template <class Cell, class... Keys>
std::string_view sentence() {
  return Compiled<detail::Forward<Cell, Keys...>>::sentence.view();
}

}  // namespace

TEST_CASE("LSTM and GRU: parameters have MindSpore's names and shapes") {
  CHECK(names(nn::LSTM<3, 5>{}) == "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 ");
  CHECK(names(nn::GRU<3, 5, nn::GRUConfig{.num_layers = 2, .has_bias = false, .bidirectional = true}>{}) ==
        "weight_ih_l0 weight_hh_l0 weight_ih_l0_reverse weight_hh_l0_reverse weight_ih_l1 weight_hh_l1 "
        "weight_ih_l1_reverse weight_hh_l1_reverse ");
  CHECK(names(Reader{}).starts_with(
      "lstm.weight_ih_l0 lstm.weight_hh_l0 lstm.bias_ih_l0 lstm.bias_hh_l0 lstm.weight_ih_l0_reverse "));
  const nn::LSTM<3, 5, nn::LSTMConfig{.num_layers = 12, .bidirectional = true}> deep;
  CHECK(names(deep).find("weight_hh_l11_reverse ") != std::string::npos);
  CHECK(deep.weights<0>().weight_ih.dims == type_of<float, Shape<20, 3>>);
  CHECK(deep.weights<11, true>().weight_ih.dims == type_of<float, Shape<20, 10>>);
  CHECK(deep.parameter_count() == 2 * (20 * 3 + 20 * 5 + 40) + 22 * (20 * 10 + 20 * 5 + 40));
}

TEST_CASE("LSTM: initial values are uniform within 1 / sqrt(Hidden), biases too") {
  nn::LSTM<16, 64> lstm;
  lstm.init_parameters();
  for (const auto& [name, parameter] : lstm.parameters_and_names()) {
    float largest = 0;
    for (float v : parameter.values<float>()) largest = std::fmax(largest, std::fabs(v));
    CHECK((largest <= 0.125f && largest > 0.115f));
  }
}

TEST_CASE("LSTM and GRU: results in both modes; zeros as initial states are the default") {
  const nn::LSTM<4, 9, nn::LSTMConfig{.num_layers = 2, .has_bias = false, .bidirectional = true}> lstm;
  const nn::GRU<4, 9> gru;
  const auto x = random_tensor<float, Shape<dyn, 7, 4>>(1);
  const auto zeros = Tensor<float, Shape<dyn, 4, 9>>::full(0, x.n());
  const auto zero = Tensor<float, Shape<dyn, 1, 9>>::full(0, x.n());
  std::vector<Tensor<float, Shape<dyn, 7, 18>>> outputs;
  for (const Mode mode : modes) {
    const ContextScope scope({.mode = mode});
    const auto [output, h, c] = lstm(x);
    const auto [output0, h0, c0] = lstm(x, zeros, zeros);
    CHECK((same_bits(output, output0) && same_bits(h, h0) && same_bits(c, c0)));
    CHECK(same_bits(ops::slice<Part{}, Part{6, 7}, Part{0, 9}>(output), ops::slice<Part{}, Part{2, 3}>(h)));
    CHECK(same_bits(ops::slice<Part{}, Part{0, 1}, Part{9, 18}>(output), ops::slice<Part{}, Part{3, 4}>(h)));
    outputs.push_back(output);
    const auto [y, last] = gru(x);
    CHECK(same_bits(std::get<0>(gru(x, zero)), y));
    CHECK(same_bits(ops::slice<Part{}, Part{6, 7}>(y), last));
  }
  CHECK(same_bits(outputs[0], outputs[1]));
}

TEST_CASE("LSTM and GRU: train with equal bits in both modes and with two threads") {
  check_training<Reader, Shape<5, 4>>(30);
  check_training<GruReader, Shape<5, 4>>(30);
  check_training<Translator, Shape<5, 4>>(40);
}

TEST_CASE("LSTM: wrong inputs are named once, and what follows stays silent") {
  using Flat = TypeKey<Dtype::float32, dyn, 6>;
  using Wide = TypeKey<Dtype::float32, dyn, 5, 6>;
  CHECK(sentence<nn::LSTM<4, 8>, Wide>() ==
        "network: LSTM got an input of 6 features [n,5,6], its weight [32,4] needs 4");
  // each with the line of the call behind it
  CHECK(sentence<Mistaken<6>, Flat>().starts_with(
      "network.lstm: LSTM needs an input [n,T,features], got [n,4] (recurrent.cpp:"));
  CHECK(sentence<Mistaken<5>, Wide>().starts_with(
      "network.fc: MatMul got rows of 6 [n,5,6], its weight [4,5] needs 5 (recurrent.cpp:"));
}
