// max_device_memory: what is counted, what is refused and how, and that all is as before afterwards.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <thread>

#include <tenon/core/context.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {
constexpr std::size_t mb = 1 << 20;
long in_use() { return detail::memory_in_use(); }
}  // namespace

TEST_CASE("blocks count from their making until the system has them back") {
  const long before = in_use();
  std::thread([before] {
    {
      const Storage a(3 * mb), b(mb);
      CHECK(in_use() == before + long(4 * mb));
    }
    CHECK(in_use() == before + long(4 * mb));  // kept for the next tensors
    const Storage again(3 * mb);
    CHECK(in_use() == before + long(4 * mb));
  }).join();
  CHECK(in_use() == before);
  {
    const TargetBytes scratch(5 * mb);
    TargetBytes moved;
    CHECK(in_use() == before + long(5 * mb));
    moved = TargetBytes(2 * mb);
    CHECK(in_use() == before + long(7 * mb));
    moved = TargetBytes();
    CHECK(in_use() == before + long(5 * mb));
  }
  ParameterArena* const arena = ParameterArena::make(0, long(6 * mb));
  arena->retain();
  CHECK(in_use() == before + long(6 * mb));
  arena->release();
  CHECK(in_use() == before);
}

TEST_CASE("what the limit has no room for is an OutOfMemory that names it") {
  std::thread([] {                                                // it gives its blocks back when it ends
    const ContextScope scope({.max_device_memory = "0.0625GB"});  // 64 MiB
    const long before = in_use();
    const Storage kept(40 * mb);
    CHECK_THROWS_WITH_AS(
        Storage(32 * mb),
        "Out of memory: 33.6 MB were asked for the elements of a tensor, 25.2 MB are free (max_device_memory allows "
        "67.1 MB, 41.9 MB are in use), and the peak would be 75.5 MB. Take a smaller batch or network, free memory "
        "first, or raise max_device_memory.",
        OutOfMemory);
    CHECK_THROWS_WITH_AS(
        TargetBytes(32 * mb, "a step"),
        "Out of memory: 33.6 MB were asked for a step, 25.2 MB are free (max_device_memory allows 67.1 MB, 41.9 MB "
        "are in use), and the peak would be 75.5 MB. Take a smaller batch or network, free memory first, or raise "
        "max_device_memory.",
        OutOfMemory);
    CHECK_THROWS_AS(ParameterArena::make(0, long(32 * mb)), OutOfMemory);
    CHECK(in_use() == before + long(40 * mb));
    const Storage fits(24 * mb);
    CHECK(in_use() == before + long(64 * mb));
  })
      .join();
}

TEST_CASE("before it says no, a thread gives back the blocks that it keeps") {
  std::thread([] {
    const ContextScope scope({.max_device_memory = "0.0625GB"});
    for (const std::size_t size : {40, 48, 56, 64}) {
      CAPTURE(size);
      CHECK_NOTHROW(Storage(size * mb));
    }
  }).join();
}

TEST_CASE("tensors and graphs say what they were, and go on when there is room") {
  std::thread([] {
    nn::Dense<256, 256> dense;
    dense.init_parameters();
    const auto x = Tensor<float, Shape<dyn, 256>>::zeros(20000), small = Tensor<float, Shape<dyn, 256>>::zeros(10);
    const std::string limit = text((in_use() + long(4 * mb)) / double(1 << 30), "GB");
    const ContextScope scope({.max_device_memory = limit});
    const auto told = [](auto f) -> std::string {
      try {
        f();
      } catch (const OutOfMemory& e) {
        return e.what();
      }
      return "nothing was thrown";
    };
    const std::string tensor = told([] { static_cast<void>(Tensor<float, Shape<dyn, 256>>::zeros(20000)); });
    CHECK(tensor.starts_with("Out of memory: 20.5 MB were asked for a tensor float32 [n,256] of batch size 20000, "));
    CHECK(tensor.find(" are free (max_device_memory allows ") != tensor.npos);
    for (const Mode mode : {Mode::graph, Mode::pynative}) {
      const ContextScope in_mode({.mode = mode});
      CHECK(told([&] { static_cast<void>(dense(x)); }).find("max_device_memory allows ") != std::string::npos);
      CHECK(dense(small).values().size() == 10 * 256);
    }
  }).join();
}
