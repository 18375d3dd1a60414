// Long short-term memory: a stack of layers over time, and a single step.
#pragma once
#include <tenon/nn/layer/recurrent/recurrent.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/lstm.hpp>

namespace tenon::inline TENON_ABI::nn {

struct LSTMConfig {
  int num_layers = 1;
  bool has_bias = true;
  bool batch_first = true;  // the only order there is: of a shape only the first extent can depend on n
  bool bidirectional = false;
};

namespace detail {
/// One layer in one direction, for run_layers.
struct LstmStep {
  template <bool reverse, class Weights, class Lengths, class X, class... States>
  static constexpr auto run(const Weights& w, const Lengths& lengths, const X& x, const States&... initial) {
    constexpr bool has_bias = !std::is_same_v<decltype(w.bias_ih), Absent>;
    const auto result = [&](const auto&... more) {
      if constexpr (has_bias && sizeof...(more) == 2)  // an operand too many: the bias as the weight of a 1 beside x
        return with_bias_column<reverse>(w, x, more...);
      else if constexpr (has_bias)
        return ops::lstm<reverse>(x, w.weight_ih, w.weight_hh, ops::add(value_in(x, w.bias_ih), w.bias_hh), more...);
      else return ops::lstm<reverse>(x, w.weight_ih, w.weight_hh, more...);
    };
    const auto [output, last] = [&] {
      if constexpr (sizeof...(States) == 0) return with_lengths(result, lengths);
      else return with_lengths(result, lengths, ops::concat<1>(initial...));
    }();
    return std::tuple(output, state_at<0>(last), state_at<1>(last));
  }

 private:
  template <bool reverse, class Weights, class X, class... More>
  static constexpr auto with_bias_column(const Weights& w, const X& x, const More&... more) {
    const auto one = ops::ones_like(ops::slice<Part{}, Part{}, Part{0, 1}>(x));
    const auto bias = ops::add(value_in(x, w.bias_ih), w.bias_hh);
    return ops::lstm<reverse>(ops::concat<2>(x, one),
                              ops::concat<1>(value_in(x, w.weight_ih), ops::expand_dims<1>(bias)), w.weight_hh,
                              more...);
  }
};
}  // namespace detail

/// Long short-term memory: `auto [output, h, c] = lstm(x);` or, from other states than zeros, `lstm(x, h0, c0)`; for
/// sequences of several lengths `lstm(x, lengths)` or `lstm(x, h0, c0, lengths)`.
///   i, f, o = sigmoid(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh), g = tanh(the same);  c = f c + i g;  h = o tanh(c)
///
/// x           [n, T, In] of float32, or a 16-bit float (then the time loop runs in float32): samples first,
///             `batch_first` must stay true (MindSpore's default is time first)
/// lengths     [n] of int32, 1 .. T: the steps of each sequence, as PyTorch's packed sequences have them. The output is
///             0 after them, h and c are those of the last step of each sequence, and the second direction starts
///             there. With `bidirectional` it needs <tenon/more.hpp>
/// output      [n, T, Hidden], with `bidirectional` [n, T, 2 Hidden]: h of the last layer at every step
/// h, c        [n, L, Hidden] with L = num_layers x directions, of the last step; samples first, where MindSpore has
///             [L, n, Hidden]. In the order layer 0, layer 0 reverse, layer 1, ...
/// parameters  per layer k and direction weight_ih_l<k> [4 Hidden, In], weight_hh_l<k> [4 Hidden, Hidden], bias_ih_l<k>
///             and bias_hh_l<k> [4 Hidden], and the same with "_reverse"; rows in the order i, f, g, o; all uniform
///             within 1 / sqrt(Hidden)
/// cost        the time loop is one kernel per layer and direction
/// dropout     between layers: write two LSTMs with an nn::Dropout between them
/// source      MindSpore and PyTorch nn.LSTM; their tuple (h, c) is two results here
template <int In, int Hidden, LSTMConfig config = LSTMConfig{}>
struct LSTM : Cell<LSTM<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0 && config.num_layers > 0,
                "LSTM<In, Hidden> needs positive sizes and at least one layer");
  static_assert(
      config.batch_first,
      "LSTM takes x as [n, T, In]: of a shape only the first extent can depend on n, so leave batch_first true");
  detail::RecurrentLayers<0, config.num_layers, In, Hidden, 4, config.bidirectional ? 2 : 1, config.has_bias> layers;

  template <class F>
  constexpr void each_child(F f) const {
    detail::each_layer(layers, f);
  }
  /// The parameters of a layer: `lstm.weights<0>().weight_ih`.
  template <int layer = 0, bool reverse = false>
  constexpr const auto& weights() const {
    return detail::layer_at<layer>(layers)[reverse];
  }

  constexpr auto construct(const ops::Operand auto& x) const { return run(detail::AllSteps{}, x); }
  template <class Lengths>
  constexpr auto construct(const auto& x, const Lengths& lengths) const {
    if constexpr (detail::are_lengths<Lengths>) return run(lengths, x);
    else return refuse_second(x, lengths);
  }
  constexpr auto construct(const auto& x, const auto& h0, const auto& c0) const {
    return run(detail::AllSteps{}, x, h0, c0);
  }
  constexpr auto construct(const auto& x, const auto& h0, const auto& c0, const auto& lengths) const {
    return run(lengths, x, h0, c0);
  }
  constexpr auto run(const auto& lengths, const auto&... x) const {
    return detail::run_checked<LSTM, states, Hidden>(
        [&](const auto&... v) { return joined_results(detail::run_layers<detail::LstmStep>(layers, lengths, v...)); },
        lengths, x...);
  }
  static constexpr auto joined_results(const auto& run) {
    return std::tuple(std::get<0>(run), detail::last_states<1>(std::get<1>(run)),
                      detail::last_states<2>(std::get<1>(run)));
  }

 private:
  static constexpr int states = config.num_layers * (config.bidirectional ? 2 : 1);

  // h0 alone, or the tuple (h0, c0) of MindSpore and PyTorch.
  template <class X, class Second>
  static constexpr auto refuse_second(const X& x, const Second& second) {
    Builder* const b = tenon::detail::builder_among(x, second);
    if constexpr (!is_broken<X> && !is_broken<Second>)
      if (b)
        b->fail(Sentence{} << "LSTM got " << detail::written<Second>().view()
                           << " as second argument: write lstm(x, h0, c0) with both first states, each [n," << states
                           << "," << Hidden << "], or lstm(x, lengths) with lengths of int32 [n]");
    return tenon::detail::broken_result<LSTM>(b);
  }
};

