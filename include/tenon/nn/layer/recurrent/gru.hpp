// Gated recurrent units: a stack of layers over time, and a single step.
#pragma once
#include <tenon/nn/layer/recurrent/recurrent.hpp>
#include <tenon/ops/gru.hpp>
#include <tenon/ops/matmul.hpp>

namespace tenon::inline TENON_ABI::nn {

struct GRUConfig {
  int num_layers = 1;
  bool has_bias = true;
  bool batch_first = true;  // the only order there is: of a shape only the first extent can depend on n
  bool bidirectional = false;
};

namespace detail {
/// One layer in one direction, for run_layers.
struct GruStep {
  template <bool reverse, class Weights, class Lengths, class X, class... States>
  static constexpr auto run(const Weights& w, const Lengths& lengths, const X& x, const States&... initial) {
    const auto projected = add_bias(ops::matmul<ops::Transposed::second>(x, w.weight_ih), w.bias_ih);
    const auto result = [&](const auto&... more) {
      if constexpr (std::is_same_v<decltype(w.bias_hh), Absent>)
        return ops::gru<reverse>(projected, w.weight_hh, more...);
      else return ops::gru<reverse>(projected, w.weight_hh, w.bias_hh, more...);
    };
    return with_lengths(result, lengths, initial...);
  }
};
}  // namespace detail

/// Gated recurrent units: `auto [output, h] = gru(x);` or, from other states than zeros, `gru(x, h0)`; for sequences of
/// several lengths `gru(x, lengths)` or `gru(x, h0, lengths)`.
///   r, z = sigmoid(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh), m = tanh(x W_ihᵀ + b_ih + r (h W_hhᵀ + b_hh));  h = (1 - z) m + z
///   h
///
/// x           [n, T, In] of float32, or a 16-bit float (then the time loop runs in float32): samples first,
///             `batch_first` must stay true (MindSpore's default is time first)
/// lengths     [n] of int32, 1 .. T: the steps of each sequence, as of LSTM
/// output      [n, T, Hidden], with `bidirectional` [n, T, 2 Hidden]: h of the last layer at every step
/// h           [n, L, Hidden] with L = num_layers x directions, of the last step; samples first, where MindSpore has
///             [L, n, Hidden]
/// parameters  per layer k and direction weight_ih_l<k> [3 Hidden, In], weight_hh_l<k> [3 Hidden, Hidden], bias_ih_l<k>
///             and bias_hh_l<k> [3 Hidden], and the same with "_reverse"; rows in the order r, z, m; all uniform within
///             1 / sqrt(Hidden)
/// cost        the time loop is one kernel per layer and direction
/// source      MindSpore and PyTorch nn.GRU
template <int In, int Hidden, GRUConfig config = GRUConfig{}>
struct GRU : Cell<GRU<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0 && config.num_layers > 0,
                "GRU<In, Hidden> needs positive sizes and at least one layer");
  static_assert(
      config.batch_first,
      "GRU takes x as [n, T, In]: of a shape only the first extent can depend on n, so leave batch_first true");
  detail::RecurrentLayers<0, config.num_layers, In, Hidden, 3, config.bidirectional ? 2 : 1, config.has_bias> layers;

  template <class F>
  constexpr void each_child(F f) const {
    detail::each_layer(layers, f);
  }
  /// The parameters of a layer: `gru.weights<0>().weight_ih`.
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
    return detail::run_checked<GRU, config.num_layers*(config.bidirectional ? 2 : 1), Hidden>(
        [&](const auto&... v) { return joined_results(detail::run_layers<detail::GruStep>(layers, lengths, v...)); },
        lengths, x...);
  }
  static constexpr auto joined_results(const auto& run) {
    return std::tuple(std::get<0>(run), detail::last_states<1>(std::get<1>(run)));
  }
};

struct GRUCellConfig {
  bool has_bias = true;
};

/// One step of gated recurrent units: `h = cell(x, h);` with the formula of GRU.
///
/// x           [n, In] of float32, or a 16-bit float, computed in float32
/// h, result   [n, Hidden]
/// parameters  weight_ih [3 Hidden, In], weight_hh [3 Hidden, Hidden], bias_ih and bias_hh [3 Hidden]; rows and initial
///             values as of GRU
/// source      MindSpore and PyTorch nn.GRUCell
template <int In, int Hidden, GRUCellConfig config = GRUCellConfig{}>
struct GRUCell : Cell<GRUCell<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0, "GRUCell<In, Hidden> needs positive sizes");
  static constexpr DefaultBias init{float(Hidden)};
  Parameter<float, Shape<3 * Hidden, In>, init> weight_ih;
  Parameter<float, Shape<3 * Hidden, Hidden>, init> weight_hh;
  OptionalParameter<config.has_bias, float, Shape<3 * Hidden>, init> bias_ih, bias_hh;

  constexpr auto construct(const auto& x, const auto& h) const {
    const auto one = [this](const auto&... v) {
      return std::tuple(ops::squeeze<1>(
          std::get<0>(detail::GruStep::run<false>(*this, detail::AllSteps{}, ops::expand_dims<1>(v)...))));
    };
    return std::get<0>(detail::in_float(one, x, h));
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <int In, int Hidden, nn::GRUConfig config>
inline constexpr Children children_of<nn::GRU<In, Hidden, config>> = Children::named;
template <int In, int Hidden, nn::GRUConfig config>
inline constexpr int result_count<nn::GRU<In, Hidden, config>> = 2;
}  // namespace tenon::detail
