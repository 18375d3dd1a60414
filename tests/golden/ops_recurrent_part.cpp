// LSTM, GRU, and RNN against MindSpore's results (golden/ops): outputs, last states, gradients of the input, the
// initial states, and the parameters.
#include <cmath>

#include <tenon/more.hpp>
#include <tenon/nn/layer/recurrent/gru.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>
#include <tenon/nn/layer/recurrent/rnn.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/reduce_sum.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/transpose.hpp>

#include "ops.hpp"

using namespace tenon;
using support::check_near;
using support::expect;
using support::Npz;
using support::to_tensor;
using support::with_tanh;

namespace {

/// 3 samples of 5 steps of 4 features, 6 hidden units, as all cases have them.
constexpr int samples = 3, steps = 5, features = 4, hidden = 6;

/// Arrays whose second axis is that of the samples, with samples first: initial and last states, and the input of
/// time-first cases.
template <int First, int Last>
auto samples_first(const Npz& golden, const std::string& name) {
  return ops::transpose<1, 0, 2>(to_tensor<float, Shape<First, samples, Last>>(golden[name], name));
}
template <class T>
auto samples_second(const T& x) {
  return ops::transpose<1, 0, 2>(x);
}

void load_parameters(const Npz& golden, const ParameterDict& parameters) {
  std::size_t loaded = 0;
  for (const auto& [path, array] : golden.arrays()) {
    if (!path.starts_with("param/")) continue;
    const std::vector<float> values = array.values<float>();
    parameters[path.substr(6)].set_data(AnyTensor(Dtype::float32, array.shape, const_cast<float*>(values.data())));
    ++loaded;
  }
  expect(loaded == parameters.size());
}
template <class Cell>
void check_gradients(const Npz& golden, const Cell& cell, const eager::Tape& tape) {
  const ParameterList list(cell);
  int compared = 0;
  for (int e = 0; e < list.entries(); ++e) {
    if (!list.table()[e].parameter) continue;
    const std::string name = "gradparam/" + parameter_name(list.table(), e);
    CAPTURE(name);
    const auto* found = static_cast<const float*>(tenon::detail::home(tape.gradient_data(list.handle(e))));
    const std::vector<double> expected = golden[name].numbers();
    support::check_values({found, found + expected.size()}, expected, &with_tanh);
    ++compared;
  }
  expect(compared > 0);
}

template <class Result>
void check_results(const Npz& golden, bool time_first, const Result& result) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    if (time_first) check_near(samples_second(std::get<0>(result)), golden, "out/0", with_tanh);
    else check_near(std::get<0>(result), golden, "out/0", with_tanh);
    (check_near(samples_second(std::get<I + 1>(result)), golden, "out/" + std::to_string(I + 1), with_tanh), ...);
  }(std::make_index_sequence<std::tuple_size_v<Result> - 1>());
}

/// A case whose results are the output and `States` last states; `rows` is layers times directions, `width` hidden
/// times directions.
template <bool time_first, int rows, int width, class Cell, class... State>
void check_with(const Npz& golden, const Cell& cell, const State&... initial) {
  load_parameters(golden, cell.parameters_dict());
  const auto x = [&] {
    if constexpr (time_first) return samples_first<steps, features>(golden, "in/x");
    else return to_tensor<float, Shape<samples, steps, features>>(golden["in/x"], "in/x");
  }();
  const auto dy = [&] {
    if constexpr (time_first) return samples_first<steps, width>(golden, "dy/0");
    else return to_tensor<float, Shape<samples, steps, width>>(golden["dy/0"], "dy/0");
  }();
  {
    const ContextScope graph({.mode = Mode::graph});
    check_results(golden, time_first, cell(x, initial...));
  }
  eager::Tape tape;
  tape.watch(x);
  (tape.watch(initial), ...);
  const auto result = cell(x, initial...);
  check_results(golden, time_first, result);
  auto loss = ops::reduce_sum<>(std::get<0>(result) * dy) +
              ops::reduce_sum<>(std::get<1>(result) * samples_first<rows, hidden>(golden, "dy/1"));
  if constexpr (sizeof...(State) == 2)
    loss = loss + ops::reduce_sum<>(std::get<2>(result) * samples_first<rows, hidden>(golden, "dy/2"));
  tape.backward(loss);
  tape.pause();
  if constexpr (time_first) check_near(samples_second(tape.gradient(x)), golden, "grad/x", with_tanh);
  else check_near(tape.gradient(x), golden, "grad/x", with_tanh);
  const char* const names[]{"grad/h0", "grad/c0"};
  int k = 0;
  (check_near(samples_second(tape.gradient(initial)), golden, names[k++], with_tanh), ...);
  check_gradients(golden, cell, tape);
}
template <int layers, bool bidirectional, bool time_first = false>
void check_lstm(const std::string& name) {
  constexpr int rows = layers * (1 + bidirectional);
  support::golden_case(name, [](const Npz& golden) {
    const nn::LSTM<features, hidden, nn::LSTMConfig{.num_layers = layers, .bidirectional = bidirectional}> cell;
    check_with<time_first, rows, hidden * (1 + bidirectional)>(
        golden, cell, samples_first<rows, hidden>(golden, "in/h0"), samples_first<rows, hidden>(golden, "in/c0"));
  });
}
template <int layers, bool bidirectional, bool time_first = false>
void check_gru(const std::string& name) {
  constexpr int rows = layers * (1 + bidirectional);
  support::golden_case(name, [](const Npz& golden) {
    const nn::GRU<features, hidden, nn::GRUConfig{.num_layers = layers, .bidirectional = bidirectional}> cell;
    check_with<time_first, rows, hidden * (1 + bidirectional)>(golden, cell,
                                                               samples_first<rows, hidden>(golden, "in/h0"));
  });
}

