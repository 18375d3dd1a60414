// Plain recurrent layers, and sequences of several lengths through RNN, LSTM, and GRU.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>

#include <tenon/more.hpp>

#include "../../../support/both_modes.hpp"
#include "../../../support/gradient_check.hpp"
#include "../../../support/shape_rule.hpp"

using namespace tenon;
using support::both_modes;
using support::check_gradients;
using support::random_tensor;
using support::same_bits;
using support::tensor_of;

namespace {
constexpr int steps = 5, features = 3, hidden = 4;
template <class T, int... E>
auto numbers(std::uint64_t seed) {
  return random_tensor<T, Shape<E...>>(seed, -1, 1, 4);
}
Tensor<std::int32_t, Shape<dyn>> some_lengths() { return tensor_of<std::int32_t, Shape<dyn>>({5, 3, 1, 4}); }

/// The steps 0 .. length - 1 of a sample alone.
template <int length, class X>
auto alone(const X& x, long sample) {
  Tensor<float, Shape<1, length, features>> own = Tensor<float, Shape<1, length, features>>::empty();
  for (long i = 0; i < length * features; ++i) own.data()[i] = x.data()[sample * steps * features + i];
  return own;
}
// The results for a sample of a batch are those that it has alone, and 0 after its length.
template <int length, class Cell, class X, class Result>
void check_sample(const Cell& cell, const X& x, const Result& batch, long sample) {
  CAPTURE(sample);
  const auto own = cell(alone<length>(x, sample));
  const auto& output = std::get<0>(batch);
  const long width = output.count() / output.n() / steps;
  bool same = true, zero = true;
  for (long i = 0; i < steps * width; ++i) {
    const float value = output.data()[sample * steps * width + i];
    if (i < length * width) same &= value == std::get<0>(own).data()[i];
    else zero &= value == 0;
  }
  CHECK(same);
  CHECK(zero);
  const auto check_last = [&](const auto& of_batch, const auto& of_one) {
    for (long i = 0; i < of_one.count(); ++i) same &= of_batch.data()[sample * of_one.count() + i] == of_one.data()[i];
    CHECK(same);
  };
  check_last(std::get<1>(batch), std::get<1>(own));
  if constexpr (std::tuple_size_v<Result> > 2) check_last(std::get<2>(batch), std::get<2>(own));
}
template <class Cell>
void check_lengths(const Cell& cell) {
  const auto x = numbers<float, dyn, steps, features>(1);
  for (const Mode mode : {Mode::pynative, Mode::graph}) {
    const ContextScope scope({.mode = mode});
    const auto batch = cell(x, some_lengths());
    check_sample<5>(cell, x, batch, 0);
    check_sample<3>(cell, x, batch, 1);
    check_sample<1>(cell, x, batch, 2);
    check_sample<4>(cell, x, batch, 3);
  }
}
/// Element i is ((37 i + 11 seed) mod 101 - 50) / 100.
template <class T>
void fill(T& values, int seed) {
  for (long i = 0; i < long(values.size()); ++i) values[std::size_t(i)] = float((37 * i + 11 * seed) % 101 - 50) / 100;
}
template <class S>
Tensor<float, S> filled(int seed) {
  auto t = Tensor<float, S>::empty(4);
  auto values = t.values();
  fill(values, seed);
  return t;
}
// What PyTorch's packed sequences give in float64 for two layers in two directions: the sums of output, last h, the
// gradients of x and of weight_hh_l0_reverse, each times `filled`.
template <class Cell>
void check_packed(const Cell& cell, const double (&expected)[4]) {
  cell.init_parameters();
  int seed = 1;
  for (const char* layer : {"_l0", "_l0_reverse", "_l1", "_l1_reverse"})
    for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      auto values = cell.parameters_dict()[std::string(kind) + layer].template values<float>();
      fill(values, seed++);
    }
  const auto x = filled<Shape<dyn, steps, features>>(0);
  eager::Tape tape;
  tape.watch(x);
  const auto result = cell(x, some_lengths());
  const auto output = ops::reduce_sum(std::get<0>(result) * filled<Shape<dyn, steps, 2 * hidden>>(50));
  const auto last = ops::reduce_sum(std::get<1>(result) * filled<Shape<dyn, 4, hidden>>(51));
  tape.backward(output + last);
  tape.pause();
  CHECK(double(output.item()) == doctest::Approx(expected[0]).epsilon(1e-5));
  CHECK(double(last.item()) == doctest::Approx(expected[1]).epsilon(1e-5));
  const auto of_x = ops::reduce_sum(tape.gradient(x) * filled<Shape<dyn, steps, features>>(52));
  CHECK(std::fabs(double(of_x.item()) - expected[2]) < 1e-5);
  const auto& weight = cell.template weights<0, true>().weight_hh;
  const auto* gradient = static_cast<const float*>(tenon::detail::home(tape.gradient_data(weight)));
  double of_weight = 0;
  std::vector<float> factor(weight.values().size());
  fill(factor, 53);
  for (std::size_t i = 0; i < factor.size(); ++i) of_weight += double(gradient[i]) * double(factor[i]);
  CHECK(std::fabs(of_weight - expected[3]) < 1e-5);
}
}  // namespace

