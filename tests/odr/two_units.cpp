// flags: -march=x86-64
// only: x86_64 AMD64
// Units with other instruction sets, linked together, keep each its own kernels: the inline namespace tells them apart.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "two_units.hpp"

namespace {
Unit avx2_unit() {
  if (!__builtin_cpu_supports("avx2")) {
    std::puts("SKIPPED: this processor has no AVX2");
    std::exit(77);
  }
  return unit_for_avx2();
}
}  // namespace

TEST_CASE("each unit runs the code that was compiled with its own flags") {
  CHECK(this_unit().register_bytes == 16);
  CHECK(unit_for_base().register_bytes == 16);
  CHECK(avx2_unit().register_bytes == 32);
}

TEST_CASE("other instruction set: the linker keeps both functions, both instantiations, both types") {
  const Unit base = this_unit(), avx2 = avx2_unit();
  CHECK((base.function != avx2.function));
  CHECK((base.text != avx2.text));
  CHECK(std::string_view(base.shape) != std::string_view(avx2.shape));
  CHECK(std::string_view(base.shape).find("base_host") != std::string_view::npos);
  CHECK(std::string_view(avx2.shape).find("avx2_host") != std::string_view::npos);
}

TEST_CASE("same instruction set: the units share everything") {
  const Unit one = this_unit(), other = unit_for_base();
  CHECK((one.function == other.function));
  CHECK((one.text == other.text));
  CHECK(std::string_view(one.shape) == std::string_view(other.shape));
}
