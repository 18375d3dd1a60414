// Random streams: each random call of each cell draws its own numbers, wherever it stands; both modes agree on them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/nn/jit.hpp>
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/dropout.hpp>
#include <tenon/nn/layer/flatten.hpp>
#include <tenon/nn/layer/sequential_cell.hpp>
#include <tenon/ops/dropout.hpp>

#include "../../support/tensors.hpp"

using namespace tenon;
using support::same_bits;

namespace {
using Wide = Tensor<float, Shape<dyn, 64>>;

/// Random calls from two places and in a loop.
struct Noisy : nn::Cell<Noisy> {
  nn::Setting<0.5f> rate;

  constexpr auto construct(auto x) const {
    auto a = ops::dropout(x, rate);
    auto b = ops::dropout(x, rate);
    auto sum = a + 2.0f * b;
    for (int i = 0; i < 3; ++i) sum = ops::dropout(sum, rate);
    return sum;
  }
};
struct Masks : nn::Cell<Masks> {
  nn::Setting<0.5f> rate;
  constexpr auto masked(auto x) const { return ops::dropout(x, rate); }
  constexpr auto construct(auto x) const {
    auto a = masked(x), b = masked(x);  // one call site in `masked`, visited twice
    return a * 1.0f + b * 4.0f;
  }
};
Wide run(const auto& net, Mode mode, std::uint64_t seed = 0) {
  const ContextScope scope({.mode = mode, .seed = seed});
  return net(Wide::full(1, 2));
}
}  // namespace

TEST_CASE("VisitCounts: a key visited again is another number; the order of visits counts, not that of other keys") {
  VisitCounts one, two;
  const std::uint64_t a0 = one.next(1), b0 = one.next(2), a1 = one.next(1), a2 = one.next(1);
  CHECK(b0 == two.next(2));
  CHECK(a0 == two.next(1));
  CHECK(a1 == two.next(1));
  CHECK(a2 == two.next(1));
  const std::uint64_t all[]{a0, a1, a2, b0};
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < i; ++k) CHECK(all[i] != all[k]);
}

TEST_CASE("Streams: with the draws of a trace a site decides, whatever the order; without them the order does") {
  Streams trace, run;
  std::vector<Draw> draws{trace.traced(1, 7), trace.traced(2, 7), trace.traced(1, 7), trace.traced(1, 8)};
  run.start(draws);
  CHECK(run.next(2, 7) == draws[1].stream);
  CHECK(run.next(1, 8) == draws[3].stream);
  CHECK(run.next(1, 7) == draws[0].stream);
  CHECK(run.next(1, 7) == draws[2].stream);
  const std::uint64_t unknown = run.next(3, 7);
  for (const Draw& draw : draws) CHECK(unknown != draw.stream);
  run.start({});
  CHECK(run.next(2, 7) == draws[0].stream);
  CHECK(run.next(1, 7) == draws[1].stream);
  CHECK(run.next(1, 8) == draws[3].stream);
}

TEST_CASE("two call sites and two visits of one draw different masks, equal in both modes") {
  Masks net;
  net.init_parameters();
  const Wide pynative = run(net, Mode::pynative), graph = run(net, Mode::graph);
  int both = 0, first = 0, second = 0, none = 0;
  for (float v : pynative.values()) v == 10 ? ++both : v == 8 ? ++second : v == 2 ? ++first : ++none;
  CHECK(both + first + second + none == 128);
  CHECK(first > 10);  // one mask would give only 0 and 10
  CHECK(second > 10);
  CHECK(graph.count() == pynative.count());
}

namespace {
// Free calls count steps one by one, from the time when the seed was set.
template <class Net>
void check_equal_steps(const Net& net) {
  const auto three_calls = [&](Mode mode, std::uint64_t seed) {
    const ContextScope scope({.mode = mode, .seed = seed});
    std::vector<Wide> results;
    for (int i = 0; i < 3; ++i) results.push_back(net(Wide::full(1, 2)));
    return results;
  };
  const auto graph = three_calls(Mode::graph, 0), pynative = three_calls(Mode::pynative, 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(graph[i], pynative[i]));
  CHECK_FALSE(same_bits(graph[0], graph[1]));
  CHECK_FALSE(same_bits(three_calls(Mode::graph, 5)[0], graph[0]));
}
}  // namespace

TEST_CASE("equal numbers in both modes at equal steps, others at other steps and seeds") {
  Noisy noisy;
  Masks masks;
  noisy.init_parameters(), masks.init_parameters();
  check_equal_steps(noisy);
  check_equal_steps(masks);
}