TEST_CASE("lengths: the numbers of PyTorch's packed sequences, with gradients") {
  check_packed(nn::RNN<features, hidden, nn::RNNConfig{.num_layers = 2, .bidirectional = true}>{},
               {5.375072888117508, 2.777580486993873, 0.002040999877828062, 0.07519854542389297});
  check_packed(nn::LSTM<features, hidden, nn::LSTMConfig{.num_layers = 2, .bidirectional = true}>{},
               {0.7492864124934571, 0.5782413907197871, 0.05871280836840943, -0.011211099100826946});
  check_packed(nn::GRU<features, hidden, nn::GRUConfig{.num_layers = 2, .bidirectional = true}>{},
               {-0.404910611943756, 0.6070918315546123, -0.011575501557601928, -0.10235452358562692});
}

TEST_CASE("rnn_tanh and rnn_relu: the steps are those of the formula") {
  const auto x = numbers<float, dyn, steps, features>(1);
  const auto u = numbers<float, hidden, features>(2);
  const auto w = numbers<float, hidden, hidden>(3);
  const auto [all, last] = ops::rnn_relu(x, u, w);
  std::vector<double> h(hidden), next(hidden);
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < hidden; ++i) {
      double sum = 0;
      for (int f = 0; f < features; ++f) sum += double(x.data()[t * features + f]) * double(u.data()[i * features + f]);
      for (int k = 0; k < hidden; ++k) sum += h[std::size_t(k)] * double(w.data()[i * hidden + k]);
      next[std::size_t(i)] = std::fmax(sum, 0);
      CHECK(double(all.data()[t * hidden + i]) == doctest::Approx(next[std::size_t(i)]));
    }
    h = next;
  }
  for (int i = 0; i < hidden; ++i) CHECK(last.data()[i] == all.data()[(steps - 1) * hidden + i]);
}

TEST_CASE("RNN: equal bits in both modes, with the gradients; many units and samples") {
  const auto x = random_tensor<float, Shape<dyn, 3, 20>>(1, -1, 1, 19);
  const auto u = numbers<float, 33, 20>(2);
  const auto w = numbers<float, 33, 33>(3);
  both_modes([](auto v, auto a, auto b) { return std::get<0>(ops::rnn_tanh(v, a, b)); }, x, u, w);
  both_modes([](auto v, auto a, auto b) { return std::get<1>(ops::rnn_relu<true>(v, a, b)); }, x, u, w);
}

TEST_CASE("lengths: gradients against central differences") {
  const auto x = numbers<double, dyn, steps, 2>(1);
  const auto gates = numbers<double, dyn, steps, 9>(5);
  const auto lengths = some_lengths();
  const auto u = numbers<double, 3, 2>(2);
  const auto w = numbers<double, 3, 3>(3);
  const auto h = numbers<double, dyn, 1, 3>(4);
  check_gradients([](auto v, auto a, auto b, auto s, auto l) { return std::get<0>(ops::rnn_tanh(v, a, b, s, l)); }, x,
                  u, w, h, lengths);
  check_gradients([](auto v, auto a, auto b, auto s, auto l) { return std::get<1>(ops::rnn_tanh(v, a, b, s, l)); }, x,
                  u, w, h, lengths);
  const auto u4 = numbers<double, 12, 2>(2);
  const auto w4 = numbers<double, 12, 3>(3);
  const auto hc = numbers<double, dyn, 2, 3>(4);
  check_gradients([](auto v, auto a, auto b, auto s, auto l) { return std::get<0>(ops::lstm(v, a, b, s, l)); }, x, u4,
                  w4, hc, lengths);
  check_gradients([](auto v, auto a, auto b, auto s, auto l) { return std::get<1>(ops::lstm(v, a, b, s, l)); }, x, u4,
                  w4, hc, lengths);
  const auto w3 = numbers<double, 9, 3>(3);
  check_gradients([](auto p, auto b, auto s, auto l) { return std::get<0>(ops::gru(p, b, s, l)); }, gates, w3, h,
                  lengths);
  check_gradients([](auto p, auto b, auto s, auto l) { return std::get<1>(ops::gru(p, b, s, l)); }, gates, w3, h,
                  lengths);
}

