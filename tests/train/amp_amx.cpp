// flags: -mamx-tile -mamx-bf16
// only: x86_64 AMD64
// label: long
// Mixed precision with products in tiles of AMX, emulated where there are none: neither mode, threads, passes, nor the
// batch change a bit.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // illegal instructions are for the emulator
#include <algorithm>

#include <doctest/doctest.h>

#include "../support/amx_emulator.hpp"

#if !defined(TENON_HAS_AMX)
int main() {
  support::say_skipped("mixed precision by AMX: it is compiled for processors with AVX-512");
  return 77;
}
#else
#include <tenon/tenon.hpp>

#include "../nn/support.hpp"

using namespace tenon;

namespace {
bool is_real;  // not emulated

struct Classes : nn::Cell<Classes> {
  nn::Dense<70, 50> fc1;
  nn::Dense<50, 5> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

template <Passes passes = Passes{}>
cells::Trained after(Mode mode, int threads) {
  const ContextScope scope({.mode = mode, .num_threads = threads, .seed = 3});
  Classes net;
  Model model{with_passes<passes>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.05f, .momentum = 0.9f}, amp<AmpLevel::O2>};
  cells::Losses losses;
  model.train(4, cells::samples<Shape<70>>(150) | dataset::batch(64), losses);
  return {losses.value, cells::bits(net)};
}
}  // namespace

TEST_CASE("amp with AMX: modes, threads, and passes") {
  const auto graph = after(Mode::graph, 1);
  if (!is_real) CHECK(support::AmxEmulator::count().products > 100);  // or the test would prove nothing
  for (const int threads : {1, 2, 3}) {
    CHECK(graph == after(Mode::graph, threads));
    CHECK(graph == after(Mode::pynative, threads));
  }
  CHECK(graph == after<no_passes>(Mode::graph, 1));
  CHECK(graph.losses.back() < graph.losses.front());
  kernel::detail::amx_permission = kernel::detail::AmxPermission::refused;
  CHECK(after(Mode::graph, 1) == after(Mode::pynative, 2));
  kernel::detail::amx_permission = kernel::detail::AmxPermission::granted;
}

TEST_CASE("amp with AMX: 64 predictions are 64 times one") {
  const auto x = support::random_tensor<float, Shape<dyn, 70>>(4, -1, 1, 64);
  for (const Mode mode : cells::modes) {
    const ContextScope scope({.mode = mode, .seed = 3});
    Classes net;
    Model model{net, NoLoss{}, NoOptimizer{}, amp<AmpLevel::O2>};
    const auto all = model.predict(x);
    for (long i = 0; i < 64; ++i) {
      const auto one = model.predict(
          Tensor<float, Shape<dyn, 70>>::from(std::vector<float>(x.data() + i * 70, x.data() + (i + 1) * 70)));
      CHECK(std::equal(one.values().begin(), one.values().end(), all.values().begin() + i * 5));
    }
  }
}

int main(int argc, char** argv) {
  is_real = support::use_amx();
  return doctest::Context(argc, argv).run();
}
#endif