namespace {
struct Block : nn::Cell<Block> {
  nn::Dropout<> drop;
  constexpr auto construct(auto x) const { return drop(x); }
};
// Calls that differ by 1, 4, 16, ... in the sum, so that it tells which of them dropped an element: several in one
// expression, whose order C++ leaves open.
struct Counted : nn::Cell<Counted> {
  nn::Dropout<> drop;
  nn::CellList<Block, 2> blocks;
  nn::SequentialCell<nn::Dropout<>, nn::Flatten> row;
  nn::Setting<0.5f> rate;
  constexpr auto construct(auto x) const {
    const auto two = drop(x) + 4.0f * drop(x);  // in one expression
    const auto y = two + 16.0f * blocks[1](x) + 64.0f * row(x);
    return y + (256.0f * ops::dropout(x, rate) + (1024.0f * blocks[1](x) + 4096.0f * ops::dropout(x, rate)));
  }
};
// The same members and calls on other lines and in other statements.
struct Moved : nn::Cell<Moved> {
  nn::Dropout<> drop;
  nn::CellList<Block, 2> blocks;
  nn::SequentialCell<nn::Dropout<>, nn::Flatten> row;
  nn::Setting<0.5f> rate;
  constexpr auto construct(auto x) const {
    const auto a = drop(x);
    const auto b = drop(x);
    const auto f = ops::dropout(x, rate), d = blocks[1](x);

    const auto c = row(x);
    const auto g = ops::dropout(x, rate);
    return a + 4.0f * b + 16.0f * d + 64.0f * c + 256.0f * f + 1024.0f * blocks[1](x) + 4096.0f * g;
  }
};

// The mask of a call, from its definition alone: names and numbers, no place in a source.
Wide masked(std::initializer_list<std::uint64_t> path, std::uint64_t call, std::uint64_t seed, std::uint64_t step) {
  std::uint64_t hash = hash_number(hash_bytes("network", 7), 0);
  for (std::uint64_t level : path) hash = hash_number(level, hash);
  auto state = Tensor<std::uint64_t, Shape<2>>::empty();
  state.data()[0] = seed, state.data()[1] = step;
  return apply_with<ops::Dropout>({}, hash_number(call, hash), Wide::full(1, 2), Tensor<float, Shape<>>::full(0.5f),
                                  state);
}
template <class Net>
void check_definition(bool training, Mode mode) {
  CAPTURE(training);
  const Net net;
  net.init_parameters();
  net.set_train(training);
  const ContextScope scope({.mode = mode, .seed = 3});
  eager::Frame::free_random_state()[1] = 41;  // the next call is step 42
  const Wide got = net(Wide::full(1, 2));
  const std::uint64_t drop = hash_bytes("drop", 4), blocks = hash_bytes("blocks", 6), row = hash_bytes("row", 3);
  const auto cell = [&](std::initializer_list<std::uint64_t> path, std::uint64_t call) {
    return training ? masked(path, call, 3, 42) : Wide::full(1, 2);
  };
  const Wide wanted = cell({drop}, 0) + 4.0f * cell({drop}, 1) + 16.0f * cell({blocks, 1, drop}, 0) +
                      64.0f * cell({row, 0}, 0) + 256.0f * masked({}, 0, 3, 42) + 1024.0f * cell({blocks, 1, drop}, 1) +
                      4096.0f * masked({}, 1, 3, 42);
  CHECK(same_bits(got, wanted));
}
}  // namespace

TEST_CASE("a mask is that of the cell's path and the number of the call in it, wherever the calls stand") {
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    check_definition<Counted>(false, mode);
    check_definition<Moved>(false, mode);
    check_definition<Moved>(true, mode);
  }
}

TEST_CASE("a compiled function draws new numbers with every call") {
  const auto noisy = jit([](auto x, auto rate) { return ops::dropout(x, rate); });
  const auto rate = Tensor<float, Shape<>>::full(0.5f);
  const Wide a = noisy(Wide::full(1, 2), rate), b = noisy(Wide::full(1, 2), rate);
  CHECK_FALSE(same_bits(a, b));
  for (float v : a.values()) CHECK((v == 0 || v == 2));
}

TEST_CASE("a compiled function with one random call gives the bits of a plain call at the same step") {
  const auto noisy = [](auto x, auto rate) { return ops::dropout(x, rate); };
  const auto rate = Tensor<float, Shape<>>::full(0.5f);
  std::uint64_t* const state = eager::Frame::free_random_state();
  state[1] = 7;
  const Wide compiled = jit(noisy)(Wide::full(1, 2), rate);
  state[1] = 7;
  CHECK(same_bits(compiled, noisy(Wide::full(1, 2), rate)));
  CHECK_FALSE(same_bits(compiled, noisy(Wide::full(1, 2), rate)));
}

TEST_CASE("a step inside of a step leaves the outer one's streams alone") {
  Masks net;
  net.init_parameters();
  std::uint64_t state[2]{0, 0};
  eager::Frame& frame = eager::Frame::of_thread();
  const Location here{};
  std::uint64_t second_alone;
  {
    const eager::RootScope outer(net, true, state);
    frame.stream(here);
    second_alone = frame.stream(here);
  }
  {
    const eager::RootScope outer(net, true, state);
    frame.stream(here);
    {
      const eager::RootScope inner(net, false, state);
      frame.stream(here), frame.stream(here), frame.stream(here);
    }
    CHECK(frame.stream(here) == second_alone);
  }
}
