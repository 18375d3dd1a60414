// Memory for one owner.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include <tenon/core/memory/aligned_bytes.hpp>

#include "../../support/sanitized.hpp"

using tenon::AlignedBytes;

TEST_CASE("the memory is aligned to a cache line and belongs to one owner") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4096}}) {
    AlignedBytes memory(bytes);
    REQUIRE(memory.data() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0);
    std::memset(memory.data(), 7, bytes);
    std::byte* const at = memory.data();
    AlignedBytes other = std::move(memory);
    CHECK(other.data() == at);
    CHECK(memory.data() == nullptr);
    other = AlignedBytes(8);
    CHECK(other.data() != nullptr);
  }
  CHECK(AlignedBytes().data() == nullptr);
}

TEST_CASE("more than a process can address is OutOfMemory that says for what" * doctest::skip(support::sanitized)) {
  AlignedBytes memory(8);
  std::byte* const at = memory.data();
  CHECK_THROWS_WITH_AS(memory = AlignedBytes(std::size_t{1} << 47, "the tensors of a file"),
                       doctest::Contains("Out of memory: 141 TB were asked for the tensors of a file, "),
                       tenon::OutOfMemory);
  CHECK(memory.data() == at);
  CHECK_THROWS_WITH_AS(tenon::ParameterArena::make(0, 1L << 47),
                       doctest::Contains("141 TB were asked for the parameters of a network, "), tenon::OutOfMemory);
}
