// The time loops of LSTM and GRU: what is stored past the caches has the bits of what is not, and no name of another
// header comes in between.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/random/philox.hpp>

#include <tenon/backend/cpu/recurrent/recurrent.hpp>

using namespace tenon;

namespace {
using kernel::GruCell;
using kernel::LstmCell;
constexpr long samples = 45, steps = 32, features = 5, hidden = 64;

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

namespace {
/// Compares results and gradients of many samples at once with those of each alone, at two places in memory.
template <class Cell>
void check_samples() {
  constexpr long kept_of_one = steps * Cell::parts * hidden, gates_of_one = steps * Cell::gates * hidden,
                 input = Cell::projected ? Cell::gates * hidden : features, last_of_one = Cell::states * hidden;
  const auto input_weight = numbers(4 * hidden * features, 0.3), weight = numbers(4 * hidden * hidden, 0.2),
             bias = numbers(4 * hidden, 0.2);
  const auto first = numbers(samples * last_of_one, 0.5), x = numbers(samples * steps * input, 1),
             dh = numbers(samples * steps * hidden, 1), dlast = numbers(samples * last_of_one, 1);
  const Aligned scratch(long((kernel::recurrent_workspace<Cell, float>(features, hidden) +
                              kernel::recurrent_grad_workspace<Cell, float>(hidden)) /
                             sizeof(float)));
  const Aligned kept(samples * kept_of_one + 1), gates(samples * gates_of_one + 1), one_kept(samples * kept_of_one),
      one_gates(samples * gates_of_one), own(samples * gates_of_one), one_own(samples * gates_of_one),
      all(samples * steps * hidden), one_all(samples * steps * hidden), last(samples * last_of_one),
      one_last(samples * last_of_one), start(samples * hidden), one_start(samples * hidden),
      packed(kernel::recurrent_weight_bytes<Cell, float>(hidden) / long(sizeof(float)));
  kernel::keep_recurrent_weight<Cell>(weight.data(), hidden, packed.data());
  const auto same = [](const float* a, const Aligned& b, long of_one) {
    return std::memcmp(a, b.data(), std::size_t(samples * of_one) * sizeof(float)) == 0;
  };
  REQUIRE(kernel::detail::goes_past_caches(gates.data(), hidden, samples * gates_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(gates.data() + 1, hidden, samples * gates_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(kept.data(), hidden, kept_of_one));
  REQUIRE_FALSE(kernel::detail::goes_past_caches(gates.data(), hidden + 1, samples * gates_of_one));
  const float* const previous = dh.data();  // any numbers
  for (const bool reverse : {false, true}) {
    const kernel::Recurrent<Cell, float> layer{
        steps,       Cell::projected ? 0 : features, hidden, reverse, input_weight.data(), weight.data(), bias.data(),
        first.data()};
    kernel::Recurrent<Cell, float> with_packed = layer;
    with_packed.weight = nullptr, with_packed.packed = packed.data();
    for (long i = 0; i < samples; ++i) {
      kernel::recurrent(i % 2 ? with_packed : layer, x.data(), {one_all.data(), one_last.data(), one_kept.data()}, i,
                        i + 1, scratch.data());
      kernel::recurrent_grad(
          layer,
          {one_kept.data(), previous, dh.data(), dlast.data(), one_gates.data(), one_start.data(), one_own.data()}, i,
          i + 1, scratch.data());
    }
    CHECK(one_gates.data()[3] != 0);
    for (const long offset : {0, 1}) {
      CAPTURE(offset);
      kernel::recurrent(layer, x.data(), {all.data(), last.data(), kept.data() + offset}, 0, samples, scratch.data());
      CHECK(same(kept.data() + offset, one_kept, kept_of_one));
      CHECK(same(all.data(), one_all, steps * hidden));
      CHECK(same(last.data(), one_last, last_of_one));
      std::fill_n(all.data(), samples * steps * hidden, -2.0f);  // neither what is kept is read, nor the last states
      kernel::recurrent(layer, x.data(), {.all = all.data()}, 0, samples, scratch.data());
      CHECK(same(all.data(), one_all, steps * hidden));
      kernel::recurrent_grad(
          layer, {one_kept.data(), previous, dh.data(), dlast.data(), gates.data() + offset, start.data(), own.data()},
          0, samples, scratch.data());
      CHECK(same(gates.data() + offset, one_gates, gates_of_one));
      CHECK(same(start.data(), one_start, hidden));
      if (Cell::projected) CHECK(same(own.data(), one_own, gates_of_one));
    }
  }
}
}  // namespace

TEST_CASE("lstm: many samples have the bits that each has alone, whatever place the result has") {
  check_samples<LstmCell>();
}
TEST_CASE("gru: many samples have the bits that each has alone, whatever place the result has") {
  check_samples<GruCell>();
}

TEST_CASE("lstm: long sums are made of segments, for many samples and for each alone") {
  constexpr long inputs = 1000, units = 9, rows = 7, length = 3;
  // g = tanh of 1000 times the same number
  const float factor = 0.1f, weight = 0.3f / 64;
  const std::vector<float> zeros(std::size_t(4 * units * units), 0.0f), x(std::size_t(rows * length * inputs), factor);
  std::vector<float> input_weight(std::size_t(4 * units * inputs), 0.0f);
  std::fill_n(input_weight.begin() + 2 * units * inputs, units * inputs, weight);
  const kernel::Recurrent<LstmCell, float> layer{length,       inputs,  units,  false, input_weight.data(),
                                                 zeros.data(), nullptr, nullptr};
  const Aligned scratch(long(kernel::recurrent_workspace<LstmCell, float>(inputs, units) / sizeof(float)));
  std::vector<float> together(std::size_t(rows * length * 5 * units)), alone(together), all(together);
  kernel::recurrent(layer, x.data(), {all.data(), nullptr, together.data()}, 0, rows, scratch.data());
  for (long i = 0; i < rows; ++i)
    kernel::recurrent(layer, x.data(), {all.data(), nullptr, alone.data()}, i, i + 1, scratch.data());
  CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)) == 0);
  const double g = std::tanh(double(factor) * weight * inputs);
  CHECK(std::abs(together[2 * units] - g) < 4e-6 * g);  // of one chain: 8e-6
}

