// flags: -O0
// Derivatives of recurrent layers and of loops and conditions, against PyTorch.
#include "derivatives.hpp"

using namespace derivatives;

// The third tensor of `gru` is the bias beside the weight; it stands before the first states and the lengths.
const Group recurrent([] {
  check_to<1, D<dyn, 4, 3>, D<8, 3>, D<8, 2>, D<8>>(
      "lstm", [](const auto& x, const auto& v, const auto& w, const auto& b) { return std::get<0>(lstm(x, v, w, b)); });
  check_to<1, D<dyn, 3, 2>, D<12, 2>, D<12, 3>>("lstm.reverse", [](const auto& x, const auto& v, const auto& w) {
    return std::get<1>(ops::lstm<true>(x, v, w));
  });
  check_to<1, D<dyn, 4, 3>, D<8, 3>, D<8, 2>, D<dyn, 2, 2>, I<dyn>>(
      "lstm.lengths", [](const auto& x, const auto& v, const auto& w, const auto& first, const auto& lengths) {
        const auto [all, last] = lstm(x, v, w, first, lengths);
        return concat<1>(all, last);
      });
  check_to<1, D<dyn, 4, 3>, D<2, 3>, D<2, 2>, D<2>>(
      "rnn_tanh",
      [](const auto& x, const auto& v, const auto& w, const auto& b) { return std::get<0>(rnn_tanh(x, v, w, b)); });
  check_to<1, D<dyn, 4, 3>, D<2, 3>, D<2, 2>, D<dyn, 1, 2>, I<dyn>>(
      "rnn_tanh.lengths", [](const auto& x, const auto& v, const auto& w, const auto& first, const auto& lengths) {
        const auto [all, last] = rnn_tanh(x, v, w, first, lengths);
        return concat<1>(all, last);
      });
  check_to<1, D<dyn, 3, 2>, D<3, 2>, D<3, 3>>("rnn_relu", [](const auto& x, const auto& v, const auto& w) {
    return std::get<0>(ops::rnn_relu<true>(x, v, w));
  });
  check_to<1, D<dyn, 4, 6>, D<6, 2>, D<6>>(
      "gru", [](const auto& x, const auto& w, const auto& b) { return std::get<0>(gru(x, w, b)); });
  check_to<1, D<dyn, 4, 6>, D<6, 2>, D<dyn, 1, 2>>("gru.reverse", [](const auto& x, const auto& w, const auto& first) {
    return std::get<1>(ops::gru<true>(x, w, first));
  });
  check_to<1, D<dyn, 4, 6>, D<6, 2>, D<6>, D<dyn, 1, 2>, I<dyn>>(
      "gru.lengths", [](const auto& x, const auto& w, const auto& b, const auto& first, const auto& lengths) {
        const auto [all, last] = gru(x, w, b, first, lengths);
        return concat<1>(all, last);
      });
});

const Group both_directions([] {
  check_to<1, D<dyn, 3, 2>, D<2, 2>, D<2, 2>, D<2, 2>>(
      "rnn_tanh.both", [](const auto& x, const auto& v, const auto& w, const auto& u) {
        return concat<2>(std::get<0>(rnn_tanh(x, v, w)), std::get<0>(ops::rnn_tanh<true>(x, v, u)));
      });
  check_to<1, D<dyn, 4, 2>, D<8, 2>, D<8, 2>, I<dyn>>(
      "lstm.both_with_lengths", [](const auto& x, const auto& v, const auto& w, const auto& lengths) {
        const auto back = std::get<0>(lstm(reverse_sequence(x, lengths), v, w, lengths));
        return concat<2>(std::get<0>(lstm(x, v, w, lengths)), reverse_sequence(back, lengths));
      });
  check_to<1, D<dyn, 4, 6>, D<6, 2>, I<dyn>>(
      "gru.both_with_lengths", [](const auto& x, const auto& w, const auto& lengths) {
        const auto back = std::get<0>(gru(reverse_sequence(x, lengths), w, lengths));
        return concat<2>(std::get<0>(gru(x, w, lengths)), reverse_sequence(back, lengths));
      });
});

const Group control([] {
  check_to<1, D<dyn, 2>, D<dyn, 4, 2>, D<2, 2>>("scan", [](const auto& first, const auto& xs, const auto& w) {
    const auto [last, ys] = ops::scan(
        [&](const auto& h, const auto& x) {
          const auto next = tanh(matmul(h, w) + x);
          return std::tuple(next, next * x);
        },
        first, xs);
    return ys * ops::expand_dims<1>(last);
  });
  check_to<1, D<dyn, 3, 2>, D<2>>(
      "map", [](const auto& xs, const auto& v) { return ops::map([&](const auto& x) { return exp(x) * v; }, xs); });
  check_to<1, D<dyn, 2>, D<2>>("while_loop", [](const auto& x, const auto& v) {
    return ops::while_loop<6>([](const auto& y) { return reduce_mean(square(y)) < 2.0; },
                              [&](const auto& y) { return y * 1.5 + v; }, x);
  });
  check_to<1, D<dyn, 2>, D<2>>("cond", [](const auto& x, const auto& v) {
    return ops::cond(
        reduce_sum(x) > 0.0, [&](const auto& y) { return sin(y) * v; }, [](const auto& y) { return y * y; }, x);
  });
});
