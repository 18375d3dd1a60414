// Few bytes between the host and a GPU. What a step sends to the host while that continues: a kernel writes it there,
// and then the flag for which the host waits, also in vain after an error of a kernel. How many calls of the runtime a
// step makes.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <tenon/dataset/map/map.hpp>
#include <tenon/train/checkpoint.hpp>

#include "../../target/networks.hpp"

using namespace tenon;

namespace {
/// Pinned memory with bytes that are 0, and a flag after them.
struct Place {
  std::byte* const bytes;
  std::atomic<bool>& done;
  explicit Place(std::size_t count)
      : bytes(Cuda::allocate_pinned(count + 1)), done(*::new(bytes + count) std::atomic<bool>(false)) {
    std::fill(bytes, bytes + count, std::byte(0));
  }
  ~Place() { Cuda::free_pinned(bytes); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
};
}  // namespace

TEST_CASE("any number of bytes to any place") {
  std::vector<std::byte> sent(5000), back(5000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = std::byte(i % 251 + 1);
  std::byte* const there = Cuda::allocate(sent.size() + 8);
  for (const std::size_t count : {1u, 3u, 4u, 255u, 256u, 257u, 3583u, 3584u, 3585u, 5000u})
    for (const std::size_t offset : {0u, 3u, 4u}) {
      CAPTURE(count);
      CAPTURE(offset);
      Cuda::copy_in(there + offset, sent.data() + offset % 2, count - offset % 2);
      Cuda::copy_out(back.data(), there + offset, count - offset % 2);
      CHECK(std::equal(back.data(), back.data() + count - offset % 2, sent.data() + offset % 2));
    }
  Cuda::free(there);
}

TEST_CASE("any number of bytes from any place") {
  std::vector<std::byte> sent(1000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = std::byte(i % 251 + 1);
  std::byte* const there = Cuda::allocate(sent.size());
  Cuda::copy_in(there, sent.data(), sent.size());
  for (const std::size_t count : {0u, 1u, 4u, 31u, 32u, 33u, 64u, 997u}) {
    CAPTURE(count);
    const Place place(count);
    Cuda::copy_out_later(place.bytes, there + 3, count, place.done);
    Cuda::wait_until(place.done);
    CHECK(place.done.load());
    CHECK(std::equal(place.bytes, place.bytes + count, sent.data() + 3));
  }
  Cuda::free(there);
}

#if defined(TENON_CUDA_EMULATOR)  // which counts calls, and fails when it is told to
namespace {
template <int features>
struct Net : nn::Cell<Net<features>> {
  nn::Dense<features, 3> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
/// Calls a function after a step.
struct After {
  long step;
  void (*call)();
  void step_end(RunInfo& run) const {
    if (run.cur_step_num == step) call();
  }
};
/// The weights after a training of 20 steps.
template <int features = 4>
std::vector<float> trained_with(const auto& data, std::string_view target, const auto&... callbacks) {
  const ContextScope scope({.device_target = target, .seed = 3});
  Net<features> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  model.train(1, data, callbacks...);
  std::vector<float> weights;
  for (const auto& [name, tensor] : named_parameters(net))
    for (const float value : tensor.template as<float>()) weights.push_back(value);
  return weights;
}
std::vector<float> trained(std::string_view target, const auto&... callbacks) {
  return trained_with(target_test::images<4>(80, 4, 3), target, callbacks...);
}
std::string message_of_wait(const std::atomic<bool>& done) {
  try {
    Cuda::wait_until(done);
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "";
}
}  // namespace

TEST_CASE("the wait ends when the flag comes") {
  std::atomic<bool> done = false;
  emulator::streams_are_late = 1'000'000;
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done.store(true, std::memory_order_release);
  });
  Cuda::wait_until(done);
  CHECK(done.load());
  sender.join();
  CHECK(emulator::streams_are_late > 0);
  emulator::streams_are_late = 0;
}

TEST_CASE("the wait ends when the stream has an error") {
  const std::atomic<bool> never = false;
  emulator::streams_are_late = 100;
  emulator::calls_until_failure = 3;
  const std::string message = message_of_wait(never);
  CHECK(message.starts_with("GPU: a kernel or copy failed: an emulated failure (cudaErrorLaunchFailure). After an "));
  CHECK(emulator::streams_are_late == 97);
  emulator::streams_are_late = 0;
}

TEST_CASE("a training whose losses come no more, since a kernel has failed, ends with a sentence") {
  const std::vector<float> expected = trained("CPU");
  std::string message;
  try {
    trained("GPU", After{10, [] {
                           emulator::copies_are_lost = true;
                           emulator::failing_function = "cudaStreamQuery";
                         }});
  } catch (const RuntimeError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("GPU: a kernel or copy failed: "));
  CHECK(emulator::failing_function.empty());
  emulator::copies_are_lost = false;
  CHECK(trained("GPU") == expected);
}

TEST_CASE("how many calls of the runtime a step of graph mode makes") {
  static long begin = 0, end = 0;
  const auto calls_per_step = [](auto features, const auto& data) {
    trained_with<features.value>(data, "GPU", After{10, [] { begin = emulator::calls; }},
                                 After{18, [] { end = emulator::calls; }});
    return double(end - begin) / 8;
  };
  const auto changed = [](const auto& rows) { return rows | dataset::map<0>([](float x) { return x; }); };
  const std::integral_constant<int, 4> few;
  const std::integral_constant<int, 300> many;
  const auto data = target_test::images<few>(80, 4, 3);
  CHECK(calls_per_step(few, data) == 3);           // rows that the GPU gathers, the graph, the loss
  CHECK(calls_per_step(few, changed(data)) == 4);  // few bytes of each of the two columns
  // Five more for a large column: the wait for its pinned place, that for the step before the last one, its event, the
  // wait for this, and an event after the step.
  CHECK(calls_per_step(many, changed(target_test::images<many>(80, 4, 3))) == 9);
}
#endif
