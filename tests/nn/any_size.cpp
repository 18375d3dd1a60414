// Operators and graphs of a size that no limit of small ones stops: 40 tensors joined, 12 pieces, 12 outputs, a table
// of constants, the states of a recurrent layer as a tuple; in both modes, with equal bits and without an allocation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "../support/allocations.hpp"
#include "../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {

template <int parts, std::size_t... I>
constexpr auto pieces_backwards(const auto& x, std::index_sequence<I...>) {
  const auto piece = split<1, parts>(x);
  return concat<1>(piece[sizeof...(I) - 1 - I]...);
}

struct Weekdays {
  using shape = Shape<12>;
  static constexpr float values[]{1, 2, 3, 4, 5, 6, 7, 0.5f, 0.25f, -1, -2, -3};
};

/// x [n, 40]: a loss for each of 12 columns, which 40 pieces, a table, and a recurrent layer take part in.
struct Many : nn::Cell<Many> {
  nn::Dense<40, 12> dense;
  nn::LSTM<1, 3> lstm;

  constexpr auto construct(auto x) const {
    const auto [y, h, c] = lstm(expand_dims<2>(dense(pieces_backwards<40>(x, std::make_index_sequence<40>{}))));
    const auto all = reduce_sum<2>(y * y) * constant<Weekdays>(x) + reduce_mean<-1>(h * c);
    return std::apply([](const auto&... column) { return std::tuple(reduce_mean(column * column)...); },
                      split<1, 12>(all));
  }
};

auto rows() {
  std::vector<float> x(40 * 8);
  Random random(3);
  for (float& v : x) v = random.uniform(-1, 1);
  return dataset::from_arrays(dataset::column<Shape<40>>(std::move(x))) | dataset::batch(4);
}

/// What the 12 losses of each step were, and the allocations from the second epoch on.
struct Losses {
  std::vector<float> seen;
  void step_end(RunInfo& run) {
    counting = false;
    CHECK(run.net_outputs.size() == 12);
    for (const AnyTensor& loss : run.net_outputs) seen.push_back(loss.as<float>()[0]);
    seen.reserve(seen.size() + 64);
    counting = run.cur_epoch_num > 1;
  }
  void end(RunInfo&) { counting = false; }
};

}  // namespace

TEST_CASE("40 tensors are joined, with gradients") {
  both_modes([](auto x) { return pieces_backwards<40>(x, std::make_index_sequence<40>{}); },
             random_tensor<float, Shape<dyn, 80>>(1, -1, 1, 3));
  const Tensor<float, Shape<dyn, 40>> x = Tensor<float, Shape<dyn, 40>>::arange(1);
  const auto y = pieces_backwards<40>(x, std::make_index_sequence<40>{});
  for (long i = 0; i < 40; ++i) CHECK(y(0, i) == float(39 - i));
}

TEST_CASE("as few elements as possible are joined twice") {
  const auto sizes = [](std::size_t tensors) {
    const auto share = ops::detail::concat_shares(tensors);
    return std::vector<std::size_t>(share.count, share.count + share.parts);
  };
  CHECK(sizes(2) == std::vector<std::size_t>{1, 1});
  CHECK(sizes(6) == std::vector<std::size_t>{1, 1, 1, 1, 1, 1});
  CHECK(sizes(7) == std::vector<std::size_t>{2, 1, 1, 1, 1, 1});
  CHECK(sizes(12) == std::vector<std::size_t>{6, 2, 1, 1, 1, 1});
  CHECK(sizes(36) == std::vector<std::size_t>{6, 6, 6, 6, 6, 6});
  CHECK(sizes(40) == std::vector<std::size_t>{7, 7, 7, 7, 6, 6});
}

TEST_CASE("a table of constants: its numbers, no gradient, no parameter") {
  const auto f = [](auto x) { return x * constant<Weekdays>(x); };
  both_modes(f, random_tensor<float, Shape<dyn, 12>>(2, -1, 1, 5));
  const auto y = f(Tensor<float, Shape<12>>::ones());
  CHECK(y[6] == 7);
  CHECK(y[11] == -3);
  CHECK(Many::parameter_count() == 40 * 12 + 12 + 4 * 3 * (1 + 3 + 2));
}

TEST_CASE("12 outputs of a function and of a network") {
  const auto f = [](auto x) {
    return std::apply([](const auto&... piece) { return std::tuple((piece + 1.0f)...); }, split<1, 12>(x));
  };
  const auto x = random_tensor<float, Shape<dyn, 24>>(4, -1, 1, 2);
  const auto eager = f(x), compiled = jit(f)(x);
  static_assert(std::tuple_size_v<decltype(compiled)> == 12);
  CHECK(bit_equal(std::get<11>(eager), std::get<11>(compiled)));
  CHECK(std::get<11>(compiled)(1, 1) == x(1, 23) + 1);
}

TEST_CASE("a model of 12 losses trains: equal bits in both modes, no allocation in a step") {
  const auto data = rows();
  std::vector<float> losses[2], predicted[2];
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    const ContextScope scope({.mode = mode, .num_threads = 1, .seed = 1});
    Many net;
    Model model{net, NoLoss{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
    Losses found;
    found.seen.reserve(1024);
    allocations = 0;
    model.train(4, data, found);
    CHECK(allocations.load() == 0);
    counting = true;
    found.seen.reserve(found.seen.capacity() + 1);
    counting = false;
    CHECK((allocations.load() > 0) == counted);  // the hook does count
    losses[mode == Mode::graph] = found.seen;
    const auto x = random_tensor<float, Shape<dyn, 40>>(5, -1, 1, 3);
    std::apply([&](const auto&... loss) { (predicted[mode == Mode::graph].push_back(loss.item()), ...); },
               model.predict(x));
  }
  CHECK(losses[0].size() == 4 * 2 * 12);
  CHECK(losses[0] == losses[1]);
  CHECK(predicted[0].size() == 12);
  CHECK(predicted[0] == predicted[1]);
  CHECK(predicted[0].front() != predicted[0].back());
  CHECK(losses[0].front() != losses[0][7 * 12]);
}