TEST_CASE("lstm: features and units that are several segments together, many samples and each alone") {
  constexpr long inputs = 270, units = 300, rows = 8, length = 3;
  const auto input_weight = numbers(4 * units * inputs, 0.1), weight = numbers(4 * units * units, 0.1),
             x = numbers(rows * length * inputs, 1);
  const kernel::Recurrent<LstmCell, float> layer{length,        inputs,  units,  true, input_weight.data(),
                                                 weight.data(), nullptr, nullptr};
  const Aligned scratch(long(kernel::recurrent_workspace<LstmCell, float>(inputs, units) / sizeof(float)));
  std::vector<float> together(std::size_t(rows * length * 5 * units)), alone(together), all(together);
  kernel::recurrent(layer, x.data(), {all.data(), nullptr, together.data()}, 0, rows, scratch.data());
  for (long i = 0; i < rows; ++i)
    kernel::recurrent(layer, x.data(), {all.data(), nullptr, alone.data()}, i, i + 1, scratch.data());
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
  const float* const none = nullptr;
  kernel::detail::forward_step<LstmCell, true, false>(units, none, product.data(), none, c.data(), h.data(),
                                                      states.data() + 5 * units, states.data(), states.data());
  for (long part = 0; part < 6; ++part) CHECK(is_one_value(part));
  states.assign(states.size(), -2.0f);
  kernel::detail::forward_step<GruCell, true, false>(units, product.data(), product.data(), none, h.data(), h.data(),
                                                     states.data() + 4 * units, states.data(), states.data());
  for (long part = 0; part < 5; ++part) CHECK(is_one_value(part));
}