struct LSTMCellConfig {
  bool has_bias = true;
};

/// One step of a long short-term memory: `auto [h, c] = cell(x, h_before, c_before);` with the formula of LSTM.
///
/// x           [n, In] of float32, or a 16-bit float, computed in float32
/// h, c        [n, Hidden], before and after the step
/// parameters  weight_ih [4 Hidden, In], weight_hh [4 Hidden, Hidden], bias_ih and bias_hh [4 Hidden]; rows and initial
///             values as of LSTM
/// source      MindSpore and PyTorch nn.LSTMCell; their tuple (h, c) is two arguments here
template <int In, int Hidden, LSTMCellConfig config = LSTMCellConfig{}>
struct LSTMCell : Cell<LSTMCell<In, Hidden, config>> {
  static_assert(In > 0 && Hidden > 0, "LSTMCell<In, Hidden> needs positive sizes");
  static constexpr DefaultBias init{float(Hidden)};
  Parameter<float, Shape<4 * Hidden, In>, init> weight_ih;
  Parameter<float, Shape<4 * Hidden, Hidden>, init> weight_hh;
  OptionalParameter<config.has_bias, float, Shape<4 * Hidden>, init> bias_ih, bias_hh;

  constexpr auto construct(const auto& x, const auto& h, const auto& c) const {
    const auto one = [this](const auto&... v) {
      const auto step = detail::LstmStep::run<false>(*this, detail::AllSteps{}, ops::expand_dims<1>(v)...);
      return std::tuple(ops::squeeze<1>(std::get<1>(step)), ops::squeeze<1>(std::get<2>(step)));
    };
    return detail::in_float(one, x, h, c);
  }
};

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {
template <int In, int Hidden, nn::LSTMConfig config>
inline constexpr Children children_of<nn::LSTM<In, Hidden, config>> = Children::named;
template <int In, int Hidden, nn::LSTMConfig config>
inline constexpr int result_count<nn::LSTM<In, Hidden, config>> = 3;
template <int In, int Hidden, nn::LSTMCellConfig config>
inline constexpr int result_count<nn::LSTMCell<In, Hidden, config>> = 2;
}  // namespace tenon::detail
