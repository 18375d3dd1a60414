// nn::LSTM beside the same layer written with scan() in user code, in graph mode: both compute the same numbers, and
// the program prints how many times as long the second one takes: `scan FOLDER [ROUNDS]`. FOLDER gets the weights.
#include <cmath>

#include <tenon/more.hpp>

#include "classifier.hpp"

using namespace tenon;

namespace {
constexpr int features = 64, units = 128, length = 32, classes = 10, batch = 32;

/// As a user writes it: the product with x, which needs no state, is one product before the loop.
struct Scanned : nn::Cell<Scanned> {
  static constexpr nn::DefaultBias init{float(units)};
  Parameter<float, Shape<4 * units, features>, init> weight_ih_l0;
  Parameter<float, Shape<4 * units, units>, init> weight_hh_l0;
  Parameter<float, Shape<4 * units>, init> bias_ih_l0, bias_hh_l0;
  constexpr auto construct(auto x) const {
    const auto zero = zeros<Shape<dyn, units>>(x);
    const auto [state, all] = scan(
        [&](auto carried, auto v) {
          const auto [h, c] = carried;
          const auto [i, f, g, o] = split<1, 4>(v + matmul<Transposed::second>(h, weight_hh_l0));
          const auto next = sigmoid(f) * c + sigmoid(i) * tanh(g);
          const auto out = sigmoid(o) * tanh(next);
          return std::tuple(std::tuple(out, next), out);
        },
        std::tuple(zero, zero), matmul<Transposed::second>(x, weight_ih_l0) + bias_ih_l0 + bias_hh_l0);
    return all;
  }
};
struct Layer : nn::Cell<Layer> {
  nn::LSTM<features, units> lstm;
  constexpr auto construct(auto x) const {
    const auto [all, h, c] = lstm(x);
    return all;
  }
};
struct ScannedLayer : nn::Cell<ScannedLayer> {
  Scanned lstm;
  constexpr auto construct(auto x) const { return lstm(x); }
};
/// The mean over time of all states, so that each has a gradient.
template <class Memory>
struct Reader : nn::Cell<Reader<Memory>> {
  Memory memory;
  nn::Dense<units, classes> fc;
  constexpr auto construct(auto x) const { return fc(reduce_mean<1>(memory(x))); }
};

/// The largest difference, relative to 1 + the largest number.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, size = 1;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(a[k] - b[k]));
    size = std::max(size, 1 + std::abs(a[k]));
  }
  return a.size() == b.size() ? largest / size : INFINITY;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Both in turns, for about 20 ms each; false: they compute different numbers.
bool compare(const char* name, const benchmark::Work& layer, const benchmark::Work& scanned, int rounds) {
  const double off = difference(layer.check(), scanned.check());
  const long calls = std::max(1L, std::lround(20e-3 * 3 / layer.seconds(3)));
  std::vector<double> ratios, ours, users;
  for (int round = 0; round < rounds; ++round) {
    const auto time = [&](const benchmark::Work& work) { return work.seconds(calls) / double(calls) * 1e6; };
    ours.push_back(time(layer));
    users.push_back(time(scanned));
    ratios.push_back(users.back() / ours.back());
  }
  std::printf("%s: nn::LSTM %.1f us, scan %.1f us, median ratio %.2f, difference %.2g\n", name, median(ours),
              median(users), median(ratios), off);
  return off < 1e-5;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [ROUNDS]\n", argv[0]), 2;
  set_context({.num_threads = 1, .seed = 1});
  const std::string weights = benchmark::initial_weights<Reader<Layer>>(argv[1], "scan");
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 11;
  using Sample = Shape<length, features>;
  const auto training = [&]<class Net>(std::type_identity<Net>) {
    return benchmark::training<Net, Sample>(weights, Mode::graph, batch, classes);
  };
  const auto forward = [&]<class Net>(std::type_identity<Net>) {
    return benchmark::forward<Net>(weights, Mode::graph, batch, Sample{});
  };
  const std::type_identity<Reader<Layer>> layer;
  const std::type_identity<Reader<ScannedLayer>> scanned;
  const bool same_values = compare("forward", forward(layer), forward(scanned), rounds);
  const bool same_losses = compare("training step", training(layer), training(scanned), rounds);
  return same_values && same_losses ? 0 : 1;
}
