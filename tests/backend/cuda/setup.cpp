// What the target Cuda says where there is no GPU, no driver, or too little memory, and where a call of CUDA fails.
#define TENON_TARGET cuda
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/ops/ops.hpp>

#include "../../support/skip.hpp"
#include "../../support/tensors.hpp"

using namespace tenon;

#if defined(TENON_CUDA_EMULATOR)  // hardware does not fail when it is told to
namespace {
/// What set_context says, with so many GPUs, or where asking for them fails.
std::string refused(int devices, cudaError_t error, ContextChange wanted) {
  emulator::devices = devices, emulator::devices_error = error;
  std::string message;
  try {
    const ContextScope scope(wanted);
  } catch (const Error& e) {
    message = e.what();
  }
  emulator::devices = 1, emulator::devices_error = cudaSuccess;
  return message;
}
bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

/// 12, computed on the GPU from tensors of so many elements.
template <int count = 4>
float computed() {
  const ContextScope scope({.device_target = "GPU"});
  const auto x = Tensor<float, Shape<count>>::full(4);
  return (x * 2.0f + x).data()[count - 1];
}
/// A body that must not run.
struct Fails {
  static constexpr int threads = 32;
  static void block(const Arguments&) { FAIL("started"); }
};
}  // namespace

TEST_CASE("no GPU, no driver, a GPU that is not there: one sentence each, and the CPU goes on") {
  CHECK(has(refused(0, cudaErrorNoDevice, {.device_target = "GPU"}),
            "device_target 'GPU' needs an NVIDIA GPU, and CUDA finds none"));
  CHECK(has(refused(0, cudaErrorInsufficientDriver, {.device_target = "GPU"}), "needs NVIDIA's driver 580 or newer"));
  CHECK(has(refused(2, cudaSuccess, {.device_target = "GPU", .device_id = 2}),
            "Argument device_id must be in 0 .. 1 for GPU, which has 2 devices here, got 2"));
  CHECK(get_context().device_target == "CPU");
  CHECK(computed() == 12);
}

TEST_CASE("code for older GPUs than this one: kernels do not overlap, because they would not wait for each other") {
  emulator::devices = 4;
  for (const int compiled_for : {80, 90}) {
    const int before = std::exchange(emulator::compiled_for, compiled_for);
    std::thread([&] {
      kernel::cuda::use_device(compiled_for == 90 ? 2 : 3);
      CHECK(kernel::cuda::queues().overlaps == (compiled_for == 90));
      CHECK(kernel::cuda::queues().has_clusters == (compiled_for == 90));
    }).join();
    emulator::compiled_for = before;
  }
  emulator::devices = 1;
}

TEST_CASE("too little memory: what is free") {
  computed();  // queues are there
  emulator::failure = cudaErrorMemoryAllocation;
  std::string message;
  for (long after = 0; message.empty() && after < 100; ++after) {
    emulator::calls_until_failure = after;
    try {
      computed<100000>();  // no memory of this size is left over
    } catch (const OutOfMemory& e) {
      message = e.what();
    } catch (const Error&) {
    }
  }
  emulator::calls_until_failure = -1, emulator::failure = cudaErrorLaunchFailure;
  CHECK(has(message, "GPU has no room for another "));
  CHECK(has(message, "1048576 of 1073741824 bytes are free"));
}

TEST_CASE("too little memory for what kernels need beside their operands, or too little pinned memory") {
  emulator::failure = cudaErrorMemoryAllocation;
  emulator::failing_function = "cudaMallocAsync";
  CHECK_THROWS_AS(kernel::cuda::LaneMemory::take(kernel::cuda::LaneMemory::call, 1 << 20), OutOfMemory);
  emulator::failing_function = "cudaMallocHost";
  CHECK_THROWS_AS(tenon::detail::PinnedBytes(target_id<Cuda>, 64, "a test"), OutOfMemory);
  emulator::failure = cudaErrorLaunchFailure;
  CHECK(computed() == 12);
}

