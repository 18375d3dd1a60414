// Lazy optimizers change the rows of an EmbeddingLookup that a batch has used, and no others.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include <tenon/nn/grad.hpp>
#include <tenon/nn/layer/embedding_lookup.hpp>
#include <tenon/nn/optim/ftrl.hpp>
#include <tenon/nn/optim/lazy_adam.hpp>
#include <tenon/train/optimizer_step.hpp>

#include "rule.hpp"

using namespace rules;

namespace {

constexpr int vocabulary = 7, size = 19;
/// Its loss is the sum of x * table[id]: the gradient of a row is the sum of x over the samples that use it.
struct Lookup : nn::Cell<Lookup> {
  nn::EmbeddingLookup<vocabulary, size, nn::Constant{0.5f}> lookup;
  constexpr auto construct(auto id, auto x) const { return ops::reduce_sum(ops::mul(x, lookup(id))); }
};

/// Three steps of two samples. Row 2 has a gradient of zeros and one other number, rows 5 and 6 none.
template <class Optimizer>
void check(const Optimizer& optimizer, const Rule& rule, std::initializer_list<double> first) {
  const std::vector<std::int32_t> ids{0, 2, 2, 4, 3, 1};
  std::vector<float> x(ids.size() * size);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = ids[i / size] == 2 && i % size != 4 ? 0.0f : 0.25f * float(i % 5) - 0.3f;
  for (const Mode mode : modes) {
    CAPTURE(int(mode));
    const ContextScope scope({.mode = mode});
    Lookup net;
    Model model{net, NoLoss{}, optimizer};
    model.train(
        1, dataset::from_arrays(dataset::column<Shape<>>(ids), dataset::column<Shape<size>>(x)) | dataset::batch(2));
    State start{0.5};
    if (first.size() > 0) start.a = *first.begin();
    std::vector<State> expected(vocabulary * size, start);
    for (int step = 0; step < 3; ++step)
      for (int row = 0; row < vocabulary; ++row) {
        const std::size_t a = std::size_t(2 * step);
        if (ids[a] != row && ids[a + 1] != row) continue;
        for (int i = 0; i < size; ++i) {
          double gradient = 0;
          for (const std::size_t sample : {a, a + 1})
            if (ids[sample] == row) gradient += double(x[sample * size + std::size_t(i)]);
          rule(expected[std::size_t(row * size + i)], gradient, 0.1, step + 1);
        }
      }
    const std::span<const float> table = net.lookup.embedding_table.values();
    for (std::size_t i = 0; i < table.size(); ++i) {
      CAPTURE(i);
      CHECK(double(table[i]) == doctest::Approx(expected[i].p).epsilon(2e-6));
      if (i / size > 4) CHECK(table[i] == 0.5f);
    }
  }
}

}  // namespace

TEST_CASE("LazyAdam counts all steps for its bias, and lets moments of unused rows be") {
  check(nn::LazyAdam{.learning_rate = 0.1f, .weight_decay = 0.01f},
        [](State& s, double g, double rate, int t) {
          g += double(0.01f) * s.p;
          s.a = double(0.9f) * s.a + (1 - double(0.9f)) * g;
          s.b = double(0.999f) * s.b + (1 - double(0.999f)) * g * g;
          s.p -= rate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) * s.a / (std::sqrt(s.b) + 1e-8);
        },
        {});
}
TEST_CASE("FTRL keeps the initial values of unused rows") {
  check(nn::FTRL{.learning_rate = 0.1f},
        [](State& s, double g, double rate, int) {
          const double before = std::sqrt(s.a);
          s.a += g * g;
          s.b += g - (std::sqrt(s.a) - before) / rate * s.p;
          s.p = -s.b / (std::sqrt(s.a) / rate);
        },
        {double(0.1f)});
}
TEST_CASE("a gradient that is no number changes its row") {
  const ContextScope scope({.mode = Mode::graph});
  for (const float wrong : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    Lookup net;
    OptimizerStep optimizer(net, nn::LazyAdam{.learning_rate = 0.1f});
    auto x = Tensor<float, Shape<dyn, size>>::empty(1);
    for (float& one : x.values()) one = 0;
    x.values()[3] = wrong;
    auto id = Tensor<std::int32_t, Shape<dyn>>::empty(1);
    id.values()[0] = 2;
    optimizer(std::get<1>(value_and_grad([&] { return net(id, x); }, net)()));
    const std::span<const float> table = net.lookup.embedding_table.values();
    CHECK(std::isnan(table[2 * size + 3]));
    CHECK(table[2 * size + 2] == 0.5f);  // its row is used, without a gradient here
    CHECK(table[1 * size + 3] == 0.5f);
  }
}