TEST_CASE("lengths: gradients of both results at once, and of an LSTM from other states") {
  const auto lengths = some_lengths();
  const auto gates = numbers<double, dyn, steps, 9>(5);
  const auto w3 = numbers<double, 9, 3>(3);
  check_gradients(
      [](auto p, auto b, auto l) {
        const auto [all, last] = ops::gru(p, b, l);
        return ops::add(all, last);  // broadcast along the steps
      },
      gates, w3, lengths);
  const auto x = numbers<double, dyn, steps, 2>(1);
  const auto u4 = numbers<double, 12, 2>(2);
  const auto w4 = numbers<double, 12, 3>(3);
  const auto hc = numbers<double, dyn, 2, 3>(4);
  check_gradients(
      [](auto v, auto a, auto b, auto s, auto l) {
        const auto [all, last] = ops::lstm(v, a, b, s, l);
        return ops::add(all, ops::reduce_sum_keep<1>(last));
      },
      x, u4, w4, hc, lengths);
  const nn::LSTM<features, hidden> lstm;
  const auto z = numbers<float, dyn, steps, features>(1);
  const auto zero = Tensor<float, Shape<dyn, 1, hidden>>::zeros(4);
  const auto from_zeros = lstm(z, zero, zero, lengths), plain = lstm(z, lengths);
  for (long i = 0; i < std::get<0>(plain).count(); ++i)
    CHECK(std::get<0>(from_zeros).data()[i] == doctest::Approx(std::get<0>(plain).data()[i]).epsilon(1e-5));
}

TEST_CASE("lengths: equal bits in both modes, with the gradients") {
  const auto x = random_tensor<float, Shape<dyn, steps, 18>>(1, -1, 1, 4);
  const auto lengths = some_lengths();
  const auto u = numbers<float, 68, 18>(2);
  const auto w = numbers<float, 68, 17>(3);
  both_modes([](auto v, auto a, auto b, auto l) { return std::get<0>(ops::lstm(v, a, b, l)); }, x, u, w, lengths);
  both_modes([](auto v, auto a, auto b, auto l) { return std::get<1>(ops::lstm(v, a, b, l)); }, x, u, w, lengths);
  const auto p = numbers<float, dyn, steps, 51>(4);
  const auto w3 = numbers<float, 51, 17>(5);
  both_modes([](auto v, auto b, auto l) { return std::get<0>(ops::gru(v, b, l)); }, p, w3, lengths);
  both_modes([](auto v, auto l) { return ops::reverse_sequence(v, l); }, x, lengths);
}

TEST_CASE("lengths: each sequence has the results that it has alone, in both directions of several layers") {
  check_lengths(nn::RNN<features, hidden, nn::RNNConfig{.num_layers = 2, .bidirectional = true}>{});
  check_lengths(nn::LSTM<features, hidden, nn::LSTMConfig{.num_layers = 2, .bidirectional = true}>{});
  check_lengths(nn::GRU<features, hidden, nn::GRUConfig{.num_layers = 2, .bidirectional = true}>{});
  check_lengths(nn::RNN<features, hidden, nn::RNNConfig{.nonlinearity = nn::Nonlinearity::relu, .has_bias = false}>{});
}