TEST_CASE("a kernel needs more shared memory than a GPU has: a sentence") {
  emulator::devices = 2, emulator::shared_bytes = 64 << 10;
  std::string message;
  try {
    kernel::cuda::use_device(1);
    kernel::cuda::launch_blocks<Fails>(Arguments(), 1, 65 << 10);
  } catch (const RuntimeError& e) {
    message = e.what();
  }
  CHECK(message.starts_with(
      "GPU: a kernel needs 66560 bytes of shared memory per block, and this GPU has 65536. Use a newer GPU"));
  kernel::cuda::use_device(0);
  emulator::devices = 1, emulator::shared_bytes = 227 << 10;
}

TEST_CASE("every call of CUDA fails once: an exception, and the next computation is right") {
  CHECK(computed() == 12);
  const long before = emulator::calls;
  computed();
  const long calls = emulator::calls - before;
  long failed = 0;
  for (long after = 0; after < calls; ++after) {
    emulator::calls_until_failure = after;
    try {
      computed();
    } catch (const Error& e) {
      ++failed;
      CHECK(has(e.what(), "GPU"));
    }
    emulator::calls_until_failure = -1;
    CHECK(computed() == 12);
  }
  CHECK(calls > 4);
  CHECK(failed > calls / 2);  // others give memory back, in destructors
}

#if !defined(__SANITIZE_THREAD__)
namespace {
/// What a child that runs f() ends with; -1 for a signal.
template <class F>
int forked(F f) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // for one that waits for ever
    ::_exit(f());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
}  // namespace

TEST_CASE("forks: in a child, which cannot use the GPU, after an error of a kernel, in another thread") {
  CHECK(computed() == 12);
  const auto in_child = [] {
    try {
      computed();
    } catch (const RuntimeError& e) {
      return has(e.what(), "A process that has used a GPU has forked") ? 7 : 1;
    }
    return 2;
  };
  CHECK(forked(in_child) == 7);
  CHECK(forked([&] { return forked(in_child); }) == 7);
  emulator::calls_until_failure = 0;
  CHECK(forked([] { return 3; }) == 3);
  emulator::calls_until_failure = -1;
  int ended = 0;
  std::thread([&] { ended = forked([] { return 4; }); }).join();
  CHECK(ended == 4);
  emulator::devices = 2;
  kernel::cuda::use_device(1);
  CHECK(forked([] { return 5; }) == 5);
  CHECK(kernel::cuda::device_of_thread() == 1);
  kernel::cuda::use_device(0);
  emulator::devices = 1;
  CHECK(computed() == 12);
}
#endif

TEST_CASE("what belongs to a GPU that cannot be used any more can go: no destructor throws") {
  emulator::devices = 2;
  {
    const ContextScope scope({.device_target = "GPU", .device_id = 1});
    auto x = Tensor<float, Shape<20000>>::full(1) * 2.0f;
    std::optional<tenon::detail::PinnedBytes> pinned(std::in_place, get_context().target(), 64, "a test");
    std::optional<tenon::detail::OwnedEvent> event(std::in_place, get_context().target());
    const auto gone = [](auto give_back) {
      kernel::cuda::use_device(0);
      emulator::failing_function = "cudaSetDevice";
      give_back();
      CHECK(emulator::failing_function.empty());
    };
    gone([&] { pinned.reset(); });
    gone([&] { event.reset(); });
    gone([&] {
      x = Tensor<float, Shape<20000>>();
      Storage::give_back_kept();
    });
  }
  kernel::cuda::use_device(0);
  emulator::devices = 1;
  CHECK(computed() == 12);
}

TEST_CASE("a control: the emulator shows that a product lacks a barrier") {
  if (emulator::with_tsan) return support::say_skipped("ThreadSanitizer, which reports what this control leaves out");
  const auto x = support::random_tensor<float, Shape<40, 50>>(1, -1, 1);
  const auto y = support::random_tensor<float, Shape<50, 40>>(2, -1, 1);
  const auto expected = matmul(x, y);
  const auto there = [&](long left_out) {
    const ContextScope scope({.device_target = "GPU"});
    emulator::barrier_left_out = left_out;
    const auto product = matmul(x, y);
    emulator::barrier_left_out = -1;
    return support::same_bits(product, expected);
  };
  CHECK(there(-1));
  CHECK(!there(0));
}
#endif
