// The time loops of an LSTM: what is stored past the caches has the bits of what is not, and no name of another header
// comes in between.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/backend/cpu/pool/conv_max.hpp>  // in front, as in tenon.hpp
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/random/philox.hpp>

#include <tenon/backend/cpu/recurrent/gru.hpp>
#include <tenon/backend/cpu/recurrent/lstm.hpp>

using namespace tenon;

namespace {
constexpr long samples = 41, steps = 32, features = 5, hidden = 64, states_of_one = steps * 5 * hidden,
               gates_of_one = steps * 4 * hidden + hidden;

std::vector<float> numbers(long count, double size) {
  Random random(7);
  std::vector<float> values(std::size_t(count), 0.0f);
  for (float& v : values) v = float(random.uniform(-size, size));
  return values;
}
struct Aligned {
  AlignedBytes bytes;
  explicit Aligned(long count) : bytes(std::size_t(count) * sizeof(float)) {}
  float* data() const { return reinterpret_cast<float*>(bytes.data()); }
};
}  // namespace

TEST_CASE("lstm: many samples have the bits that each has alone, whatever place the result has") {
  const auto input_weight = numbers(4 * hidden * features, 0.3), weight = numbers(4 * hidden * hidden, 0.2),
             bias = numbers(4 * hidden, 0.2);
  const auto first = numbers(samples * 2 * hidden, 0.5), x = numbers(samples * steps * features, 1),
             dh = numbers(samples * steps * hidden, 1);
  const Aligned scratch(long(
      (kernel::lstm_workspace<float>(features, hidden) + kernel::lstm_grad_workspace<float>(hidden)) / sizeof(float)));
  const Aligned states(samples * states_of_one + 1), gates(samples * gates_of_one + 1),
      one_states(samples * states_of_one), one_gates(samples * gates_of_one), all(samples * steps * hidden),
      one_all(samples * steps * hidden), last(samples * 2 * hidden), one_last(samples * 2 * hidden),
      packed(kernel::lstm_weight_bytes<float>(hidden) / long(sizeof(float)));
  kernel::keep_lstm_weight(weight.data(), hidden, packed.data());
  const auto bytes = [](long of_one) { return std::size_t(samples * of_one) * sizeof(float); };
  REQUIRE(kernel::detail::goes_past_caches(gates.data(), hidden, samples * gates_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(gates.data() + 1, hidden, samples * gates_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(states.data(), hidden, states_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(gates.data(), hidden + 1, samples * gates_of_one));
  for (const bool reverse : {false, true}) {
    const kernel::Lstm<float> layer{steps,         features,    hidden,      reverse, input_weight.data(),
                                    weight.data(), bias.data(), first.data()};
    kernel::Lstm<float> with_packed = layer;
    with_packed.weight = nullptr, with_packed.packed = packed.data();
    for (long i = 0; i < samples; ++i) {
      kernel::lstm(i % 2 ? with_packed : layer, x.data(), one_all.data(), one_last.data(), one_states.data(), i, i + 1,
                   scratch.data());
      kernel::lstm_grad(layer, one_states.data(), dh.data(), static_cast<const float*>(nullptr), one_gates.data(), i,
                        i + 1, scratch.data());
    }
    CHECK(one_gates.data()[3] != 0);
    for (const long offset : {0, 1}) {
      CAPTURE(offset);
      kernel::lstm(layer, x.data(), all.data(), last.data(), states.data() + offset, 0, samples, scratch.data());
      CHECK(std::memcmp(states.data() + offset, one_states.data(), bytes(states_of_one)) == 0);
      CHECK(std::memcmp(all.data(), one_all.data(), bytes(steps * hidden)) == 0);
      CHECK(std::memcmp(last.data(), one_last.data(), bytes(2 * hidden)) == 0);
      float* const none = nullptr;  // nobody reads the states, or the last ones
      std::fill_n(all.data(), samples * steps * hidden, -2.0f);
      kernel::lstm(layer, x.data(), all.data(), none, none, 0, samples, scratch.data());
      CHECK(std::memcmp(all.data(), one_all.data(), bytes(steps * hidden)) == 0);
      kernel::lstm_grad(layer, one_states.data(), dh.data(), static_cast<const float*>(nullptr), gates.data() + offset,
                        0, samples, scratch.data());
      CHECK(std::memcmp(gates.data() + offset, one_gates.data(), bytes(gates_of_one)) == 0);
    }
  }
}

TEST_CASE("lstm: long sums are made of segments, for many samples and for each alone") {
  constexpr long inputs = 1000, units = 9, rows = 7, length = 3;
  // g = tanh of 1000 times the same number
  const float factor = 0.1f, weight = 0.3f / 64;
  const std::vector<float> zeros(std::size_t(4 * units * units), 0.0f), x(std::size_t(rows * length * inputs), factor);
  std::vector<float> input_weight(std::size_t(4 * units * inputs), 0.0f);
  std::fill_n(input_weight.begin() + 2 * units * inputs, units * inputs, weight);
  const kernel::Lstm<float> layer{length, inputs, units, false, input_weight.data(), zeros.data(), nullptr, nullptr};
  const Aligned scratch(long(kernel::lstm_workspace<float>(inputs, units) / sizeof(float)));
  std::vector<float> together(std::size_t(rows * length * 5 * units)), alone(together), all(together);
  float* const last = nullptr;
  kernel::lstm(layer, x.data(), all.data(), last, together.data(), 0, rows, scratch.data());
  for (long i = 0; i < rows; ++i)
    kernel::lstm(layer, x.data(), all.data(), last, alone.data(), i, i + 1, scratch.data());
  CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)) == 0);
  const double g = std::tanh(double(factor) * weight * inputs);
  CHECK(std::abs(together[2 * units] - g) < 4e-6 * g);  // of one chain: 8e-6
}

