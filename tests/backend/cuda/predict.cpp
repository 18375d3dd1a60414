// Predictions of the target Cuda: the CPU's bits, and nobody waits before the host looks at them.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/tenon.hpp>

#include "../../support/models.hpp"
#include "../../support/tensors.hpp"

using namespace tenon;

namespace {
using Image = Tensor<float, Shape<dyn, 1, 28, 28>>;
using Logits = Tensor<float, Shape<dyn, 10>>;
struct Two : nn::Cell<Two> {
  nn::Dense<6, 4> fc;
  constexpr auto construct(auto x) const { return std::tuple(fc(x), x, relu(x)); }
};
struct Twice : nn::Cell<Twice> {
  constexpr auto construct(auto x) const { return x * 2.0f; }
};
std::vector<float> elements(const auto& x) { return {x.values().begin(), x.values().end()}; }
/// Predictions of one network on a device, in a mode.
template <class Net, class F>
auto on(std::string_view device, Mode mode, F f) {
  const ContextScope scope({.mode = mode, .device_target = device, .seed = 7});
  Net net;
  net.init_parameters();
  Model model{net};
  return f(model);
}
template <class Net, class F>
void check_equal(F f) {
  const auto expected = on<Net>("CPU", Mode::graph, f);
  for (const Mode mode : {Mode::graph, Mode::pynative}) {
    CAPTURE(name(mode));
    CHECK(on<Net>("GPU", mode, f) == expected);
  }
}
}  // namespace

TEST_CASE("again and again into one tensor, also while its last elements are looked at, for other batches, for none") {
  check_equal<support::LeNet>([](auto& model) {
    std::vector<float> all;
    for (const long n : {2l, 5l, 2l, 0l}) {
      const auto x = support::random_tensor<float, Shape<dyn, 1, 28, 28>>(int(n), -1, 1, n);
      auto result = model.predict(x);
      for (int turn = 0; turn < 3; ++turn) {
        model.predict_into(result, x);
        const auto seen = elements(result);
        all.insert(all.end(), seen.begin(), seen.end());
      }
    }
    return all;
  });
}
TEST_CASE("several outputs, of which one is an input; results go on to an operator and to a further prediction") {
  check_equal<Two>([](auto& model) {
    const auto x = support::random_tensor<float, Shape<dyn, 6>>(1, -1, 1, 3);
    const auto [y, same, positive] = model.predict(x);
    const auto [z, unused, rest] = model.predict(positive);
    return std::vector{elements(y), elements(same), elements(positive + same), elements(z), elements(x)};
  });
}
TEST_CASE("into a part of a tensor") {
  check_equal<support::LeNet>([](auto& model) {
    auto all = Tensor<float, Shape<2, 3, 10>>::full(7.0f);
    const auto x = support::random_tensor<float, Shape<3, 1, 28, 28>>(1, -1, 1);
    auto part = all[1];
    model.predict_into(part, x);
    return elements(all);
  });
}
TEST_CASE("into a part of a tensor that the GPU has filled, or the host: the other parts stay") {
  check_equal<support::LeNet>([](auto& model) {
    std::vector<float> seen;
    for (int which = 0; which < 3; ++which)
      for (const bool filled_there : {false, true}) {
        Twice twice;
        const Model doubles{twice};
        auto all = Tensor<float, Shape<3, 3, 10>>::full(7.0f);
        auto part = all[which];
        if (filled_there) doubles.predict_into(all, Tensor<float, Shape<3, 3, 10>>::full(4.0f));
        model.predict_into(part, support::random_tensor<float, Shape<3, 1, 28, 28>>(which, -1, 1));
        const auto next = doubles.predict(all);
        for (const auto& values : {elements(next), elements(all)})
          seen.insert(seen.end(), values.begin(), values.end());
      }
    return seen;
  });
}
TEST_CASE("a result that the host changes afterwards") {
  check_equal<support::LeNet>([](auto& model) {
    const auto x = support::random_tensor<float, Shape<dyn, 1, 28, 28>>(1, -1, 1, 2);
    auto result = model.predict(x);
    result.values()[3] = 5;
    auto before = elements(result);
    model.predict_into(result, x);
    result.values()[4] = 6;
    for (const float each : elements(result)) before.push_back(each);
    return before;
  });
}

#if defined(TENON_CUDA_EMULATOR)
TEST_CASE("in graph mode a prediction is two calls of CUDA, and none of them waits") {
  const ContextScope scope({.mode = Mode::graph, .device_target = "GPU", .seed = 7});
  support::LeNet net;
  Model model{net};
  const auto x = support::random_tensor<float, Shape<dyn, 1, 28, 28>>(1, -1, 1, 2) * 2;  // made by the GPU
  auto result = model.predict(x);
  for (int turn = 0; turn < 2; ++turn) model.predict_into(result, x);
  const long before = emulator::calls;
  for (int turn = 0; turn < 5; ++turn) model.predict_into(result, x);
  CHECK(emulator::calls - before == 5 * 2);  // the graph, and a copy of the result within the GPU
}
TEST_CASE("batches of a hundred sizes in turn: the third time all are replayed") {
  const ContextScope scope({.mode = Mode::graph, .device_target = "GPU", .seed = 7});
  Twice net;
  Model model{net};
  constexpr int most = 100;
  std::vector<Tensor<float, Shape<dyn, 3>>> x, y;
  for (int n = most; n > 0; --n)  // the first one needs the most memory
    x.push_back(support::random_tensor<float, Shape<dyn, 3>>(n, -1, 1, n)), y.push_back(model.predict(x.back()));
  for (int turn = 0; turn < 3; ++turn) {
    const long before = emulator::graph_launches;
    for (std::size_t i = 0; i < x.size(); ++i) model.predict_into(y[i], x[i]);
    if (turn == 2) CHECK(emulator::graph_launches == before + most);
  }
  CHECK(elements(y[1])[7] == 2 * elements(x[1])[7]);
}
namespace {
/// Calls a function once, between two kernels of a product: its segments and their sum.
struct BetweenKernels {
  static inline void (*call)() = nullptr;
  static inline auto* const before = emulator::watch;
  explicit BetweenKernels(void (*f)()) {
    call = f;
    emulator::watch = [](const emulator::Launch& launch, bool done) {
      if (before) before(launch, done);
      if (done && call && launch.body && std::string_view(launch.body).find("SegmentProduct") != std::string_view::npos)
        std::exchange(call, nullptr)();
    };
  }
  ~BetweenKernels() { emulator::watch = before; }
};
}  // namespace

TEST_CASE("two threads predict at the same time: kernels of one do not come between two that share scratch memory") {
  const ContextScope scope({.mode = Mode::pynative, .device_target = "GPU", .seed = 7});
  nn::Dense<8192, 16> net;
  static const Model model{net};
  static const auto x = support::random_tensor<float, Shape<dyn, 8192>>(1, -1, 1, 4);
  static std::thread other;
  static std::atomic<bool> done = false;
  const auto expected = elements(model.predict(x));
  const BetweenKernels between([] {
    other = std::thread([] {
      static_cast<void>(model.predict(Tensor<float, Shape<dyn, 8192>>::full(1, 4)));
      done = true;
    });
    for (int turn = 0; turn < 300 && !done; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  CHECK(elements(model.predict(x)) == expected);
  REQUIRE(other.joinable());
  other.join();
}
#endif
