// The parameter arena: zeroed, aligned, shared by its handles, freed with the last of them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <tenon/core/memory/arena.hpp>

using namespace tenon;

namespace {
int live = 0;  // blocks of this program that are not freed
}
void* operator new(std::size_t size, std::align_val_t align) {
  ++live;
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

TEST_CASE("sizes are rounded up to the alignment") {
  static_assert(aligned(0) == 0 && aligned(1) == 64 && aligned(64) == 64 && aligned(65) == 128);
}

TEST_CASE("an arena is zeroed and aligned, and dies with its last handle") {
  const int before = live;
  {
    ParameterArena* arena = ParameterArena::make(0, 256);
    CHECK(live == before + 1);
    CHECK(reinterpret_cast<std::uintptr_t>(arena->data) % 64 == 0);
    bool zero = true;
    for (int i = 0; i < 256; ++i) zero = zero && arena->data[i] == std::byte{0};
    CHECK(zero);
    ParameterHandle a, b;
    a.bind(arena, arena->data + 64, 1, true);
    b.bind(arena, arena->data + 128, 2, true);
    CHECK(a.data == arena->data + 64);
    CHECK(b.entry == 2);
    CHECK(arena->references == 2);
    ParameterHandle moved = std::move(a);
    CHECK(arena->references == 2);
    CHECK(a.data == nullptr);  // NOLINT: what is left of it is the point
    CHECK(moved.data == arena->data + 64);
    b = std::move(moved);
    CHECK(arena->references == 1);
    CHECK(b.entry == 1);
    CHECK(live == before + 1);
  }
  CHECK(live == before);
}

TEST_CASE("an arena without parameters, and a handle without an arena") {
  ParameterHandle none, other;
  none = std::move(other);
  CHECK(none.data == nullptr);
  ParameterHandle bound;
  ParameterArena* const empty = ParameterArena::make(0, 0);
  bound.bind(empty, empty->data, 0, true);
  CHECK(bound.data != nullptr);
}