TEST_CASE("reverse_sequence: up to the length; the rest stays") {
  const auto x = tensor_of<std::int32_t, Shape<dyn, 3, 1>>({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto lengths = tensor_of<std::int32_t, Shape<dyn>>({3, 2, 0});
  CHECK(same_bits(ops::reverse_sequence(x, lengths),
                  tensor_of<std::int32_t, Shape<dyn, 3, 1>>({3, 2, 1, 5, 4, 6, 7, 8, 9})));
}

TEST_CASE("what does not fit is one sentence") {
  const auto x = support::type<float, dyn, 5, 3>();
  const auto u = support::type<float, 4, 3>();
  const auto w = support::type<float, 4, 4>();
  CHECK(support::refusal<ops::RnnTanh>({}, {x, u, support::type<float, 4, 5>()}) ==
        "RNN got the weights [4,3] and [4,5]: it needs [H,features], [H,H], and [H]");
  CHECK(support::refusal<ops::RnnTanh>({}, {x, u, w, support::type<std::int64_t, dyn>()}) ==
        "RNN of [n,5,3] got lengths int64 [n], it needs int32 [n]");
  CHECK(support::refusal<ops::Lstm>({1}, {x, support::type<float, 16, 3>(), support::type<float, 16, 4>(),
                                          support::type<std::int32_t, dyn>()}) ==
        "LSTM with lengths runs forward: reverse x and the result by reverse_sequence");
  CHECK(support::refusal<ops::ReverseSequence>({}, {x, support::type<std::int32_t, 7>()}) ==
        "ReverseSequence of [n,5,3] got lengths int32 [7], it needs int32 [n]");
}

namespace {
/// What is said of a cell that gets these arguments, the first two of which are x and h.
template <class Cell, class... X>
std::string sentence() {
  const std::string_view said =
      Compiled<tenon::detail::Forward<Cell, typename tenon::detail::KeyFor<X>::type...>>::sentence.view();
  return std::string(said.substr(0, said.find(" (rnn.cpp")));
}
struct TupleOfStates : nn::Cell<TupleOfStates> {
  nn::LSTM<3, 8> lstm;
  constexpr auto construct(auto x, auto h) const { return std::get<0>(lstm(x, std::tuple(h, h))); }
};
struct TupleOfState : nn::Cell<TupleOfState> {
  nn::GRU<3, 8> gru;
  constexpr auto construct(auto x, auto h) const { return std::get<0>(gru(x, std::tuple(h))); }
};
}  // namespace

TEST_CASE("first states and lengths that do not fit are named as what they are") {
  using X = Tensor<float, Shape<dyn, 5, 3>>;
  using H = Tensor<float, Shape<dyn, 1, 8>>;
  using Flat = Tensor<float, Shape<dyn, 8>>;
  using Whole = Tensor<std::int32_t, Shape<dyn, 1, 8>>;
  using Real = Tensor<float, Shape<dyn>>;
  using Lstm = nn::LSTM<3, 8>;
  using Gru = nn::GRU<3, 8>;
  using Rnn = nn::RNN<3, 8, nn::RNNConfig{.num_layers = 2, .bidirectional = true}>;
  const std::string second = " as second argument: write lstm(x, h0, c0) with both first states, each [n,1,8], or "
                             "lstm(x, lengths) with lengths of int32 [n]",
                    whole = " of float32 [n,5,3] got a first state int32 [n,1,8], it needs float32 ";
  CHECK(sentence<TupleOfStates, X, H>() == "network.lstm: LSTM got a tuple" + second);
  CHECK(sentence<Lstm, X, H>() == "network: LSTM got float32 [n,1,8]" + second);
  CHECK(sentence<Lstm, X, Whole>() == "network: LSTM got int32 [n,1,8]" + second);
  CHECK(sentence<Lstm, X, Whole, Whole>() == "network: LSTM" + whole + "[n,1,8]; lengths are int32 [n]");
  CHECK(sentence<Lstm, X, H, Flat>() ==
        "network: LSTM of float32 [n,5,3] got a first state float32 [n,8], it needs float32 [n,1,8]");
  CHECK(sentence<Lstm, X, H, H, Real>() ==
        "network: LSTM of float32 [n,5,3] got lengths float32 [n], it needs int32 [n]");
  CHECK(sentence<TupleOfState, X, H>() ==
        "network.gru: GRU of float32 [n,5,3] got a first state that is a tuple, it needs float32 [n,1,8]");
  CHECK(sentence<Gru, X, Flat>() ==
        "network: GRU of float32 [n,5,3] got a first state float32 [n,8], it needs float32 [n,1,8]");
  CHECK(sentence<Gru, X, Whole>() == "network: GRU" + whole + "[n,1,8]; lengths are int32 [n]");
  CHECK(sentence<Gru, X, H, Real>() == "network: GRU of float32 [n,5,3] got lengths float32 [n], it needs int32 [n]");
  CHECK(sentence<Rnn, X, Whole>() == "network: RNN" + whole + "[n,4,8]; lengths are int32 [n]");
  CHECK(sentence<Rnn, X, Tensor<std::int64_t, Shape<dyn>>>() ==
        "network: RNN of [n,5,3] got lengths int64 [n], it needs int32 [n]");
  CHECK(sentence<Gru, X, H>() == "");
  CHECK(sentence<Lstm, Tensor<float16, Shape<dyn, 5, 3>>, H, H>() == "");
}