TEST_CASE("lstm: features and units that are several segments together, many samples and each alone") {
  constexpr long inputs = 270, units = 300, rows = 8, length = 3;
  const auto input_weight = numbers(4 * units * inputs, 0.1), weight = numbers(4 * units * units, 0.1),
             x = numbers(rows * length * inputs, 1);
  const kernel::Lstm<float> layer{length, inputs, units, true, input_weight.data(), weight.data(), nullptr, nullptr};
  const Aligned scratch(long(kernel::lstm_workspace<float>(inputs, units) / sizeof(float)));
  std::vector<float> together(std::size_t(rows * length * 5 * units)), alone(together), all(together);
  float* const last = nullptr;
  kernel::lstm(layer, x.data(), all.data(), last, together.data(), 0, rows, scratch.data());
  for (long i = 0; i < rows; ++i)
    kernel::lstm(layer, x.data(), all.data(), last, alone.data(), i, i + 1, scratch.data());
  CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)) == 0);
}

TEST_CASE("lstm and gru: a row of a million units is stored vector by vector") {
  // A store of all that is left of the row would read megabytes behind the one vector on the stack.
  constexpr long units = 1 << 20;
  const std::vector<float> product(std::size_t(4 * units), 0.5f);
  std::vector<float> c(std::size_t(units), 1.0f), h(std::size_t(units), 1.0f), states(std::size_t(6 * units), -2.0f);
  const auto is_one_value = [&](long part) {
    const float* const row = states.data() + part * units;
    return row[0] != -2 && std::memcmp(row, row + 1, std::size_t(units - 1) * sizeof(float)) == 0;
  };
  kernel::detail::lstm_cell<true, false>(units, product.data(), static_cast<const float*>(nullptr), c.data(), h.data(),
                                         states.data() + 5 * units, states.data(), states.data());
  for (long part = 0; part < 6; ++part) CHECK(is_one_value(part));
  states.assign(states.size(), -2.0f);
  kernel::detail::gru_cell(units, product.data(), product.data(), static_cast<const float*>(nullptr), h.data(),
                           states.data());
  for (long part = 0; part < 5; ++part) CHECK(is_one_value(part));
}
