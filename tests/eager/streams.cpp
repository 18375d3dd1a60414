// Random streams: each visit of each call site of each cell draws its own numbers, and both modes agree on them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <vector>

#include <tenon/nn/dropout.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/dropout.hpp>

#include "../support/tensors.hpp"

using namespace tenon;
using support::same_bits;

namespace {
using Wide = Tensor<float, Shape<dyn, 64>>;

/// Every way to visit a call site: twice, from two places, in a loop, through a cell that is called twice.
struct Noisy : nn::Cell<Noisy> {
  Parameter<float, Shape<>, nn::Setting{0.5f}, false> rate;

  constexpr auto construct(auto x) const {
    auto a = ops::dropout(x, rate);
    auto b = ops::dropout(x, rate);
    auto sum = a + 2.0f * b;
    for (int i = 0; i < 3; ++i) sum = ops::dropout(sum, rate);
    return sum;
  }
};
struct Masks : nn::Cell<Masks> {
  Parameter<float, Shape<>, nn::Setting{0.5f}, false> rate;
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

TEST_CASE("StreamVisits: a site visited again is another stream; the order of visits counts, not that of other sites") {
  StreamVisits one, two;
  const std::uint64_t a0 = one.next(1), b0 = one.next(2), a1 = one.next(1), a2 = one.next(1);
  CHECK(b0 == two.next(2));
  CHECK(a0 == two.next(1));
  CHECK(a1 == two.next(1));
  CHECK(a2 == two.next(1));
  const std::uint64_t all[]{a0, a1, a2, b0};
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < i; ++k) CHECK(all[i] != all[k]);
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
// The same step number in both modes, which free calls count up one by one.
template <class Net>
void check_equal_steps(const Net& net) {
  std::vector<Wide> graph, pynative;
  eager::Frame::free_random_state()[1] = 100;
  for (int i = 0; i < 3; ++i) graph.push_back(run(net, Mode::graph));
  eager::Frame::free_random_state()[1] = 100;
  for (int i = 0; i < 3; ++i) pynative.push_back(run(net, Mode::pynative));
  for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(graph[i], pynative[i]));
  CHECK_FALSE(same_bits(graph[0], graph[1]));
  eager::Frame::free_random_state()[1] = 100;
  CHECK_FALSE(same_bits(run(net, Mode::graph, 5), graph[0]));
}
}  // namespace

TEST_CASE("equal numbers in both modes at equal steps, others at other steps and seeds") {
  Noisy noisy;
  Masks masks;
  noisy.init_parameters(), masks.init_parameters();
  check_equal_steps(noisy);
  check_equal_steps(masks);
}

TEST_CASE("a compiled function draws new numbers with every call") {
  const auto noisy = jit([](auto x, auto rate) { return ops::dropout(x, rate); });
  const auto rate = Tensor<float, Shape<>>::full(0.5f);
  const Wide a = noisy(Wide::full(1, 2), rate), b = noisy(Wide::full(1, 2), rate);
  CHECK_FALSE(same_bits(a, b));
  for (float v : a.values()) CHECK((v == 0 || v == 2));
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
