// Counted blocks: sharing, parts, adopted objects, the cache and its limit, threads.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/memory/storage.hpp>

using namespace tenon;

namespace {
std::atomic<long> live{0}, made{0};  // aligned blocks of this program: not yet freed, ever made
}
void* operator new(std::size_t size, std::align_val_t align) {
  ++live, ++made;
  if (void* p = std::aligned_alloc(std::size_t(align),
                                   (size + std::size_t(align) - 1) / std::size_t(align) * std::size_t(align)))
    return p;
  throw std::bad_alloc();
}
void operator delete(void* p, std::align_val_t) noexcept {
  --live;
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t align) noexcept { operator delete(p, align); }

TEST_CASE("every size has room for its bytes, aligned, with little waste") {
  for (std::size_t bytes :
       {0, 1, 63, 64, 65, 128, 255, 256, 257, 320, 321, 1000, 4096, 4097, 100000, 1 << 20, (1 << 20) + 1}) {
    const Storage s{std::size_t(bytes)};
    REQUIRE(s.data() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(s.data()) % 64 == 0);
    std::memset(s.data(), 1, bytes);  // a sanitizer sees what does not fit
  }
}

TEST_CASE("a request beyond all memory is an error, not a crash") {
  CHECK_THROWS_WITH_AS(Storage(static_cast<std::size_t>(-8)),
                       "A tensor of 18446744073709551608 bytes was asked for, more than any memory holds: look for a "
                       "negative or overflowing extent.",
                       RuntimeError);
  CHECK_THROWS_AS(Storage(Storage::max_bytes + 1), RuntimeError);
}

TEST_CASE("copies share, the last one gives back, and the next request takes it") {
  Storage a(1000);
  std::byte* const block = a.data();
  CHECK(a.unique());
  Storage b = a;
  CHECK(!a.unique());
  CHECK(b.data() == block);
  a = Storage();
  CHECK(!a);
  CHECK(b.unique());
  Storage c = std::move(b);
  CHECK(!b);  // NOLINT: what is left of it is the point
  CHECK(b.data() == nullptr);
  Storage& same = c;
  c = same;
  CHECK(c.data() == block);
  c = Storage();
  CHECK(Storage(1000).data() == block);
}

TEST_CASE("nothing is allocated once the sizes of a step are known") {
  const auto step = [] {
    std::vector<Storage> blocks;
    blocks.reserve(60);
    for (std::size_t i = 1; i <= 60; ++i) blocks.emplace_back(i * 100);
  };
  step();
  const long before = made;
  for (int i = 0; i < 10; ++i) step();
  CHECK(made == before);
}

TEST_CASE("a part keeps the block") {
  Storage part;
  {
    Storage whole(256);
    for (int i = 0; i < 256; ++i) whole.data()[i] = std::byte(i);
    part = whole.part(100);
    CHECK(part.data() == whole.data() + 100);
    CHECK(!part.unique());
  }
  CHECK(part.unique());
  CHECK(part.data()[5] == std::byte(105));
  const Storage inner = part.part(1);
  CHECK(inner.data()[0] == std::byte(101));
}

TEST_CASE("an adopted object lives as long as its block, and is destroyed once") {
  auto witness = std::make_shared<int>(0);
  struct Owner {
    std::vector<int> values;
    std::shared_ptr<int> witness;
  };
  Owner owner{{1, 2, 3}, witness};
  const int* const elements = owner.values.data();
  {
    Storage s = Storage::adopt(std::move(owner), [](Owner& kept) { return kept.values.data(); });
    CHECK(reinterpret_cast<const int*>(s.data()) == elements);
    const Storage second = s.part(4);
    s = Storage();
    CHECK(*reinterpret_cast<const int*>(second.data()) == 2);
    CHECK(witness.use_count() == 2);
  }
  CHECK(witness.use_count() == 1);
  {
    const Storage reused(sizeof(Owner));
  }  // the same block, without the object
  CHECK(witness.use_count() == 1);
}

TEST_CASE("threads free what others made, and nobody hoards it") {
  const long before = live;
  for (int round = 0; round < 50; ++round) {
    std::vector<Storage> blocks;
    std::thread([&] {
      for (int i = 0; i < 20; ++i) blocks.emplace_back(std::size_t{12345});
    }).join();
    blocks.clear();  // this thread has taken none of them
  }
  CHECK(live - before <= 1);
}

TEST_CASE("counting is atomic") {
  Storage shared(64);
  const Storage early = shared;  // counted when the program may have had one thread only
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&shared] {
      for (int i = 0; i < 10000; ++i) Storage copy = shared;
    });
  for (std::thread& t : threads) t.join();
  CHECK(!shared.unique());
  shared = Storage();
  CHECK(early.unique());
}

namespace {
struct LateOwner {
  Storage block;
};
}  // namespace

TEST_CASE("blocks that die after their thread's cache are freed") {
  const long before = live;
  std::thread([] {
    thread_local LateOwner owner;  // made first, so destroyed last
    owner.block = Storage(5000);
    Storage other(5000);
    owner.block = std::move(other);
  }).join();
  CHECK(live == before);
}
