// Plain recurrent layers: a stack of layers over time, and a single step.
#pragma once
#include <tenon/nn/layer/recurrent/recurrent.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/reverse_sequence.hpp>
#include <tenon/ops/rnn.hpp>

namespace tenon::inline TENON_ABI::nn {

/// What a plain recurrent layer applies to its sum.
enum class Nonlinearity : int { tanh, relu };

struct RNNConfig {
  int num_layers = 1;
  Nonlinearity nonlinearity = Nonlinearity::tanh;
  bool has_bias = true;
  bool batch_first = true;  // the only order there is: of a shape only the first extent can depend on n
  bool bidirectional = false;
};

namespace detail {
/// One layer in one direction, for run_layers.
template <Nonlinearity f>
struct RnnStep {
  template <bool reverse, class Weights, class Lengths, class X, class... States>
  static constexpr auto run(const Weights& w, const Lengths& lengths, const X& x, const States&... initial) {
    const auto layer = [](const auto&... operands) {
      if constexpr (f == Nonlinearity::relu) return ops::rnn_relu<reverse>(operands...);
      else return ops::rnn_tanh<reverse>(operands...);
    };
    const auto result = [&](const auto&... more) {
      if constexpr (std::is_same_v<decltype(w.bias_ih), Absent>) return layer(x, w.weight_ih, w.weight_hh, more...);
      else return layer(x, w.weight_ih, w.weight_hh, ops::add(value_in(x, w.bias_ih), w.bias_hh), more...);
    };
    return with_lengths(result, lengths, initial...);
  }
};
}  // namespace detail

/// Plain recurrent layers: `auto [output, h] = rnn(x);` or, from another state than zeros, `rnn(x, h0)`; for sequences
/// of several lengths `rnn(x, lengths)` or `rnn(x, h0, lengths)`.
///   h = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh), or relu of the same
///
/// x           [n, T, In] of float32, or a 16-bit float (then the time loop runs in float32): samples first,
///             `batch_first` must stay true (MindSpore's default is time first)
/// lengths     [n] of int32, 1 .. T: the steps of each sequence, as of LSTM
/// output      [n, T, Hidden], with `bidirectional` [n, T, 2 Hidden]: h of the last layer at every step
/// h           [n, L, Hidden] with L = num_layers x directions, of the last step; samples first, where MindSpore has
///             [L, n, Hidden]
/// parameters  per layer k and direction weight_ih_l<k> [Hidden, In], weight_hh_l<k> [Hidden, Hidden], bias_ih_l<k> and
///             bias_hh_l<k> [Hidden], and the same with "_reverse"; all uniform within 1 / sqrt(Hidden)
/// cost        the time loop is one kernel per layer and direction
/// source      MindSpore and PyTorch nn.RNN
template <int In, int Hidden, RNNConfig config = RNNConfig{}>
struct RNN : Cell<RNN<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0 && config.num_layers > 0,
                "RNN<In, Hidden> needs positive sizes and at least one layer");
  static_assert(
      config.batch_first,
      "RNN takes x as [n, T, In]: of a shape only the first extent can depend on n, so leave batch_first true");
  detail::RecurrentLayers<0, config.num_layers, In, Hidden, 1, config.bidirectional ? 2 : 1, config.has_bias> layers;

  template <class F>
  constexpr void each_child(F f) const {
    detail::each_layer(layers, f);
  }
  /// The parameters of a layer: `rnn.weights<0>().weight_ih`.
  template <int layer = 0, bool reverse = false>
  constexpr const auto& weights() const {
    return detail::layer_at<layer>(layers)[reverse];
  }

  constexpr auto construct(const ops::Operand auto& x) const { return run(detail::AllSteps{}, x); }
  template <class S>
  constexpr auto construct(const auto& x, const S& h0_or_lengths) const {
    if constexpr (detail::are_lengths<S>) return run(h0_or_lengths, x);
    else return run(detail::AllSteps{}, x, h0_or_lengths);
  }
  constexpr auto construct(const auto& x, const auto& h0, const auto& lengths) const { return run(lengths, x, h0); }
  constexpr auto run(const auto& lengths, const auto&... x) const {
    return detail::run_checked<RNN, config.num_layers*(config.bidirectional ? 2 : 1), Hidden>(
        [&](const auto&... v) {
          const auto results = detail::run_layers<detail::RnnStep<config.nonlinearity>>(layers, lengths, v...);
          return std::tuple(std::get<0>(results), detail::last_states<1>(std::get<1>(results)));
        },
        lengths, x...);
  }
};

struct RNNCellConfig {
  Nonlinearity nonlinearity = Nonlinearity::tanh;
  bool has_bias = true;
};

/// One step of a plain recurrent layer: `h = cell(x, h);` with the formula of RNN.
///
/// x           [n, In] of float32, or a 16-bit float, computed in float32
/// h, result   [n, Hidden]
/// parameters  weight_ih [Hidden, In], weight_hh [Hidden, Hidden], bias_ih and bias_hh [Hidden]; initial values as of
///             RNN
/// source      MindSpore and PyTorch nn.RNNCell
template <int In, int Hidden, RNNCellConfig config = RNNCellConfig{}>
struct RNNCell : Cell<RNNCell<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0, "RNNCell<In, Hidden> needs positive sizes");
  static constexpr DefaultBias init{float(Hidden)};
  Parameter<float, Shape<Hidden, In>, init> weight_ih;
  Parameter<float, Shape<Hidden, Hidden>, init> weight_hh;
  OptionalParameter<config.has_bias, float, Shape<Hidden>, init> bias_ih, bias_hh;

  constexpr auto construct(const auto& x, const auto& h) const {
    const auto one = [this](const auto&... v) {
      return std::tuple(ops::squeeze<1>(std::get<0>(detail::RnnStep<config.nonlinearity>::template run<false>(
          *this, detail::AllSteps{}, ops::expand_dims<1>(v)...))));
    };
    return std::get<0>(detail::in_float(one, x, h));
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <int In, int Hidden, nn::RNNConfig config>
inline constexpr Children children_of<nn::RNN<In, Hidden, config>> = Children::named;
template <int In, int Hidden, nn::RNNConfig config>
inline constexpr int result_count<nn::RNN<In, Hidden, config>> = 2;
}  // namespace tenon::detail
