// Atomic values: what several threads add arrives, exchanges succeed once, and what is written before a release is seen
// after an acquire.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include <tenon/core/thread/atomic.hpp>

using namespace tenon::detail;

namespace {
template <class F>
void in_threads(int count, F f) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back([=] { f(i); });
  for (std::thread& each : all) each.join();
}
enum class Colour : int { red, green };
}  // namespace

TEST_CASE("one thread: numbers, pointers, enumerators") {
  Atomic<long> number{3};
  CHECK(number.fetch_add(4) == 3);
  CHECK(number.fetch_sub(2) == 7);
  CHECK(++number == 6);
  CHECK(--number == 5);
  CHECK((number = 9) == 9);
  CHECK(number.exchange(1) == 9);
  long expected = 2;
  CHECK_FALSE(number.compare_exchange_strong(expected, 8));
  CHECK(expected == 1);
  CHECK(number.compare_exchange_strong(expected, 8));
  CHECK(number == 8);
  int place = 0;
  Atomic<int*> pointer;
  CHECK(pointer.load() == nullptr);
  pointer.store(&place, MemoryOrder::release);
  CHECK(pointer.load(MemoryOrder::acquire) == &place);
  Atomic<Colour> colour{Colour::red};
  colour.store(Colour::green, MemoryOrder::relaxed);
  CHECK(colour.load() == Colour::green);
}

TEST_CASE("several threads") {
  Atomic<int> sum{0}, winners{0}, owner{0};
  int plain = 0;
  in_threads(4, [&](int i) {
    for (int k = 0; k < 10000; ++k) sum.fetch_add(1, MemoryOrder::relaxed);
    int nobody = 0;
    if (owner.compare_exchange_strong(nobody, i + 1, MemoryOrder::acq_rel)) ++winners;
    for (int k = 0; k < 10000; ++k) AtomicRef(plain).fetch_add(1);
  });
  CHECK(sum == 40000);
  CHECK(winners == 1);
  CHECK(plain == 40000);
  int written = 0;
  Atomic<bool> is_written{false};
  in_threads(2, [&](int i) {
    if (i == 0) written = 7, is_written.store(true, MemoryOrder::release);
    else
      while (!is_written.load(MemoryOrder::acquire)) std::this_thread::yield();
    if (i == 1) CHECK(written == 7);
  });
}