template <int layers, bool bidirectional, bool time_first = false>
void check_rnn(const std::string& name) {
  constexpr int rows = layers * (1 + bidirectional);
  support::golden_case(name, [](const Npz& golden) {
    const nn::RNN<features, hidden, nn::RNNConfig{.num_layers = layers, .bidirectional = bidirectional}> cell;
    check_with<time_first, rows, hidden * (1 + bidirectional)>(golden, cell,
                                                               samples_first<rows, hidden>(golden, "in/h0"));
  });
}

/// One step; the states are [samples, hidden] in the files as well.
template <class Cell, class... State>
void check_step(const std::string& name, const Cell& cell, const char* const (&names)[sizeof...(State)],
                const State&...) {
  support::golden_case(name, [&](const Npz& golden) {
    load_parameters(golden, cell.parameters_dict());
    const auto x = to_tensor<float, Shape<samples, features>>(golden["in/x"], name);
    const auto state = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<State...>(
          to_tensor<typename State::type, typename State::shape_type>(golden[std::string("in/") + names[I]], name)...);
    }(std::index_sequence_for<State...>());
    const auto call = [&] { return std::apply([&](const auto&... s) { return cell(x, s...); }, state); };
    const auto dy = [&](const char* which) { return to_tensor<float, Shape<samples, hidden>>(golden[which], name); };
    const auto first = [](const auto& result) {
      if constexpr (sizeof...(State) == 2) return std::get<0>(result);
      else return result;
    };
    {
      const ContextScope graph({.mode = Mode::graph});
      check_near(first(call()), golden, "out/0", with_tanh);
    }
    eager::Tape tape;
    tape.watch(x);
    std::apply([&](const auto&... s) { (tape.watch(s), ...); }, state);
    const auto result = call();
    check_near(first(result), golden, "out/0", with_tanh);
    auto loss = ops::reduce_sum<>(first(result) * dy("dy/0"));
    if constexpr (sizeof...(State) == 2) {
      check_near(std::get<1>(result), golden, "out/1", with_tanh);
      loss = loss + ops::reduce_sum<>(std::get<1>(result) * dy("dy/1"));
    }
    tape.backward(loss);
    tape.pause();
    check_near(tape.gradient(x), golden, "grad/x", with_tanh);
    int k = 0;
    std::apply(
        [&](const auto&... s) {
          (check_near(tape.gradient(s), golden, std::string("grad/") + names[k++], with_tanh), ...);
        },
        state);
    check_gradients(golden, cell, tape);
  });
}

}  // namespace

const Group lstms("LSTM: layers, directions, initial states", [] {
  check_lstm<1, false>("lstm_l1_uni_bf");
  check_lstm<1, true>("lstm_l1_bi_bf");
  check_lstm<2, true>("lstm_l2_bi_bf");
  check_lstm<2, false, true>("lstm_l2_uni_tf");
});

const Group grus("GRU: layers, directions, initial states", [] {
  check_gru<1, false>("gru_l1_uni_bf");
  check_gru<1, true>("gru_l1_bi_bf");
  check_gru<2, true>("gru_l2_bi_bf");
  check_gru<2, false, true>("gru_l2_uni_tf");
});

const Group rnns("RNN: layers, directions, initial states", [] {
  check_rnn<1, false>("rnn_l1_uni_bf");
  check_rnn<1, true>("rnn_l1_bi_bf");
  check_rnn<2, true>("rnn_l2_bi_bf");
  check_rnn<2, false, true>("rnn_l2_uni_tf");
});

const Group cells("LSTMCell, GRUCell, and RNNCell: one step", [] {
  using State = Tensor<float, Shape<samples, hidden>>;
  check_step("lstmcell", nn::LSTMCell<features, hidden>{}, {"h", "c"}, State{}, State{});
  check_step("grucell", nn::GRUCell<features, hidden>{}, {"h"}, State{});
  check_step("rnncell", nn::RNNCell<features, hidden>{}, {"h"}, State{});
});
